"""The reference Relay as a program with one fault: `python -m tests.conformance.faulty_relays.program FAULT …flags`.

Notes its process id in the file `pids` of the folder it is started in.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from reference_impl.relay.program import RelayProgram, main
from reference_impl.relay.wire_session import WireSession
from reference_impl.wire.frames import Ack
from reference_impl.wire.noise import KeyPair

SLOW_SECONDS = 0.4
"""Far longer than the kit waits until it calls a relay quiet, and far shorter than it waits for what is missing."""


def never_ready(_: list[str]) -> int:
    sys.stderr.write("waiting for a database that never comes\n")
    sys.stderr.flush()
    signal.pause()
    return 0


def exits(_: list[str]) -> int:
    sys.stderr.write("no licence found\n")
    return 3


def refuses_every_setting(arguments: list[str]) -> int:
    settings = [each for each in arguments if each.startswith(("--ttl", "--push-burst"))]
    if settings:
        sys.stderr.write("I take no push-burst\n")
        return 2
    return main(arguments, os.environ)


def starts_once(arguments: list[str]) -> int:
    data = next(Path(each.removeprefix("--data=")) for each in arguments if each.startswith("--data="))
    if (data / "relay.sqlite3").exists():
        sys.stderr.write("the database is locked\n")
        return 1
    return main(arguments, os.environ)


class ForgetsItsKey(RelayProgram):
    """Proves another key than the one it has written down."""

    async def run(self) -> None:
        self.relay_key = KeyPair.generate()
        await super().run()


class Floods(RelayProgram):
    def pushed(self, session: WireSession, body: bytes) -> None:
        sys.stderr.write("pushed\n" * 1_000_000)
        sys.stderr.flush()
        super().pushed(session, body)


class Dies(RelayProgram):
    def pushed(self, session: WireSession, body: bytes) -> None:  # noqa: ARG002 - whatever it is
        sys.stderr.write("out of memory\n")
        sys.stderr.flush()
        os._exit(7)


class Hangs(RelayProgram):
    """Says so to whoever reads the pipe `hangs` in its folder."""

    def pushed(self, session: WireSession, body: bytes) -> None:  # noqa: ARG002 - whatever it is
        Path("hangs").write_bytes(b"hangs")
        signal.pause()


class ClosesOnPush(RelayProgram):
    def pushed(self, session: WireSession, body: bytes) -> None:  # noqa: ARG002 - whatever it is
        session.end("fault")


class EndsBehindEachAnswer(RelayProgram):
    """As a relay may: a push that is on its way meanwhile is not read."""

    def pushed(self, session: WireSession, body: bytes) -> None:
        super().pushed(session, body)
        session.end("enough")


class AnswersTwice(RelayProgram):
    def pushed(self, session: WireSession, body: bytes) -> None:
        super().pushed(session, body)
        session.answer(None)


class SlowToAnswer(RelayProgram):
    def pushed(self, session: WireSession, body: bytes) -> None:
        asyncio.get_running_loop().call_later(SLOW_SECONDS, super().pushed, session, body)


class SlowSession(WireSession):
    def deliver(self, blob_id: int, envelope: bytes) -> None:
        asyncio.get_running_loop().call_later(SLOW_SECONDS, super().deliver, blob_id, envelope)


class SlowToDeliver(RelayProgram):
    session_class = SlowSession


class ClosesAtRandom(RelayProgram):
    """Half of all that happens on a session is the last that happens on it."""

    chance = random.Random(11)  # noqa: S311 - no secret, and every run the same

    def pushed(self, session: WireSession, body: bytes) -> None:
        super().pushed(session, body)
        for each in list(self.sessions.values()):
            if self.chance.random() < 0.5:
                each.end("fault")


class DeafToSigterm(RelayProgram):
    def stop(self) -> None:
        sys.stderr.write("I stay\n")


class Garbage(WireSession):
    def data_received(self, data: bytes) -> None:  # noqa: ARG002 - whatever it is
        self.write_raw(b"\x00\x07no such")

    def write_raw(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)


class LateGarbage(Garbage):
    def data_received(self, data: bytes) -> None:
        WireSession.data_received(self, data)

    def answer(self, refusal: str | None) -> None:  # noqa: ARG002 - whatever it is
        self.write_raw(b"\x00\x15this is no ciphertext")


class AnswersInGarbage(RelayProgram):
    session_class = LateGarbage


class SpeaksAnotherTongue(RelayProgram):
    session_class = Garbage


class Mute(WireSession):
    def data_received(self, data: bytes) -> None:
        """Reads, and says nothing."""


class SaysNothing(RelayProgram):
    session_class = Mute


class AcksDevices(RelayProgram):
    """Sends a frame that has no business on a Receive Session."""

    def established(self, session: WireSession) -> None:
        super().established(session)
        if session.kind == "receive" and "--ttl=1000000ms" in sys.argv:
            session.send(Ack())
            session.flush()


PROGRAMS: Mapping[str, type[RelayProgram]] = {
    "none": RelayProgram,
    "forgets_its_key": ForgetsItsKey,
    "floods": Floods,
    "dies": Dies,
    "hangs": Hangs,
    "closes_on_push": ClosesOnPush,
    "answers_twice": AnswersTwice,
    "ends_behind_each_answer": EndsBehindEachAnswer,
    "slow_to_answer": SlowToAnswer,
    "slow_to_deliver": SlowToDeliver,
    "closes_at_random": ClosesAtRandom,
    "deaf_to_sigterm": DeafToSigterm,
    "answers_in_garbage": AnswersInGarbage,
    "speaks_another_tongue": SpeaksAnotherTongue,
    "says_nothing": SaysNothing,
    "acks_devices": AcksDevices,
}
OTHERS: Mapping[str, Callable[[list[str]], int]] = {
    "never_ready": never_ready,
    "exits": exits,
    "refuses_every_setting": refuses_every_setting,
    "starts_once": starts_once,
}


def run(fault: str, arguments: list[str]) -> int:
    with Path("pids").open("a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    if fault in OTHERS:
        return OTHERS[fault](arguments)
    return main(arguments, os.environ, PROGRAMS[fault])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
