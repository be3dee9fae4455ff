"""The driver program: the line loop, a real process, SIGKILL, and the same folder again."""

from __future__ import annotations

import base64
import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pytest

from adapters.reference import __main__ as program
from adapters.stdio import serve
from reference_impl.wire.json_types import Json, JsonObject
from tests.reference_impl.device_bench import START
from tests.reference_impl.test_device_driver import HI, open_params


class Echo:
    """Answers each message with two."""

    def handle(self, message: JsonObject) -> list[JsonObject]:
        return [{"first": message["id"]}, {"second": "ü"}] if "id" in message else []


class CountingSink(io.BytesIO):
    flushes = 0

    def flush(self) -> None:
        self.flushes += 1


def test_each_line_is_served_and_flushed_once() -> None:
    sink = CountingSink()
    serve(Echo(), [b'{"id":1}\n', b"{}\n", b"no JSON\n", b"[]\n"], sink)
    first, second, *problems = sink.getvalue().decode().splitlines()
    assert (first, second) == ('{"first":1}', '{"second":"ü"}')
    assert [json.loads(line)["error"]["code"] for line in problems] == [-32700, -32700]
    assert sink.flushes == 3


@pytest.mark.parametrize("arguments", [[], ["inbox"], ["device", "relay"]])
def test_a_role_must_be_named(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(arguments) == 2
    assert "device|relay" in capsys.readouterr().err


class Process:
    """A driver program as the kit runs it."""

    def __init__(self, role: str = "device") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "adapters.reference", role],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        self._id = 0

    def __enter__(self) -> Process:
        self.ask("initialize", {"protocol_version": 1, "role": "device", "envelopes": "plain", "wire": "draft-1"})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def write(self, message: JsonObject) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, method: str, params: JsonObject | None = None) -> list[JsonObject]:
        """What the program wrote up to its answer, or until it died."""
        self._id += 1
        self.write({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params or {}})
        return list(self._read())

    def _read(self) -> Iterator[JsonObject]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message: JsonObject = json.loads(line)
            yield message
            if message.get("id") == self._id and "method" not in message:
                return

    def kill(self) -> int:
        self._process.kill()
        return self.wait()

    def end(self) -> int:
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self.wait()

    def wait(self) -> int:
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        return code


def sequences(messages: list[JsonObject]) -> list[Json]:
    found: list[Json] = []
    for message in messages:
        params = message.get("params")
        if message.get("method") == "relay.push" and isinstance(params, dict):
            envelope = params["envelope"]
            assert isinstance(envelope, dict)
            assert isinstance(envelope["sealed"], dict)
            found.append(envelope["sealed"]["sequence"])
    return found


def test_a_killed_process_started_again_on_its_folder_pushes_what_it_promised(tmp_path: Path) -> None:
    folder = str(tmp_path)
    with Process() as device:
        device.ask("open", open_params(data_folder=folder))
        device.ask("relay.connected")
        assert sequences(device.ask("send", {"body": HI})) == ["1", "1"]
        assert device.kill() == -signal.SIGKILL
    with Process() as device:
        device.ask("open", open_params(data_folder=folder, provisioned=False, now=START + 1))
        device.ask("send", {"body": base64.b64encode(b"next").decode()})
        first = device.ask("relay.connected")[:-1]
        assert sequences(first) == ["1", "1"]
        assert device.end() == 0


@pytest.mark.parametrize(("when", "left"), [("before", []), ("after", ["1", "1"])])
def test_a_crash_at_a_write_is_a_sigkill(tmp_path: Path, when: str, left: list[str]) -> None:
    folder = str(tmp_path)
    with Process() as device:
        device.ask("open", open_params(data_folder=folder))
        device.ask("crash.at_write", {"write": 1, "when": when})
        assert device.ask("send", {"body": HI}) == []
        assert device.wait() == -signal.SIGKILL
    with Process() as device:
        device.ask("open", open_params(data_folder=folder, provisioned=False))
        assert sequences(device.ask("relay.connected")) == left


def test_the_relay_is_served_by_the_same_program() -> None:
    with Process("relay") as relay:
        (answer,) = relay.ask("initialize")
        assert isinstance(answer["result"], dict)
        assert answer["result"]["role"] == "relay"
        assert relay.end() == 0


def test_the_program_starts_without_what_only_the_kit_needs() -> None:
    code = (
        "import sys; from adapters.reference.__main__ import DRIVERS; DRIVERS['device']();"
        "print([name for name in ('pytest', 'jsonschema', 'docker', 'conformance') if name in sys.modules])"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, check=True, text=True
    )
    assert finished.stdout == "[]\n"
