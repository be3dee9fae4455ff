"""CDC-007: Relay Addresses."""

from __future__ import annotations

from reference_impl.wire.json_types import JsonObject
from tests.codec_vectors.writing import CodecFile, Vector, either, gives, refused

HEX = bytes(range(0x80, 0xA0)).hex()
HEAD = f"trueseal://{HEX}@"


def parts(host: str, receive_port: int, push_port: int) -> JsonObject:
    return {"relay_pub": HEX, "host": host, "receive_port": receive_port, "push_port": push_port}


def read() -> list[JsonObject]:
    plain = [
        ("no-port", "relay.example", parts("relay.example", 7700, 7701)),
        ("receive-port", "relay.example:9000", parts("relay.example", 9000, 7701)),
        ("push-port", "relay.example?push=9001", parts("relay.example", 7700, 9001)),
        ("both-ports", "relay.example:9000?push=9001", parts("relay.example", 9000, 9001)),
        ("default-ports-written-out", "relay.example:7700?push=7701", parts("relay.example", 7700, 7701)),
        ("ports-exchanged", "relay.example:7701?push=7700", parts("relay.example", 7701, 7700)),
        ("smallest-and-largest-port", "relay.example:1?push=65535", parts("relay.example", 1, 65_535)),
        ("ports-of-the-web", "relay.example:80?push=443", parts("relay.example", 80, 443)),
        ("ipv4", "127.0.0.1:9000", parts("127.0.0.1", 9000, 7701)),
        ("one-label", "localhost", parts("localhost", 7700, 7701)),
    ]
    rows = [gives(name, {"text": HEAD + rest}, fields) for name, rest, fields in plain]
    ipv6: list[JsonObject] = [{"result": parts(host, 9000, 9001)} for host in ("::1", "[::1]")]
    return [*rows, either("ipv6", {"text": f"{HEAD}[::1]:9000?push=9001"}, *ipv6)]


NOT_ONE = {
    "empty": "",
    "another-scheme": f"https://{HEX}@relay.example",
    "no-scheme": f"{HEX}@relay.example",
    "no-key": "trueseal://relay.example:7700",
    "empty-key": "trueseal://@relay.example",
    "key-of-63-digits": f"trueseal://{HEX[:-1]}@relay.example",
    "key-of-62-digits": f"trueseal://{HEX[:-2]}@relay.example",
    "key-of-66-digits": f"trueseal://{HEX}00@relay.example",
    "key-with-another-letter": f"trueseal://{HEX[:-1]}g@relay.example",
    "no-host": HEAD,
    "no-host-but-a-port": f"{HEAD}:7700",
    "no-at": f"trueseal://{HEX}",
    "space-in-the-host": f"{HEAD}re lay",
    "open-bracket": f"{HEAD}[::1",
    "port-0": f"{HEAD}relay.example:0",
    "port-65536": f"{HEAD}relay.example:65536",
    "port-of-letters": f"{HEAD}relay.example:http",
    "negative-port": f"{HEAD}relay.example:-1",
    "port-with-a-letter-behind": f"{HEAD}relay.example:7700x",
    "push-port-0": f"{HEAD}relay.example?push=0",
    "push-port-65536": f"{HEAD}relay.example?push=65536",
    "push-port-of-letters": f"{HEAD}relay.example?push=x",
    "push-port-empty": f"{HEAD}relay.example?push=",
}


def written() -> list[JsonObject]:
    """Default ports may be left out, every other must be there."""
    host = "relay.example"
    with_receive = [f"{HEAD}{host}{port}?push=9001" for port in (":7700", "")]
    with_push = [f"{HEAD}{host}:9000{push}" for push in ("?push=7701", "")]
    defaults = [f"{HEAD}{host}{port}{push}" for port in (":7700", "") for push in ("?push=7701", "")]

    def texts(found: list[str]) -> list[JsonObject]:
        return [{"result": {"text": text}} for text in found]

    return [
        gives("both-ports", parts(host, 9000, 9001), {"text": f"{HEAD}{host}:9000?push=9001"}),
        gives("ports-exchanged", parts(host, 7701, 7700), {"text": f"{HEAD}{host}:7701?push=7700"}),
        gives("ports-of-the-web", parts(host, 80, 443), {"text": f"{HEAD}{host}:80?push=443"}),
        either("default-receive-port", parts(host, 7700, 9001), *texts(with_receive)),
        either("default-push-port", parts(host, 9000, 7701), *texts(with_push)),
        either("default-ports", parts(host, 7700, 7701), *texts(defaults)),
        gives("ipv6", parts("::1", 9000, 9001), {"text": f"{HEAD}[::1]:9000?push=9001"}),
    ]


def codec_file() -> CodecFile:
    vectors = [
        Vector("ADDR-001", "A Relay Address is read", "CDC-007", "parse_relay_address", read()),
        Vector("ADDR-002", "What is no Relay Address is refused", "CDC-007", "parse_relay_address", [
            refused(name, {"text": text}, "invalid") for name, text in NOT_ONE.items()
        ]),
        Vector(
            "ADDR-003", "A Relay Address is written with its ports", "CDC-007", "format_relay_address", written(),
            "A port that is the default may be left out or written.",
        ),
    ]  # fmt: skip
    return CodecFile("relay_address.json", "Relay Addresses", vectors)
