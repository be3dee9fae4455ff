"""Manifests with `driver: tcp`: what they may say, and one sentence for what they may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.adapter import AdapterError, find, read
from conformance.drivers.refused_settings import refused_setting
from conformance.drivers.relay_manifest import FORMATS, RelayKey, RelayManifest, Setting
from conformance.outcome import NotRunError

HEAD = "name: x\nrole: relay\ndriver: tcp\n"
COMMAND = 'command: [relay, "{data}", "{receive_port}", "{push_port}"]\n'
KEY = 'relay_key: {file: "{data}/relay.pub"}\n'
WORDS = {"data": "/data", "receive_port": "1", "push_port": "2", "health_port": "3", "python": "py"}


def manifest(folder: Path, text: str) -> Path:
    path = folder / "adapter.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (HEAD, ":3: driver: tcp takes either a command or an image, to start a relay, or the address of"),
        (HEAD + COMMAND, ":4: command: `relay_key` is missing"),
        (HEAD + COMMAND + KEY.replace("}\n", ", line: '(ab)'}\n"), ":5: relay_key: takes one of hex, file, line."),
        (HEAD.replace("relay\nd", "device\nd") + COMMAND + KEY, ":2: role"),
        (
            HEAD + 'command: [relay, "{dta}", "{receive_port}", "{push_port}"]\n' + KEY,
            ":4: command.1: {dta} is no placeholder here (did you mean data?); there are {python}, {data}, ",
        ),
        (HEAD + 'command: [relay, "{data}", "{push_port}"]\n' + KEY, "the relay must be told where to listen."),
        (
            HEAD + 'command: [relay, "{push_port}{receive_port}"]\n' + KEY,
            "must be told where to keep its data.",
        ),
        (
            HEAD + COMMAND + KEY + 'ready: {http: "http://127.0.0.1:{health_port}/"}\n',
            ":6: ready.http: the relay is never told {health_port}; tell it in",
        ),
        (HEAD + COMMAND + KEY + "ready: {http: here}\n", ":6: ready.http: "),
        (HEAD + COMMAND + KEY + "ready: {line: '('}\n", ":6: ready.line: is no regular expression: "),
        (HEAD + COMMAND + KEY + "ready: {}\n", ":6: ready: takes one of http, line."),
        (
            HEAD + COMMAND + "relay_key: {line: 'key: .*'}\n",
            ":5: relay_key.line: needs one group in ( )",
        ),
        (
            HEAD + COMMAND + 'relay_key: {file: "{push_port}"}\n',
            ":5: relay_key.file: {push_port} is no placeholder",
        ),
        (HEAD + COMMAND + KEY + "settings: {tll: {format: ms, environment: T}}\n", ":6: settings.tll: "),
        (HEAD + COMMAND + KEY + "settings: {ttl: {format: count, environment: T}}\n", ":6: settings.ttl.format: "),
        (
            HEAD + COMMAND + KEY + "settings: {ttl: {format: ms}}\n",
            ":6: settings.ttl: takes one of arguments",
        ),
        (
            HEAD + COMMAND + KEY + 'settings: {ttl: {format: ms, arguments: ["{ttl}"]}}\n',
            "{ttl} is no placeholder here",
        ),
        (HEAD + COMMAND + KEY + "environment: {1A: b}\n", ":6: environment"),
        (HEAD + COMMAND + KEY + "wire: draft-2\n", ":6: wire: "),
        (HEAD + COMMAND + KEY + "stop: SIGKILL\n", ":6: stop: "),
        (HEAD + "address: trueseal://zz@host\n", ":4: address: The relay's key is 64 hex digits; here stands 'zz'."),
        (
            "name: x\nrole: relay\ndriver: process\ncommand: [x]\nwire: unversioned\n",
            ":5: wire: is for `driver",
        ),
        ("name: x\nrole: relay\ndriver: process\ncommand: [x]\nstop: SIGTERM\n", ":5: stop: is for `driver: tcp`"),
        (
            f"{HEAD}address: trueseal://{'ab' * 32}@host\nstop: SIGTERM\n",
            ":5: stop: is for a relay that the kit",
        ),
    ],
)
def test_mistakes_are_told_in_a_sentence(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(AdapterError) as caught:
        read(manifest(tmp_path, text))
    assert reason in str(caught.value)


def test_what_a_manifest_says_of_a_relay(tmp_path: Path) -> None:
    text = (
        HEAD
        + COMMAND
        + "environment: {HOME: '{data}/{push_port}', PLAIN: '{value}'}\n".replace("{value}", "x")
        + "settings:\n"
        + '  ttl: {arguments: [--ttl, "{value}"], format: go_duration}\n'
        + "  idle_close: {environment: IDLE, format: s}\n"
        + KEY
        + "wire: unversioned\nstop: SIGINT\n"
    )
    adapter = read(manifest(tmp_path, text))
    relay = adapter.relay
    assert relay is not None
    assert (adapter.wire, relay.stop, relay.relay_key) == ("unversioned", "SIGINT", RelayKey(file="{data}/relay.pub"))
    settings = {"ttl": 2500, "idle_close": 3000}
    assert relay.arguments(WORDS, settings) == ["relay", "/data", "1", "2", "--ttl", "2500ms"]
    assert relay.variables(WORDS, settings) == {"HOME": "/data/2", "PLAIN": "x", "IDLE": "3"}


def test_a_setting_without_a_way_is_not_run() -> None:
    relay = RelayManifest(("relay",), RelayKey(hex="ab"), settings={"ttl": Setting("s", environment="TTL")})
    with pytest.raises(NotRunError, match="the manifest does not say how push_burst is set"):
        relay.arguments(WORDS, {"push_burst": 3})
    with pytest.raises(NotRunError, match="ttl: 2500 cannot be written in the manifest's format s"):
        relay.variables(WORDS, {"ttl": 2500})


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("ms", 1500, "1500"), ("s", 2000, "2"), ("s", 1500, None), ("go_duration", 90_000, "90000ms"), ("count", 7, "7")],
)
def test_how_values_are_written(name: str, value: int, text: str | None) -> None:
    assert FORMATS[name](value) == text


@pytest.mark.parametrize(
    ("settings", "words", "found"),
    [
        ({"ttl": 1}, "", "ttl"),
        ({"push_burst": 500, "ttl": 1}, "", "ttl"),
        ({"push_burst": 1, "idle_close": 2}, "fatal: IdleClose is too small", "idle_close"),
        ({"push_burst": 1, "idle_close": 2}, "push-burst: 1", "push_burst"),
        ({"push_burst": 500}, "", "push_burst"),
    ],
)
def test_which_setting_was_refused(settings: dict[str, int], words: str, found: str) -> None:
    assert refused_setting(settings, words) == found


def test_a_live_relay_by_its_address(tmp_path: Path) -> None:
    adapter = find(f"trueseal://{'ab' * 32}@relay.example:1?push=2", tmp_path)
    assert (adapter.roles, adapter.driver, str(adapter.address)) == (
        ("relay",),
        "tcp",
        f"trueseal://{'ab' * 32}@relay.example:1?push=2",
    )
    assert adapter.link("relay").is_live


def test_an_address_that_is_none_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match=r"--adapter=trueseal://zz@host: The relay's key is 64 hex digits"):
        find("trueseal://zz@host", tmp_path)
