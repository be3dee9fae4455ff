"""The reference relay as a program, over its sockets: end to end, each deadline, each bound, each way to end."""

from __future__ import annotations

import http.client
import os
import select
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from adapters.relay_program import programs
from reference_impl.wire import frames
from reference_impl.wire.connection import Connection, Kind
from reference_impl.wire.frames import Ack, Deliver, DeliverAck, Error, Frame, Heartbeat, Push, UnknownFrame
from reference_impl.wire.noise import KeyPair
from reference_impl.wire.profile import load_profile
from tests.reference_impl.relay_programs import (
    LOG_LINE,
    ROOT,
    ClosedByRelayError,
    RunningRelay,
    Session,
    running,
    session,
    tcp,
    until_closed,
)

DANA, ERIN = KeyPair.generate(), KeyPair.generate()
KINDS: tuple[Kind, ...] = ("receive", "push")
WIRES = ("draft-1", "unversioned")
VARIANTS = sorted(name for name in programs() if name.startswith("variants/relay-program"))
LARGE = 60_000


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[RunningRelay]:
    with running(tmp_path / "data") as started:
        yield started


def pushed(relay: RunningRelay, *envelopes: bytes, to: KeyPair = DANA, wire: str = "draft-1") -> None:
    """Push these, each acked."""
    sender = session(relay, "push", wire=wire)
    with closing(sender):
        for envelope in envelopes:
            sender.send(Push(to.public, envelope))
            assert sender.next() == Ack()


def delivered(receiver: Session, count: int) -> list[bytes]:
    """The Envelopes of the next so many Blobs, each acked; heartbeats may come between."""
    found: list[bytes] = []
    while len(found) < count:
        frame = receiver.next()
        if isinstance(frame, Deliver):
            found.append(frame.envelope)
            receiver.send(DeliverAck(frame.blob_id))
        else:
            assert frame == Heartbeat()
    return found


def awaits_close(found: Session) -> None:
    with pytest.raises(ClosedByRelayError):
        found.next()


@pytest.mark.parametrize("wire", WIRES)
def test_a_push_is_acked_and_delivered_now_or_later_until_it_is_acked(tmp_path: Path, wire: str) -> None:
    with running(tmp_path / "data", f"--wire={wire}") as relay:
        pushed(relay, b"first", wire=wire)
        with closing(session(relay, "receive", DANA, wire)) as receiver:
            first = receiver.next()
            pushed(relay, b"second", wire=wire)
            second = receiver.next()
            assert isinstance(first, Deliver)
            assert isinstance(second, Deliver)
            assert [first.envelope, second.envelope] == [b"first", b"second"]
            receiver.send(DeliverAck(first.blob_id), Heartbeat())
            assert receiver.next() == Heartbeat()
        with closing(session(relay, "receive", DANA, wire)) as again:
            assert again.next() == second


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_of_the_program_serve_a_device(tmp_path: Path, variant: str) -> None:
    with (
        running(tmp_path / "data", module=("adapters.relay_program", variant)) as relay,
        closing(session(relay, "receive", DANA)) as receiver,
    ):
        pushed(relay, b"one")
        pushed(relay, b"two")
        assert delivered(receiver, 2) == [b"one", b"two"]
        assert relay.signal(signal.SIGTERM) == 0


@pytest.mark.parametrize(
    ("flags", "frame", "code"),
    [
        (("--max-envelope-bytes=4",), Push(DANA.public, b"12345"), "too_large"),
        ((), frames.MalformedFrame(frames.PUSH, b"short"), "malformed"),
        (("--max-blobs-per-inbox=1",), Push(DANA.public, b"2"), "inbox_full"),
        (("--push-burst=1", "--push-rate-per-second=1"), Push(DANA.public, b"2"), "rate_limited"),
    ],
)
def test_a_refusal_tells_its_code_and_leaves_the_session_open(
    tmp_path: Path, flags: tuple[str, ...], frame: Frame, code: str
) -> None:
    with running(tmp_path / "data", *flags) as relay, closing(session(relay, "push")) as sender:
        sender.send(Push(DANA.public, b"1"), frame, Push(ERIN.public, b"3"))
        refused = Error(load_profile("draft-1").error_body(code))
        assert [sender.next(), sender.next(), sender.next()] == [Ack(), refused, Ack()]


@pytest.mark.parametrize(
    ("kind", "frame"),
    [
        ("push", UnknownFrame(0x7F, b"secret")),
        ("receive", UnknownFrame(0x00, b"secret")),
        ("push", DeliverAck(1)),
        ("push", Deliver(1, b"secret")),
        ("receive", Push(DANA.public, b"secret")),
        ("receive", Ack()),
        ("receive", frames.MalformedFrame(frames.DELIVER_ACK, b"1")),
    ],
)
@pytest.mark.parametrize("wire", WIRES)
def test_a_frame_that_has_no_business_there_is_answered_as_the_profile_says(
    tmp_path: Path, wire: str, kind: Kind, frame: Frame
) -> None:
    with running(tmp_path / "data", f"--wire={wire}") as relay, closing(session(relay, kind, DANA, wire)) as device:
        device.send(frame, Heartbeat())
        answers = [Error(b"\x00"), Heartbeat()] if wire == "draft-1" else [Heartbeat()]
        assert [device.next() for _ in answers] == answers


@pytest.mark.parametrize("kind", KINDS)
def test_a_version_that_is_not_spoken_is_told_in_plain_text(relay: RunningRelay, kind: Kind) -> None:
    wrong = Connection.initiator(load_profile("draft-1"), kind, relay.address.relay_pub, DANA, transport_version=2)
    with tcp(relay, kind) as plug:
        plug.sendall(wrong.data_to_send())
        assert until_closed(plug) == b"unsupported 1..1\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", b"TS\x00\x01\x00\x00", b"TS\x00\x01\xff\xff" + bytes(65_535)]
)
def test_garbage_ends_its_connection_and_no_other(relay: RunningRelay, kind: Kind, garbage: bytes) -> None:
    with closing(session(relay, "receive", DANA)) as receiver, tcp(relay, kind) as plug:
        plug.sendall(garbage)
        assert until_closed(plug) == b""
        pushed(relay, b"still here")
        assert delivered(receiver, 1) == [b"still here"]


def test_frames_are_read_byte_by_byte(relay: RunningRelay) -> None:
    with closing(session(relay, "push")) as sender:
        sender.plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sender.connection.send(Push(DANA.public, b"slow"))
        for byte in sender.connection.data_to_send():
            sender.plug.sendall(bytes((byte,)))
        assert sender.next() == Ack()


# -- deadlines


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("begun", [b"", b"TS"])
def test_a_handshake_has_its_time(tmp_path: Path, kind: Kind, begun: bytes) -> None:
    with running(tmp_path / "data", "--handshake-deadline=300ms") as relay, tcp(relay, kind) as plug:
        plug.sendall(begun)
        assert until_closed(plug) == b""
        assert "reason=handshake_deadline" in relay.log()


def test_each_byte_of_a_handshake_prolongs_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--handshake-deadline=500ms") as relay, tcp(relay, "push") as plug:
        with suppress(BrokenPipeError, ConnectionResetError):
            for byte in b"TS\x00\x01\xff\xff" + bytes(600):
                plug.sendall(bytes((byte,)))
                if is_readable(plug, seconds=0.05):
                    break
        assert "reason=handshake_deadline" in relay.log()


def test_a_push_session_has_its_time_however_busy(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--push-session-deadline=1s") as relay, closing(session(relay, "push")) as sender:
        with suppress(ClosedByRelayError, BrokenPipeError, ConnectionResetError):
            for _ in range(600):
                sender.send(Heartbeat())
                assert sender.next() == Heartbeat()
                is_readable(sender.plug, seconds=0.05)
        assert "reason=push_session_deadline" in relay.log()


def test_a_silent_receive_session_is_closed_and_one_with_heartbeats_is_not(tmp_path: Path) -> None:
    with (
        running(tmp_path / "data", "--idle-close=1500ms") as relay,
        closing(session(relay, "receive", ERIN)) as beating,
        closing(session(relay, "receive", DANA)) as silent,
    ):
        for _ in range(600):
            beating.send(Heartbeat())
            assert beating.next() == Heartbeat()
            if is_readable(silent.plug, seconds=0.05):
                break
        awaits_close(silent)
        beating.send(Heartbeat())
        assert beating.next() == Heartbeat()
        assert relay.log().count("reason=idle") == 1


def is_readable(plug: socket.socket, seconds: float) -> bool:
    """Whether something came, or the end, within that time."""
    return bool(select.select([plug], [], [], seconds)[0])


# -- bounds


def test_a_listener_has_its_bound_and_gives_places_back(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--max-connections=1") as relay:
        with closing(session(relay, "receive", DANA)):
            with tcp(relay, "receive") as plug:
                assert until_closed(plug) == b""
            pushed(relay, b"the other listener has its own")
        with closing(first_admitted(relay)) as receiver:
            assert delivered(receiver, 1) == [b"the other listener has its own"]


def first_admitted(relay: RunningRelay) -> Session:
    """A Receive Session once the relay has seen that the one before is over."""
    while True:
        with suppress(ClosedByRelayError, BrokenPipeError):
            return session(relay, "receive", DANA)


def test_the_oldest_session_of_a_device_goes_for_one_more(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--max-sessions-per-device=2") as relay:
        mine = [session(relay, "receive", DANA) for _ in range(2)]
        hers = session(relay, "receive", ERIN)
        third = session(relay, "receive", DANA)
        awaits_close(mine[0])
        for kept in (mine[1], hers, third):
            kept.send(Heartbeat())
            assert kept.next() == Heartbeat()
        for each in (*mine, hers, third):
            each.close()


def test_a_device_that_does_not_read_delays_nobody_and_gets_everything_in_order(relay: RunningRelay) -> None:
    with (
        closing(session(relay, "receive", DANA, receive_buffer=4096)) as slow,
        closing(session(relay, "receive", ERIN)) as quick,
    ):
        large = [number.to_bytes(2, "big") + bytes(LARGE) for number in range(100)]
        pushed(relay, *large)
        pushed(relay, b"quick", to=ERIN)
        assert delivered(quick, 1) == [b"quick"]
        assert delivered(slow, len(large)) == large


# -- the end


def test_what_was_acked_survives_a_kill(tmp_path: Path) -> None:
    with running(tmp_path / "data") as relay:
        pushed(relay, b"one", b"two")
        key = relay.address.relay_pub
        relay.signal(signal.SIGKILL)
    with running(tmp_path / "data") as relay, closing(session(relay, "receive", DANA)) as receiver:
        assert relay.address.relay_pub == key
        assert delivered(receiver, 2) == [b"one", b"two"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_answers_what_was_received_and_closes(tmp_path: Path, number: signal.Signals) -> None:
    with running(tmp_path / "data") as relay:
        sender, receiver = session(relay, "push"), session(relay, "receive", DANA)
        with closing(sender), closing(receiver):
            sender.send(*(Push(DANA.public, bytes(LARGE)) for _ in range(20)))
            assert sender.next() == Ack()
            relay.process.send_signal(number)
            answers = [Ack(), *sender.frames_until_closed()]
            receiver.frames_until_closed()
        assert relay.process.wait(30) == 0
        assert "Traceback" not in relay.log()
        assert "event=stopped" in relay.log()
    with running(tmp_path / "data") as relay, closing(session(relay, "receive", DANA)) as again:
        assert delivered(again, len(answers)) == [bytes(LARGE)] * len(answers)


def test_a_stop_does_not_wait_longer_than_the_drain_for_who_does_not_read(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--shutdown-drain=500ms") as relay:
        pushed(relay, *([bytes(LARGE)] * 100))
        with closing(session(relay, "receive", DANA, receive_buffer=4096)):
            assert relay.signal(signal.SIGTERM) == 0


def test_the_log_names_nobody_and_nothing(relay: RunningRelay) -> None:
    pushed(relay, b"hello" * 999)
    with closing(session(relay, "receive", DANA)) as receiver, tcp(relay, "push") as garbage:
        local = {str(plug.getsockname()[1]) for plug in (receiver.plug, garbage)}
        garbage.sendall(b"garbage, and a lot of it")
        until_closed(garbage)
        assert delivered(receiver, 1) == [b"hello" * 999]
    assert relay.signal(signal.SIGTERM) == 0
    lines = relay.log().splitlines()
    assert {"starting", "listening", "session_opened", "session_closed", "stopping", "stopped"} <= {
        line.split()[0].removeprefix("event=") for line in lines
    }
    ports = {str(relay.address.receive_port), str(relay.address.push_port)}
    secrets = {"127.0.0.1", "4995", DANA.public.hex()[:8], relay.address.relay_pub.hex()[:8], *local, *ports}
    for line in lines:
        assert LOG_LINE.fullmatch(line), line
        assert not [secret for secret in secrets if secret in line], line


# -- how it is started


def refused(tmp_path: Path, *flags: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "reference_impl.relay", f"--data={tmp_path / 'data'}", *flags],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--ttl=31d",), "ttl is 2678400000 ms, give at most 2592000000 ms"),
        (("--push-burst=0",), "push_burst is 0, give at least 1"),
        (("--idle-close=0s",), "idle_close is 0, give at least 1"),
        (("--max-sessions-per-device=0",), "max_sessions_per_device leaves no session, give at least 1"),
        (("--ttl=soon",), "'soon' is no duration; write 500ms, 2s, 30m, 12h or 30d"),
        (("--push-burst=-1",), "'-1' is no whole number"),
        (("--receive=7700",), "'7700' is no HOST:PORT such as 127.0.0.1:7700"),
        (("--wire=draft-9",), "'draft-9' is no wire profile; there are draft-1, unversioned"),
    ],
)
def test_a_setting_that_is_refused_is_told_in_a_sentence(tmp_path: Path, flags: tuple[str, ...], words: str) -> None:
    status, last = refused(tmp_path, *flags)
    assert status == 2
    assert words in last


def test_a_flag_wins_over_the_environment(tmp_path: Path) -> None:
    status, last = refused(tmp_path, REFERENCE_RELAY_TTL="31d")
    assert (status, "ttl is 2678400000 ms" in last) == (2, True)
    status, last = refused(tmp_path, "--ttl=32d", REFERENCE_RELAY_TTL="31d")
    assert (status, "ttl is 2764800000 ms" in last) == (2, True)


def test_a_port_that_is_taken_is_told_in_a_sentence(tmp_path: Path, relay: RunningRelay) -> None:
    status, last = refused(tmp_path / "other", f"--receive=127.0.0.1:{relay.address.receive_port}")
    assert status == 1
    assert "cannot listen" in last


def test_the_key_is_its_owners_alone_and_the_public_one_lies_beside(tmp_path: Path, relay: RunningRelay) -> None:
    key = tmp_path / "data" / "relay.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert (tmp_path / "data" / "relay.pub").read_text(encoding="ascii") == relay.address.relay_pub.hex() + "\n"
    relay.signal(signal.SIGTERM)
    key.write_text("no key", encoding="ascii")
    assert refused(tmp_path) == (1, f"The key file {key} does not hold 64 hex digits; give another --key.")


def test_health_is_told_and_nothing_else(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
    with running(tmp_path / "data", f"--health=127.0.0.1:{port}"):
        for path, status in (("/healthz", 200), ("/", 404)):
            asked = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            asked.request("GET", path)
            assert asked.getresponse().status == status
            asked.close()


def test_a_program_that_does_not_exist_is_told_with_those_that_do() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "adapters.relay_program", "mutants/relay-perfect"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert "There is no relay program 'mutants/relay-perfect'" in done.stderr
    assert "  mutants/relay-anybody-may-ack\n" in done.stderr
    assert "  mutants/relay-program-no-echo\n" in done.stderr
