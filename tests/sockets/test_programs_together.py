"""The reference programs as people run them: two devices and a relay, killed and started; everything arrives once."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reference_impl.wire.json_types import JsonObject

ROOT = Path(__file__).parents[2]
SECONDS = 60.0


class Program:
    """One of the programs, and what it has said so far."""

    def __init__(self, *arguments: str | Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            bufsize=0,
        )
        self._unread = b""
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")

    def line(self) -> str:
        """The next line, waited for."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + SECONDS
        while b"\n" not in self._unread:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"nothing came within {SECONDS:g} s after {self.lines[-5:]}"
            data = self._process.stdout.read(65536)
            assert data, f"it ended after {self.lines[-5:]}"
            self._unread += data
        line, self._unread = self._unread.split(b"\n", 1)
        self.lines.append(line.decode())
        return self.lines[-1]

    def until(self, name: str, value: object = None) -> JsonObject:
        """The next object that has a field of this name, and this value if one is given."""
        while True:
            found: JsonObject = json.loads(self.line())
            if name in found and value in (None, found[name]):
                return found

    def bodies(self) -> list[str]:
        """Of the messages said so far."""
        said: list[JsonObject] = [json.loads(line) for line in self.lines]
        return [str(each["body"]) for each in said if "message" in each]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def running(*arguments: str | Path) -> Iterator[Program]:
    program = Program(*arguments)
    try:
        yield program
    finally:
        program.kill()


def relay(folder: Path, receive: str = "0", push: str = "0") -> tuple[str | Path, ...]:
    ports = (f"--receive=127.0.0.1:{receive}", f"--push=127.0.0.1:{push}")
    return ("reference_impl.relay", "--data", folder / "relay", *ports)


def device(folder: Path, name: str, address: str) -> tuple[str | Path, ...]:
    return ("reference_impl.device", "--data", folder / name, "--relay", address)


def test_two_devices_and_a_relay_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    with running(*relay(tmp_path)) as first_relay:
        address = first_relay.line().removeprefix("ready ")
        with running(*device(tmp_path, "a", address)) as a, running(*device(tmp_path, "b", address)) as b:
            a.say("pair")
            b.say(f"join {a.until('pairing_token')['pairing_token']}")
            a.say(f"accept {a.until('event', 'JoinRequest')['id']}")
            b.until("event", "MembersChanged")
            a.say("send one")
            assert b.until("message")["body"] == "one"
            b.say("status")  # answered when the message is remembered: killed before, it would rightly come again
            b.until("status")
            b.kill()
            a.say("send two")
            a.until("sent")
            first_relay.kill()
            a.say("send three")
            a.until("sent")
            ports = address.rpartition(":")[2].split("?push=")
            with running(*relay(tmp_path, *ports)) as second_relay:
                assert second_relay.line() == f"ready {address}"
                with running(*device(tmp_path, "b", address)) as b_again:
                    assert b_again.until("message")["body"] == "two"
                    assert b_again.until("message")["body"] == "three"
                    b_again.say("send four")
                    assert a.until("message")["body"] == "four"
                    a.say("status")
                    a.until("status")
                    assert b.bodies() + b_again.bodies() == ["one", "two", "three"]
                    assert a.bodies() == ["four"]
