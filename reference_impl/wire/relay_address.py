"""Relay Addresses: `trueseal://<relay key hex>@host[:receivePort][?push=pushPort]` (ADR-0028, CDC-007)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reference_impl.wire.errors import RelayAddressError

SCHEME = "trueseal://"
RECEIVE_PORT = 7700
PUSH_PORT = 7701

_KEY = re.compile(r"[0-9a-fA-F]{64}")
_HOST = re.compile(r"\[[0-9a-fA-F:.]+\]|[^\s\[\]:/?#@%\\\x00-\x1f\x7f]+")
_PORT = re.compile(r"[0-9]{1,5}")
_AUTHORITY = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RelayAddress:
    """Where a relay is and which key it proves. `host` is a name or an address, IPv6 without its brackets."""

    relay_pub: bytes
    host: str
    receive_port: int = RECEIVE_PORT
    push_port: int = PUSH_PORT

    def __str__(self) -> str:
        """The address with both ports, so that none is ever dropped."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{SCHEME}{self.relay_pub.hex()}@{host}:{self.receive_port}?push={self.push_port}"


def parse(text: str) -> RelayAddress:
    """Read a Relay Address; a port that is not given is the default. Raises RelayAddressError."""
    if not text.startswith(SCHEME):
        raise RelayAddressError(f"A Relay Address begins with {SCHEME}; this is {_shown(text)}.")
    place, question, query = text.removeprefix(SCHEME).partition("?")
    key, at, authority = place.partition("@")
    if not at:
        raise RelayAddressError(f"A Relay Address names the relay's key, then @ and the host; this is {_shown(text)}.")
    if _KEY.fullmatch(key) is None:
        raise RelayAddressError(f"The relay's key is 64 hex digits; here stands {_shown(key)}.")
    split = _AUTHORITY.fullmatch(authority)
    host, receive_port = (split[1], split[2]) if split else (authority, None)
    if _HOST.fullmatch(host) is None:
        raise RelayAddressError(f"{_shown(host)} is no host; write a name, an IPv4 address or an IPv6 address in [ ].")
    return RelayAddress(
        relay_pub=bytes.fromhex(key),
        host=host.strip("[]"),
        receive_port=RECEIVE_PORT if receive_port is None else _port(receive_port, "The port behind the host"),
        push_port=_push_port(query) if question else PUSH_PORT,
    )


def _push_port(query: str) -> int:
    name, _, port = query.partition("=")
    if name != "push":
        raise RelayAddressError(f"Behind the ? stands push=PORT and nothing else; here stands {_shown(query)}.")
    return _port(port, "The port behind push=")


def _port(text: str, what: str) -> int:
    port = int(text) if _PORT.fullmatch(text) else 0
    if not 1 <= port <= 65_535:
        raise RelayAddressError(f"{what} is a number from 1 to 65535; here stands {_shown(text)}.")
    return port


def _shown(text: str) -> str:
    return repr(text if len(text) <= 100 else f"{text[:100]}…")
