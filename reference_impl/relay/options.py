"""How the relay program is started: its flags, each of them also an environment variable."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from reference_impl.relay.settings import DAY, RelaySettings
from reference_impl.wire.profile import profile_names

ENVIRONMENT = "REFERENCE_RELAY_"
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": DAY}
_DURATION = re.compile(r"([0-9]+)(ms|s|m|h|d)")


@dataclass(frozen=True, slots=True)
class Deadlines:
    """What only connections have: times in milliseconds, and how many one listener holds (RLY-023 to RLY-027)."""

    handshake_deadline: int = 10_000
    push_session_deadline: int = 30_000
    idle_close: int = 75_000
    shutdown_drain: int = 10_000
    max_connections: int = 1_000


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to listen; port 0 lets the system choose one."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that the program was told."""

    data: Path
    key: Path
    receive: Endpoint
    push: Endpoint
    health: Endpoint | None
    wire: str
    settings: RelaySettings
    deadlines: Deadlines


HELP: Mapping[str, str] = {
    "ttl": "how long a Blob waits for its ack, at most 30d",
    "max_blobs_per_inbox": "Blobs that one Inbox holds",
    "max_bytes_per_inbox": "bytes of Envelopes that one Inbox holds",
    "max_envelope_bytes": "the longest Envelope that is taken",
    "push_rate_per_second": "pushes a second that one recipient's token bucket regains",
    "push_burst": "pushes that one recipient's full token bucket allows at once",
    "max_sessions_per_device": "Receive Sessions that one device may have; the oldest gives way",
    "handshake_deadline": "from the connection to the end of the handshake",
    "push_session_deadline": "from the connection to the end of a Push Session",
    "idle_close": "a Receive Session on which nothing came for so long is closed",
    "shutdown_drain": "how long a stopping relay goes on writing what it owes",
    "max_connections": "connections that one listener holds",
}
DURATIONS = frozenset(("ttl", "handshake_deadline", "push_session_deadline", "idle_close", "shutdown_drain"))


def read_options(arguments: Sequence[str], environment: Mapping[str, str]) -> Options:
    """A flag wins over its environment variable, that over the default. Ends the program on a mistake, status 2."""
    given = vars(_parser(environment).parse_args(arguments))
    data = Path(given["data"])
    return Options(
        data=data,
        key=Path(given["key"]) if given["key"] else data / "relay.key",
        receive=given["receive"],
        push=given["push"],
        health=given["health"],
        wire=given["wire"],
        settings=RelaySettings(**{each.name: given[each.name] for each in fields(RelaySettings)}),
        deadlines=Deadlines(**{each.name: given[each.name] for each in fields(Deadlines)}),
    )


def duration(text: str) -> int:
    """`500ms`, `2s`, `30m`, `12h` or `30d` in milliseconds. Raises ArgumentTypeError."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write 500ms, 2s, 30m, 12h or 30d")
    return int(match[1]) * UNITS[match[2]]


def endpoint(text: str) -> Endpoint:
    """`127.0.0.1:7700` or `[::1]:7700`. Raises ArgumentTypeError."""
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no HOST:PORT such as 127.0.0.1:7700")
    return Endpoint(host.removeprefix("[").removesuffix("]"), int(port))


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reference_impl.relay",
        description="The reference Relay: durable inboxes behind two TCP listeners.",
        epilog=f"Each flag is also an environment variable: --push-burst is {ENVIRONMENT}PUSH_BURST. "
        "Durations are written 500ms, 2s, 30m, 12h or 30d.",
    )

    def add(name: str, default: str | None, kind: Callable[[str], object], text: str) -> None:
        flag, variable = f"--{name.replace('_', '-')}", f"{ENVIRONMENT}{name.upper()}"
        value = environment.get(variable, default)
        parser.add_argument(flag, type=kind, default=value, required=value is None, help=f"{text} ({variable})")

    add("data", None, str, "the folder of the database; made if it is missing")
    add("key", "", str, "the file of the relay's private key, made if it is missing; default: relay.key in --data")
    add("receive", "127.0.0.1:7700", endpoint, "where devices connect to receive; default: 127.0.0.1:7700")
    add("push", "127.0.0.1:7701", endpoint, "where devices connect to push; default: 127.0.0.1:7701")
    parser.add_argument(
        "--health",
        type=endpoint,
        default=environment.get(f"{ENVIRONMENT}HEALTH"),
        help=f"where GET /healthz is answered 200; default: nowhere ({ENVIRONMENT}HEALTH)",
    )
    add("wire", "draft-1", _profile, f"the wire profile, one of {', '.join(profile_names())}; default: draft-1")
    for group in (RelaySettings(), Deadlines()):
        for each in fields(group):
            _add_setting(add, each.name, getattr(group, each.name))
    return parser


def _add_setting(add: Callable[[str, str | None, Callable[[str], object], str], None], name: str, default: int) -> None:
    if name in DURATIONS:
        add(name, f"{default}ms", duration, f"{HELP[name]}; default: {_words(default)}")
    else:
        add(name, str(default), _number, f"{HELP[name]}; default: {default}")


def _words(milliseconds: int) -> str:
    unit = next(unit for unit in ("d", "h", "m", "s", "ms") if milliseconds % UNITS[unit] == 0)
    return f"{milliseconds // UNITS[unit]}{unit}"


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def _profile(text: str) -> str:
    if text not in profile_names():
        raise argparse.ArgumentTypeError(f"{text!r} is no wire profile; there are {', '.join(profile_names())}")
    return text
