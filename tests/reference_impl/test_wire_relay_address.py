"""Relay Addresses: `trueseal://<relay key hex>@host[:receivePort][?push=pushPort]`."""

from __future__ import annotations

import pytest

from reference_impl.wire.errors import RelayAddressError
from reference_impl.wire.relay_address import RelayAddress, parse

HEX = "0123456789abcdef" * 4
KEY = bytes.fromhex(HEX)
READ = [
    (f"trueseal://{HEX}@relay.example", RelayAddress(KEY, "relay.example", 7700, 7701)),
    (f"trueseal://{HEX}@relay.example:9000", RelayAddress(KEY, "relay.example", 9000, 7701)),
    (f"trueseal://{HEX}@relay.example?push=9001", RelayAddress(KEY, "relay.example", 7700, 9001)),
    (f"trueseal://{HEX}@127.0.0.1:1?push=65535", RelayAddress(KEY, "127.0.0.1", 1, 65_535)),
    (f"trueseal://{HEX}@[::1]:9000?push=9001", RelayAddress(KEY, "::1", 9000, 9001)),
    (f"trueseal://{HEX}@[2001:db8::7]", RelayAddress(KEY, "2001:db8::7", 7700, 7701)),
    (f"trueseal://{HEX.upper()}@a", RelayAddress(KEY, "a", 7700, 7701)),
]
REFUSED = [
    ("", "begins with trueseal://"),
    (f"https://{HEX}@relay.example", "begins with trueseal://"),
    (f"{HEX}@relay.example", "begins with trueseal://"),
    (f"trueseal://{HEX}", "then @ and the host"),
    ("trueseal://relay.example:7700", "then @ and the host"),
    (f"trueseal://{HEX[:-1]}@relay.example", "64 hex digits"),
    (f"trueseal://{HEX}0@relay.example", "64 hex digits"),
    (f"trueseal://{HEX[:-1]}g@relay.example", "64 hex digits"),
    ("trueseal://@relay.example", "64 hex digits"),
    (f"trueseal://{HEX}@", "is no host"),
    (f"trueseal://{HEX}@:7700", "is no host"),
    (f"trueseal://{HEX}@re lay", "is no host"),
    (f"trueseal://{HEX}@a@b", "is no host"),
    (f"trueseal://{HEX}@[::1", "is no host"),
    (f"trueseal://{HEX}@a/b", "is no host"),
    (f"trueseal://{HEX}@a:", "The port behind the host is a number from 1 to 65535; here stands ''"),
    (f"trueseal://{HEX}@a:0", "here stands '0'"),
    (f"trueseal://{HEX}@a:65536", "here stands '65536'"),
    (f"trueseal://{HEX}@a:-1", "here stands '-1'"),
    (f"trueseal://{HEX}@a:77x", "here stands '77x'"),
    (f"trueseal://{HEX}@a:\u0667\u0667\u0660\u0660", "from 1 to 65535"),
    (f"trueseal://{HEX}@::1", "from 1 to 65535|is no host"),
    (f"trueseal://{HEX}@a?push=", "The port behind push= is a number"),
    (f"trueseal://{HEX}@a?push=0", "The port behind push= is a number"),
    (f"trueseal://{HEX}@a?push=65536", "The port behind push= is a number"),
    (f"trueseal://{HEX}@a?", "stands push=PORT and nothing else"),
    (f"trueseal://{HEX}@a?pull=1", "stands push=PORT and nothing else"),
    (f"trueseal://{HEX}@a?push=1&push=2", "The port behind push= is a number"),
    (f"trueseal://{HEX}@a:1\n", "here stands '1\\\\n'"),
]


@pytest.mark.parametrize(("text", "address"), READ)
def test_what_is_read(text: str, address: RelayAddress) -> None:
    assert parse(text) == address
    assert parse(str(address)) == address


def test_both_ports_are_always_written() -> None:
    assert str(RelayAddress(KEY, "a")) == f"trueseal://{HEX}@a:7700?push=7701"
    assert str(RelayAddress(KEY, "::1", 1, 2)) == f"trueseal://{HEX}@[::1]:1?push=2"


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_what_is_refused_and_why(text: str, said: str) -> None:
    with pytest.raises(RelayAddressError, match=said):
        parse(text)
