"""Whatever a relay does on its sockets: one sentence, the right verdict, in time, and nothing stays behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.adapter import Adapter, NoStartError
from conformance.drivers.relay_manifest import Ready
from conformance.outcome import Outcome
from conformance.run_plan import check_start
from conformance.system import Timeouts
from tests.conformance.faulty_bench import is_gone, pids
from tests.conformance.relay_program_bench import (
    ELAPSE,
    IMPATIENT,
    MANY,
    PATIENT,
    RESTART,
    SETTING,
    STORY,
    adapter,
    run,
)


def in_folder(judged: Adapter, folder: Path) -> Adapter:
    return replace(judged, folder=folder)


@pytest.mark.parametrize(
    ("fault", "vector"),
    [
        ("none", STORY),
        ("none", SETTING),
        ("none", RESTART),
        ("none", ELAPSE),
        ("floods", STORY),
        ("slow_to_answer", STORY),
        ("ends_behind_each_answer", MANY),
        ("slow_to_deliver", STORY),
    ],
)
def test_a_right_relay_passes_however_slow_or_talkative(fault: str, vector: str, tmp_path: Path) -> None:
    finding = run(in_folder(adapter(fault), tmp_path), tmp_path, vector)
    assert (finding.outcome, finding.reason) == (Outcome.PASS, "")
    assert all(is_gone(pid) for pid in pids(tmp_path))


@pytest.mark.parametrize(
    ("fault", "vector", "outcome", "reason"),
    [
        ("dies", STORY, Outcome.ERROR, "the relay exited with status 7"),
        ("closes_on_push", STORY, Outcome.FAIL, "the relay is quiet and has not answered the push of A"),
        ("starts_once", STORY, Outcome.FAIL, "the relay does not start again on the data that it left: it exited with"),
        ("answers_twice", STORY, Outcome.FAIL, "the relay sends a frame Ack on a Push Session whose pushes are all"),
        ("answers_in_garbage", STORY, Outcome.FAIL, "the relay breaks the wire on a Push Session: Message 0 of 21"),
        ("acks_devices", SETTING, Outcome.FAIL, "the relay sends a frame Ack on a Receive Session"),
        (
            "refuses_every_setting",
            SETTING,
            Outcome.FAIL,
            "the relay refuses to start because of its setting push_burst",
        ),
    ],
)
def test_a_wrong_relay_is_blamed(fault: str, vector: str, outcome: Outcome, reason: str, tmp_path: Path) -> None:
    timeouts = replace(IMPATIENT, start=PATIENT.start)
    finding = run(in_folder(adapter(fault, timeouts), tmp_path), tmp_path, vector)
    assert finding.outcome is outcome
    assert reason in finding.reason
    assert all(is_gone(pid) for pid in pids(tmp_path))


def test_the_words_of_a_relay_that_dies_are_in_the_report(tmp_path: Path) -> None:
    finding = run(in_folder(adapter("dies"), tmp_path), tmp_path, STORY)
    assert "out of memory" in finding.stderr


def test_sessions_that_end_at_random_are_no_error(tmp_path: Path) -> None:
    finding = run(in_folder(adapter("closes_at_random", replace(PATIENT, reply=2)), tmp_path), tmp_path, STORY)
    assert finding.outcome in (Outcome.PASS, Outcome.FAIL)
    assert all(is_gone(pid) for pid in pids(tmp_path))


def test_a_relay_that_does_not_stop_fails_the_clause_that_says_so(tmp_path: Path) -> None:
    judged = adapter("deaf_to_sigterm", Timeouts(reply=20, start=4, case=60))
    finding = run(in_folder(judged, tmp_path), tmp_path, RESTART)
    assert (finding.outcome, finding.clause) == (Outcome.FAIL, "RLY-026")
    assert "the relay did not end within 4 s of being asked to" in finding.reason
    assert all(is_gone(pid) for pid in pids(tmp_path))


@pytest.mark.parametrize(
    ("fault", "timeouts", "sentence"),
    [
        (
            "never_ready",
            IMPATIENT,
            "the relay was not ready within 1.5 s: nothing that it printed matches '^ready trueseal:'",
        ),
        ("never_ready", IMPATIENT, "Its last words on stderr: waiting for a database that never comes"),
        (
            "exits",
            PATIENT,
            "the relay exited with status 3 before it was ready. Its last words on stderr: no licence found",
        ),
        ("forgets_its_key", PATIENT, "the relay proved another key than the manifest or the address says"),
        ("speaks_another_tongue", PATIENT, "is not what was expected: the relay breaks the wire on a Receive Session"),
        (
            "says_nothing",
            replace(PATIENT, reply=0.5),
            "does not finish the handshake within 0.5 s; check that",
        ),
    ],
)
def test_a_relay_that_does_not_start_is_told_in_a_sentence(
    fault: str, timeouts: Timeouts, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(NoStartError) as caught:
        check_start(in_folder(adapter(fault, timeouts), tmp_path))
    assert sentence in str(caught.value)
    assert all(is_gone(pid) for pid in pids(tmp_path))


@pytest.mark.parametrize(
    ("ready", "sentence"),
    [
        (Ready(http="http://127.0.0.1:{health_port}/healthz"), "/healthz does not answer with 200; mend `ready`"),
        (Ready(), "it does not listen on both ports"),
    ],
)
def test_what_is_missing_for_readiness_is_named(ready: Ready, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(NoStartError) as caught:
        check_start(in_folder(adapter("never_ready", IMPATIENT, ready), tmp_path))
    assert sentence in str(caught.value)


def test_a_relay_without_a_word_is_ready_when_it_listens(tmp_path: Path) -> None:
    greeting = check_start(in_folder(adapter("none", ready=Ready()), tmp_path))["relay"]
    assert greeting.capabilities == {"settle", "elapse", "tcp", "restart", "settings"}
