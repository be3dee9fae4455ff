"""What can be wrong with a driver, one function each.

A fault gets a message from the kit and the messages that a good driver would send now, and does what it likes instead.
Those of `FAULTS` show once a vector delivered `misbehave`, those of `START_FAULTS` from the first message on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

from tests.conformance.faulty_drivers.well_behaved import Device, Fields, answer, notification

Fault = Callable[[Device, Fields, list[Fields]], None]
RUNAWAY = "import os\nwhile True: os.write(2, b'x' * 65536)"
ISSUE: Final[Fields] = {"jsonrpc": "2.0", "method": "issue", "params": {"case": "unauthorized"}}


def write(messages: Sequence[Fields]) -> None:
    raw("".join(json.dumps(message) + "\n" for message in messages).encode())


def raw(data: bytes) -> None:
    """Write all of it to stdout at once."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def remember(pid: int) -> None:
    """Leave the pid where the test looks whether the process is gone."""
    with Path("pids").open("a", encoding="ascii") as file:
        file.write(f"{pid}\n")


def hang() -> NoReturn:
    while True:
        time.sleep(60)


def at(method: str, act: Fault) -> Fault:
    """A fault that shows at this method only."""

    def fault(device: Device, message: Fields, good: list[Fields]) -> None:
        if message.get("method") == method:
            act(device, message, good)
        else:
            write(good)

    return fault


def instead(*lines: bytes) -> Fault:
    """Writes these lines where the answer to `settle` belongs."""
    return at("settle", lambda _device, _message, _good: raw(b"".join(line + b"\n" for line in lines)))


def besides(*messages: Fields) -> Fault:
    """Writes these messages before its answer to `settle`."""
    return at("settle", lambda _device, _message, good: write([*messages, *good]))


def after(*messages: Fields) -> Fault:
    """Writes these messages behind its answer to `settle`."""
    return at("settle", lambda _device, _message, good: write([*good, *messages]))


def result(fields: Fields) -> Fault:
    """Answers `settle` with this result."""
    return at("settle", lambda _device, message, _good: write([answer(message, fields)]))


def error(fields: Fields) -> Fault:
    return at(
        "settle", lambda _device, message, _good: write([{"jsonrpc": "2.0", "id": message["id"], "error": fields}])
    )


def next_timer(offset: Callable[[], int]) -> Fault:
    """Answers `settle` with a timer so many ms from now."""
    return at("settle", lambda device, message, _good: write([answer(message, {"next_timer": device.now + offset()})]))


def exits(status: int, words: str = "") -> Fault:
    def act(_device: Device, _message: Fields, _good: list[Fields]) -> None:
        sys.stderr.write(words)
        sys.stderr.flush()
        os._exit(status)

    return act


def hangs(_device: Device, _message: Fields, _good: list[Fields]) -> None:
    hang()


def hangs_and_says_so(_device: Device, _message: Fields, _good: list[Fields]) -> None:
    Path("hangs").write_bytes(b"")
    hang()


def hangs_deaf_to_sigterm(_device: Device, _message: Fields, _good: list[Fields]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hang()


def dies_of_a_signal(_device: Device, _message: Fields, _good: list[Fields]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    hang()


def floods(descriptor: int, data: bytes) -> Fault:
    def act(_device: Device, _message: Fields, _good: list[Fields]) -> None:
        while True:
            os.write(descriptor, data)

    return act


def says_and_hangs(data: bytes) -> Fault:
    def act(_device: Device, _message: Fields, _good: list[Fields]) -> None:
        raw(data)
        hang()

    return act


def closes(descriptor: int) -> Fault:
    def act(_device: Device, _message: Fields, good: list[Fields]) -> None:
        write(good)
        os.close(descriptor)
        hang()

    return act


def stops_reading(_device: Device, _message: Fields, good: list[Fields]) -> None:
    write(good)
    hang()


def answers_late(_device: Device, _message: Fields, good: list[Fields]) -> None:
    time.sleep(2)
    write(good)


def answers_with_a_wrong_id(_device: Device, message: Fields, _good: list[Fields]) -> None:
    write([answer({"id": 4711}, {"next_timer": None})])


def answers_twice(_device: Device, _message: Fields, good: list[Fields]) -> None:
    write([*good, *good])


def never_rests(device: Device, _message: Fields, good: list[Fields]) -> None:
    asks = device.request("relay.open_receive_session", {"device": "ab" * 32, "transport_version": 1})
    write([asks, *good])


def leaves_a_child(_device: Device, _message: Fields, _good: list[Fields]) -> None:
    """The child holds all three pipes open, so that no end of file tells of this driver's end."""
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    remember(child.pid)
    os._exit(0)


def leaves_a_runaway_child(_device: Device, _message: Fields, _good: list[Fields]) -> None:
    """The child leaves the process group and writes to stderr until nobody holds the other end any more."""
    child = subprocess.Popen([sys.executable, "-S", "-c", RUNAWAY], start_new_session=True)
    remember(child.pid)
    os._exit(0)


def yes_to_everything(_device: Device, message: Fields, good: list[Fields]) -> None:
    write([answer(message, {})] if "error" in good[0] else good)


def no_to_everything(_device: Device, message: Fields, _good: list[Fields]) -> None:
    write([{"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": "no"}}])


def api_error_at_start(_device: Device, message: Fields, _good: list[Fields]) -> None:
    failure: Fields = {"code": 1, "message": "no", "data": {"case": "closed"}}
    write([{"jsonrpc": "2.0", "id": message["id"], "error": failure}])


def greets(**fields: object) -> Fault:
    def act(_device: Device, message: Fields, good: list[Fields]) -> None:
        greeting = good[0]["result"]
        write([answer(message, {**greeting, **fields} if isinstance(greeting, dict) else {})])

    return at("initialize", act)


def _handler_call(number: int | None, body: object = "aGk=") -> Fields:
    message: Fields = {"id": "m", "from": {"id": "b", "name": "bob"}, "body": body}
    call = notification("handler.call", {"message": message})
    return call if number is None else {**call, "id": number}


def _gave_up(text: str) -> Fields:
    return notification("issue", {"case": "handlerGaveUp", "message_id": "m", "error": text})


_countdown = iter(range(20, -1000, -20))

START_FAULTS: dict[str, Fault] = {
    "hangs_at_start": hangs,
    "exits_at_start": exits(2, "no configuration found\n"),
    "yes_to_everything": yes_to_everything,
    "no_to_everything": no_to_everything,
    "api_error_at_start": api_error_at_start,
    "wrong_role": greets(role="relay"),
    "wrong_version": greets(protocol_version=2),
    "unknown_capability": greets(capabilities=["clock", "teleport"]),
    "garbage_at_start": lambda _device, _message, _good: raw(b"Listening on port 8080\n"),
}
FAULTS: dict[str, Fault] = {
    "hangs": at("settle", hangs),
    "hangs_and_says_so": at("settle", hangs_and_says_so),
    "hangs_deaf_to_sigterm": at("settle", hangs_deaf_to_sigterm),
    "hangs_in_reset": at("reset", hangs),
    "exits": at("settle", exits(3, "out of cheese\n")),
    "exits_in_reset": at("reset", exits(4)),
    "dies_of_a_signal": at("settle", dies_of_a_signal),
    "floods_messages": at("settle", floods(1, (json.dumps(ISSUE) + "\n").encode() * 50)),
    "floods_one_line": at("settle", floods(1, b"x" * 65536)),
    "says_much_and_hangs": at("settle", says_and_hangs((json.dumps(ISSUE) + "\n").encode() * 150)),
    "floods_stderr": at("settle", floods(2, b"x" * 65536)),
    "log_line": instead(b"INFO settled in 3 ms"),
    "binary": instead(b"\xff\xfe\x00\x01"),
    "nul": instead(b"\x00"),
    "empty_line": instead(b""),
    "list": instead(b"[1]"),
    "number": instead(b"7"),
    "no_version": instead(b'{"id": 1, "result": {}}'),
    "id_is_text": instead(b'{"jsonrpc": "2.0", "id": "1", "result": {}}'),
    "result_and_error": instead(b'{"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1}}'),
    "lone_surrogate": instead(b'{"jsonrpc": "2.0", "method": "issue", "params": {"case": "\\ud800"}}'),
    "raw_surrogate": instead(b'{"jsonrpc": "2.0", "method": "issue", "params": {"case": "\xed\xa0\x80"}}'),
    "nan": instead(b'{"jsonrpc": "2.0", "id": 1, "result": {"next_timer": NaN}}'),
    "long_number": instead(b'{"jsonrpc": "2.0", "id": 1, "result": {"next_timer": ' + b"9" * 5000 + b"}}"),
    "deep": instead(b"[" * 100_000),
    "deep_field": instead(b'{"jsonrpc": "2.0", "method": "issue", "params": ' + b'{"a":' * 99 + b"1" + b"}" * 100),
    "field_twice": instead(b'{"jsonrpc": "2.0", "id": 1, "id": 2, "result": {}}'),
    "closes_stdout": at("settle", closes(1)),
    "closes_stdin": closes(0),
    "stops_reading": at("settle", stops_reading),
    "answers_twice": at("settle", answers_twice),
    "answers_late": at("settle", answers_late),
    "answers_with_a_wrong_id": at("settle", answers_with_a_wrong_id),
    "fails_in_settle": error({"code": -32000, "message": "NullPointerException"}),
    "forgets_settle": error({"code": -32601, "message": "what?"}),
    "api_error_in_settle": error({"code": 1, "message": "no", "data": {"case": "closed"}}),
    "unknown_api_error": error({"code": 1, "message": "no", "data": {"case": "tired"}}),
    "result_lacks_field": result({}),
    "huge_timer": result({"next_timer": 10**400}),
    "fractional_timer": result({"next_timer": 1e300}),
    "body_is_no_base64": besides(_handler_call(900, "a")),
    "params_lack_field": besides(notification("issue", {"case": "handlerGaveUp", "message_id": "m"})),
    "unknown_method": besides(notification("relay.teleport", {})),
    "same_id_twice": besides(_handler_call(900), _handler_call(900)),
    "request_as_notification": besides(_handler_call(None)),
    "notification_as_request": besides({**ISSUE, "id": 901}),
    "more_after_settle": after(ISSUE),
    "more_after_reset": at("reset", lambda _device, _message, good: write([*good, ISSUE])),
    "answers_reset_twice": at("reset", answers_twice),
    "timer_is_now": next_timer(lambda: 0),
    "timer_is_past": next_timer(lambda: -5),
    "timer_goes_backwards": next_timer(lambda: next(_countdown)),
    "never_rests": at("settle", never_rests),
    "prints_escapes": besides(_gave_up("\x1b[31mred\x1b]0;owned\x07\x00\u202egnp.exe")),
    "leaves_a_child": at("settle", leaves_a_child),
    "leaves_a_runaway_child": at("settle", leaves_a_runaway_child),
    "none": lambda _device, _message, good: write(good),
}
