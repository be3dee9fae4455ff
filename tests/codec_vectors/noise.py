"""CDC-002: the published vectors, and sessions computed by `noiseprotocol`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from noise.connection import Keypair, NoiseConnection

from reference_impl.wire.json_types import JsonObject
from tests.codec_vectors.published import PUBLISHED, Published
from tests.codec_vectors.writing import CodecFile, Vector, cut, gives, refused

Pattern = Literal["XX", "NK"]
PROLOGUE = "54530001"
PATTERNS: tuple[Pattern, ...] = ("XX", "NK")
FRAMES = ("0300000000", "0400000000", "0600000008000000000000002a")


def private(name: str) -> str:
    return sha256(f"codec vectors, {name}".encode()).hexdigest()


def public(key: str) -> str:
    return X25519PrivateKey.from_private_bytes(bytes.fromhex(key)).public_key().public_bytes_raw().hex()


DEVICE, RELAY, STRANGER = private("device"), private("relay"), private("stranger")
EPHEMERALS = {"initiator": private("initiator's ephemeral"), "responder": private("responder's ephemeral")}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A session: every payload with the message it went in, alternating from the initiator's first."""

    payloads: tuple[str, ...]
    messages: tuple[str, ...]
    hash: str
    handshake: int


def oracle(pattern: Pattern, side: str) -> NoiseConnection:
    made = NoiseConnection.from_name(f"Noise_{pattern}_25519_ChaChaPoly_BLAKE2s".encode())
    made.set_prologue(bytes.fromhex(PROLOGUE))
    own = RELAY if side == "responder" else DEVICE
    if side == "initiator":
        made.set_as_initiator()
    else:
        made.set_as_responder()
    if side == "responder" or pattern == "XX":
        made.set_keypair_from_private_bytes(Keypair.STATIC, bytes.fromhex(own))
    else:
        made.set_keypair_from_public_bytes(Keypair.REMOTE_STATIC, bytes.fromhex(public(RELAY)))
    made.set_keypair_from_private_bytes(Keypair.EPHEMERAL, bytes.fromhex(EPHEMERALS[side]))
    with warnings.catch_warnings():  # it warns of fixed ephemerals, which are the point here
        warnings.simplefilter("ignore", UserWarning)
        made.start_handshake()
    return made


def session(pattern: Pattern) -> Recorded:
    """A handshake with empty payloads, then one frame after the other in turn."""
    turn, other = oracle(pattern, "initiator"), oracle(pattern, "responder")
    payloads: list[str] = []
    messages: list[str] = []
    while not turn.handshake_finished:
        messages.append(bytes(turn.write_message()).hex())
        payloads.append("")
        other.read_message(bytes.fromhex(messages[-1]))
        turn, other = other, turn
    handshake = len(messages)
    for payload in FRAMES:
        messages.append(bytes(turn.encrypt(bytes.fromhex(payload))).hex())
        payloads.append(payload)
        assert bytes(other.decrypt(bytes.fromhex(messages[-1]))).hex() == payload
        turn, other = other, turn
    return Recorded(tuple(payloads), tuple(messages), turn.get_handshake_hash().hex(), handshake)


def side_of(recorded: Recorded, side: str) -> list[JsonObject]:
    """What that side writes and reads."""
    mine = 0 if side == "initiator" else 1
    pairs = zip(recorded.payloads, recorded.messages, strict=True)
    return [
        {"write": payload} if place % 2 == mine else {"read": message} for place, (payload, message) in enumerate(pairs)
    ]


def outcome_of(recorded: Recorded, side: str) -> list[str]:
    mine = 0 if side == "initiator" else 1
    pairs = zip(recorded.payloads, recorded.messages, strict=True)
    return [message if place % 2 == mine else payload for place, (payload, message) in enumerate(pairs)]


def setting(pattern: Pattern, side: str, messages: list[JsonObject]) -> JsonObject:
    has_static = side == "responder" or pattern == "XX"
    knows = side == "initiator" and pattern == "NK"
    return {
        "pattern": pattern,
        "side": side,
        "prologue": PROLOGUE,
        "static": (RELAY if side == "responder" else DEVICE) if has_static else None,
        "remote_static": public(RELAY) if knows else None,
        "ephemeral": EPHEMERALS[side],
        "messages": list(messages),
    }


def remote_of(pattern: Pattern, side: str) -> str | None:
    if side == "initiator":
        return public(RELAY)
    return public(DEVICE) if pattern == "XX" else None


def whole(pattern: Pattern) -> list[JsonObject]:
    recorded = session(pattern)
    return [
        gives(
            f"{pattern.lower()}-{side}",
            setting(pattern, side, side_of(recorded, side)),
            {
                "messages": list(outcome_of(recorded, side)),
                "handshake_hash": recorded.hash,
                "remote_static": remote_of(pattern, side),
            },
        )
        for side in ("initiator", "responder")
    ]


def published(vector: Published, pattern: Pattern) -> list[JsonObject]:
    payloads = tuple(message["payload"] for message in vector.messages)
    messages = tuple(message["ciphertext"] for message in vector.messages)
    recorded = Recorded(payloads, messages, vector.handshake_hash, 0)
    known = {"initiator": vector.init_static, "responder": vector.resp_static}
    rows = []
    for side in ("initiator", "responder"):
        other = vector.resp_static if side == "initiator" else vector.init_static
        params: JsonObject = {
            "pattern": pattern,
            "side": side,
            "prologue": vector.prologue,
            "static": known[side],
            "remote_static": public(vector.resp_static) if side == "initiator" and pattern == "NK" else None,
            "ephemeral": vector.init_ephemeral if side == "initiator" else vector.resp_ephemeral,
            "messages": list(side_of(recorded, side)),
        }
        result: JsonObject = {
            "messages": list(outcome_of(recorded, side)),
            "handshake_hash": vector.handshake_hash,
            "remote_static": None if other is None else public(other),
        }
        rows.append(gives(f"{pattern.lower()}-{side}", params, result))
    return rows


# Which bytes of each message are what; the first message of XX is in the clear, and shows in the second.
PARTS: dict[tuple[Pattern, int], dict[str, int]] = {
    ("XX", 1): {"ephemeral-key": 0, "end-of-the-ephemeral-key": 30, "static-key": 32, "tag-of-the-key": 64, "tag": 95},
    ("XX", 2): {"static-key": 0, "tag-of-the-key": 32, "tag": 63},
    ("NK", 0): {"ephemeral-key": 0, "tag": 32, "last-byte-of-the-tag": 47},
    ("NK", 1): {"ephemeral-key": 0, "tag": 47},
    ("XX", 3): {"ciphertext": 0, "tag": 20},
    ("NK", 3): {"ciphertext": 0, "tag": 20},
}  # fmt: skip


def flipped(message: str, place: int) -> str:
    data = bytearray.fromhex(message)
    data[place] ^= 0x01
    return data.hex()


def reading(pattern: Pattern, number: int, message: str) -> JsonObject:
    """The side that reads message `number`, with everything before it, given that message instead."""
    recorded = session(pattern)
    side = "responder" if number % 2 == 0 else "initiator"
    entries = side_of(recorded, side)[:number]
    return setting(pattern, side, [*entries, {"read": message}])


def tampered() -> list[JsonObject]:
    rows: list[JsonObject] = []
    for (pattern, number), parts in PARTS.items():
        message = session(pattern).messages[number]
        for name, place in parts.items():
            params = reading(pattern, number, flipped(message, place))
            rows.append(refused(f"{pattern.lower()}-message-{number + 1}-{name}", params, "unauthenticated"))
    first = session("XX").messages[0]
    entries: list[JsonObject] = [{"read": flipped(first, 0)}, {"write": ""}, {"read": session("XX").messages[2]}]
    rows.append(refused("xx-message-1-shows-in-message-3", setting("XX", "responder", entries), "unauthenticated"))
    return rows


def shortened() -> list[JsonObject]:
    rows: list[JsonObject] = []
    for pattern, count in (("XX", 5), ("NK", 4)):
        name: Pattern = "XX" if pattern == "XX" else "NK"
        for number in range(count):
            params = reading(name, number, session(name).messages[number])
            path = f"messages.{number}.read"
            rows.append(
                cut(
                    f"{pattern.lower()}-message-{number + 1}-at-every-byte",
                    params,
                    path,
                    "unauthenticated",
                    "malformed",
                )
            )
    return rows


def misplaced() -> list[JsonObject]:
    rows: list[JsonObject] = []
    for pattern in PATTERNS:
        recorded = session(pattern)
        last = recorded.handshake + 1 if recorded.handshake % 2 == 1 else recorded.handshake
        entries = side_of(recorded, "initiator")
        read = next(place for place, entry in enumerate(entries) if place >= last and "read" in entry)
        done = entries[: read + 1]
        again = setting(pattern, "initiator", [*done, {"read": recorded.messages[read]}])
        rows.append(refused(f"{pattern.lower()}-message-repeated", again, "unauthenticated"))
        own = setting(pattern, "initiator", [*entries[:read], {"read": own_message(recorded, entries, read)}])
        rows.append(refused(f"{pattern.lower()}-own-message-sent-back", own, "unauthenticated"))
    return rows


def own_message(recorded: Recorded, entries: list[JsonObject], before: int) -> str:
    """A transport message that the initiator itself wrote; where it wrote none yet, its last handshake message."""
    wrote = [place for place, entry in enumerate(entries[:before]) if "write" in entry]
    return recorded.messages[wrote[-1]]


def other_prologue() -> list[JsonObject]:
    rows: list[JsonObject] = []
    for pattern, number in (("XX", 1), ("NK", 0)):
        name: Pattern = "XX" if pattern == "XX" else "NK"
        for words, prologue in (("empty", ""), ("of-version-2", "54530002"), ("with-a-byte-more", "5453000100")):
            params = reading(name, number, session(name).messages[number])
            rows.append(
                refused(f"{pattern.lower()}-prologue-{words}", {**params, "prologue": prologue}, "unauthenticated")
            )
    return rows


def other_key() -> list[JsonObject]:
    responder = reading("NK", 0, session("NK").messages[0])
    initiator = reading("NK", 1, session("NK").messages[1])
    return [
        refused("nk-responder-with-another-key", {**responder, "static": STRANGER}, "unauthenticated"),
        refused(
            "nk-initiator-that-knows-another-key", {**initiator, "remote_static": public(STRANGER)}, "unauthenticated"
        ),
    ]


def codec_file() -> CodecFile:
    method = "noise_handshake"
    xx, nk = published(PUBLISHED["XX"], "XX"), published(PUBLISHED["NK"], "NK")
    own = [*whole("XX"), *whole("NK")]
    vectors = [
        Vector("NOISE-001", "The published handshake and messages of XX", "CDC-002", method, xx),
        Vector("NOISE-002", "The published handshake and messages of NK", "CDC-002", method, nk),
        Vector("NOISE-003", "A session with the version prefix as its prologue", "CDC-002", method, own),
        Vector("NOISE-004", "A message that was changed is refused", "CDC-002", method, tampered()),
        Vector("NOISE-005", "A message that was cut off is refused", "CDC-002", method, shortened()),
        Vector("NOISE-006", "A message out of its place is refused", "CDC-002", method, misplaced()),
        Vector("NOISE-007", "Another prologue is refused", "CDC-002", method, other_prologue()),
        Vector("NOISE-008", "A session for another relay key is refused", "CDC-002", method, other_key()),
    ]  # fmt: skip
    origin: JsonObject = {
        "source": "NOISE-001 and NOISE-002: github.com/centromere/cacophony, vectors/cacophony.txt; else the kit's own",
        "license": "NOISE-001 and NOISE-002: Unlicense (public domain)",
    }
    return CodecFile("noise.json", "Noise sessions: XX and NK with 25519, ChaChaPoly and BLAKE2s", vectors, origin)
