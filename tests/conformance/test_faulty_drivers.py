"""Whatever a driver does, the run goes on: one case is blamed, in a sentence, in time, and no process stays behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.adapter import Adapter, AdapterError
from conformance.outcome import Outcome
from conformance.printable import printable
from conformance.run_plan import check_start
from tests.conformance.faulty_bench import IMPATIENT, PATIENT, command, is_gone, pids, run
from tests.conformance.faulty_drivers.faults import FAULTS, START_FAULTS

ERROR, FAIL = Outcome.ERROR, Outcome.FAIL
BLAMED: dict[str, tuple[Outcome, str]] = {
    "hangs": (ERROR, "did not answer settle within 0.8 s; answer it, or raise `timeouts.reply` in the manifest"),
    "hangs_and_says_so": (ERROR, "did not answer settle within 0.8 s"),
    "hangs_deaf_to_sigterm": (ERROR, "did not answer settle within 0.8 s"),
    "hangs_in_reset": (ERROR, "after the vector: the driver did not answer reset within 0.8 s"),
    "exits": (ERROR, "the driver exited with status 3 instead of answering settle, and nobody had asked it to end"),
    "exits_in_reset": (ERROR, "after the vector: the driver exited with status 4 instead of answering reset"),
    "dies_of_a_signal": (ERROR, "the driver was ended by signal SIGKILL instead of answering settle"),
    "floods_messages": (ERROR, "the driver sent more than 100000 messages instead of its answer to settle; it must"),
    # 150 issues, and the handler's call before them
    "says_much_and_hangs": (ERROR, "within 0.8 s, and sent 151 other messages meanwhile, issue the last of them"),
    "floods_one_line": (ERROR, "more than 16 MiB without a line end to stdout; a message is one line of JSON"),
    "floods_stderr": (ERROR, "did not answer settle within 0.8 s"),
    "log_line": (
        ERROR,
        "that is not JSON: `INFO settled in 3 ms`; write one JSON message a line there, and log to stderr",
    ),
    "binary": (ERROR, "a line to stdout that is not UTF-8 at byte 1"),
    "nul": (ERROR, "a line to stdout that is not JSON"),
    "empty_line": (ERROR, "a line to stdout that is not JSON: ``"),
    "list": (ERROR, "sent a list where a JSON-RPC 2.0 object belongs; send one request"),
    "number": (ERROR, "sent a number where a JSON-RPC 2.0 object belongs"),
    "no_version": (ERROR, 'sent an answer to request 1 without "jsonrpc": "2.0"'),
    "id_is_text": (ERROR, "an id is an integer; repeat the id of the request"),
    "result_and_error": (ERROR, "the driver's answer 1 must have either a result or an error"),
    "lone_surrogate": (ERROR, "a line to stdout that holds half of a surrogate pair"),
    "raw_surrogate": (ERROR, "a line to stdout that is not UTF-8 at byte 59"),
    "nan": (ERROR, "a line to stdout that holds NaN, which is no JSON number"),
    "long_number": (ERROR, "a line to stdout that holds a number that is too long"),
    "deep": (ERROR, "a line to stdout that nests deeper than 64 levels"),
    "deep_field": (ERROR, "a line to stdout that nests deeper than 64 levels"),
    "field_twice": (ERROR, "a line to stdout that has the field 'id' twice in one object"),
    "closes_stdout": (ERROR, "closed its stdout and goes on running; keep both pipes open until stdin ends"),
    "closes_stdin": (ERROR, "closed its stdin and goes on running; keep both pipes open until stdin ends"),
    "stops_reading": (ERROR, "does not read its stdin: a message waited for 0.8 s; a driver must go on reading"),
    "answers_twice": (ERROR, "sent an answer to request 10 after its answer to `settle`"),
    "answers_late": (ERROR, "did not answer settle within 0.8 s"),
    "answers_with_a_wrong_id": (ERROR, "answered request 4711, which waits for no answer: answer each request once"),
    "fails_in_settle": (ERROR, "the driver failed in settle: NullPointerException (error -32000); mend it"),
    "forgets_settle": (ERROR, "does not know the method settle; serve it, or leave out the capability"),
    "api_error_in_settle": (ERROR, "answered settle with the API error closed; settle is no call of your"),
    "unknown_api_error": (
        ERROR,
        "the error that the driver answered to settle does not fit the protocol: case: 'tired'",
    ),
    "result_lacks_field": (
        ERROR,
        "the driver's answer to settle does not fit the protocol: 'next_timer' is a required",
    ),
    "huge_timer": (ERROR, "the driver's answer to settle does not fit the protocol: next_timer: 1000"),
    "fractional_timer": (ERROR, "the driver's answer to settle does not fit the protocol: next_timer: 1e+300"),
    "body_is_no_base64": (ERROR, "handler.call does not fit the protocol: message.body: 'a' is not what belongs there"),
    "params_lack_field": (ERROR, "the driver's issue does not fit the protocol: 'error' is a required property"),
    "unknown_method": (ERROR, "sent 'relay.teleport', which is no message of the driver protocol for the role device"),
    "same_id_twice": (ERROR, "used the id 900 for a second request, handler.call; number your requests"),
    "request_as_notification": (ERROR, "sent handler.call in the wrong form: it must be a request, with an id"),
    "notification_as_request": (ERROR, "sent issue in the wrong form: it must be a notification, without an id"),
    "more_after_settle": (
        ERROR,
        "sent issue after its answer to `settle`, and nothing had happened since; answer `settle`",
    ),
    "more_after_reset": (
        ERROR,
        "after the vector: the driver sent issue after its answer to `reset`; forget everything",
    ),
    "answers_reset_twice": (ERROR, "sent an answer to request 15 after its answer to `reset`"),
    "timer_is_now": (FAIL, "a timer is due that never fires"),
    "timer_is_past": (FAIL, "a timer is due that never fires"),
    "timer_goes_backwards": (FAIL, "a timer is due that never fires"),
    "never_rests": (FAIL, "opens a Receive Session again and again while the clock stands still"),
    "prints_escapes": (FAIL, "not expected after deliver: {as: A, from: bob, body: misbehave}: issue handlerGaveUp"),
    "leaves_a_child": (ERROR, "the driver exited with status 0 instead of answering settle"),
    "leaves_a_runaway_child": (ERROR, "the driver exited with status 0 instead of answering settle"),
}
NEVER_ANSWER = {
    "answers_late",
    "closes_stdin",
    "floods_stderr",
    "hangs",
    "hangs_and_says_so",
    "hangs_deaf_to_sigterm",
    "hangs_in_reset",
    "leaves_a_runaway_child",
    "says_much_and_hangs",
    "stops_reading",
}
AT_LENGTH = replace(PATIENT, reply=60, case=120)
"""For what ends by a count: however slow the machine, the count comes first."""
TIMEOUTS = {**dict.fromkeys(NEVER_ANSWER, IMPATIENT), "floods_messages": AT_LENGTH}
NO_START = {
    "hangs_at_start": "the driver did not answer initialize within 0.5 s; answer it, or raise `timeouts.start`",
    "exits_at_start": "exited with status 2 instead of answering initialize",
    "yes_to_everything": "a driver that says yes to everything proves nothing; answer so whatever method you",
    "no_to_everything": "the driver failed in initialize: no (error -32000)",
    "api_error_at_start": "the driver answered initialize with the API error closed",
    "wrong_role": "says that its role is 'relay', and the manifest wants 'device'; make the two agree",
    "wrong_version": "speaks protocol version 2, this kit speaks 1; see adapters/PROTOCOL.md",
    "unknown_capability": "the driver's answer to initialize does not fit the protocol: capabilities.1: 'teleport'",
    "garbage_at_start": "a line to stdout that is not JSON: `Listening on port 8080`",
}


def test_every_fault_has_a_verdict() -> None:
    assert FAULTS.keys() == BLAMED.keys() | {"none"}
    assert START_FAULTS.keys() == NO_START.keys()


def test_the_driver_without_a_fault_passes(tmp_path: Path) -> None:
    both = run("none", tmp_path)
    assert (both.first.reason, both.second.reason) == ("", "")
    assert both.first.outcome is both.second.outcome is Outcome.PASS
    assert len(pids(tmp_path)) == 1


@pytest.mark.parametrize("fault", BLAMED)
def test_exactly_one_case_is_blamed(fault: str, tmp_path: Path) -> None:
    outcome, sentence = BLAMED[fault]
    both = run(fault, tmp_path, TIMEOUTS.get(fault, PATIENT))
    assert sentence in both.first.reason
    assert both.first.outcome is outcome
    assert (both.second.outcome, both.second.reason) == (Outcome.PASS, "")
    assert all(is_gone(pid) for pid in pids(tmp_path))
    assert len(pids(tmp_path)) >= 2


def test_the_last_words_are_kept(tmp_path: Path) -> None:
    assert run("exits", tmp_path).first.stderr == "out of cheese\n"


def test_what_is_reported_cannot_reach_the_terminal(tmp_path: Path) -> None:
    told = printable(run("prints_escapes", tmp_path).first.reason)
    assert r"\x1b[31mred\x1b]0;owned\x07\x00\u202egnp.exe" in told
    assert told.isprintable()


@pytest.mark.parametrize("fault", NO_START)
def test_a_driver_that_does_not_start_is_told_from_the_others(fault: str, tmp_path: Path) -> None:
    adapter = _adapter(tmp_path, *command(fault))
    with pytest.raises(AdapterError) as caught:
        check_start(adapter)
    assert str(caught.value).startswith("adapter faulty does not start as a device: ")
    assert NO_START[fault] in str(caught.value)
    assert all(is_gone(pid) for pid in pids(tmp_path))


def test_last_words_stand_beside_a_start_that_failed(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match=r"Its last words on stderr: no configuration found$"):
        check_start(_adapter(tmp_path, *command("exits_at_start")))


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("./missing", "the command './missing' cannot be started: No such file or directory; give the path of an"),
        ("./plain.txt", "the command './plain.txt' cannot be started: Permission denied; give the path of an"),
        ("./nul\0", "cannot be started: embedded null byte"),
    ],
)
def test_a_command_that_cannot_be_started(word: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("no program")
    with pytest.raises(AdapterError) as caught:
        check_start(_adapter(tmp_path, word))
    assert reason in str(caught.value)


def _adapter(folder: Path, *words: str) -> Adapter:
    timeouts = replace(PATIENT, start=0.5) if "hangs_at_start" in words else PATIENT
    return Adapter("faulty", ("device",), "process", folder, command=words, timeouts=timeouts)
