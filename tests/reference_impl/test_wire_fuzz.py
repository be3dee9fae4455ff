"""100,000 random and mutated inputs: a parser of the wire answers each, or raises a WireError and nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from reference_impl.wire import frames, relay_address, version_prefix
from reference_impl.wire.connection import Connection, Kind
from reference_impl.wire.errors import WireError
from reference_impl.wire.frames import Ack, Deliver, DeliverAck, Error, Frame, Heartbeat, Push
from reference_impl.wire.noise import NK, XX, Handshake
from tests.reference_impl.noise_sides import DEVICE, DRAFT, RELAY, established, key, sides

SEED = 20_261_201
KINDS: list[Kind] = ["receive", "push"]
FRAMES: list[Frame] = [
    Push(bytes(32), b"envelope"),
    Deliver(7, b"envelope"),
    Heartbeat(),
    Ack(),
    Error(b"\x10"),
    DeliverAck(7),
]
ADDRESS = f"trueseal://{'ab' * 32}@relay.example:7700?push=7701"


def mutated(random_: random.Random, sample: bytes) -> bytes:
    """The sample with a few bytes changed, inserted, left out, cut or repeated; or no sample at all."""
    if random_.random() < 0.1:
        return random_.randbytes(random_.randrange(0, 200))
    data = bytearray(sample)
    for _ in range(random_.randrange(1, 4)):
        place = random_.randrange(len(data) + 1)
        change = random_.randrange(5)
        if change == 0 and place < len(data):
            data[place] = random_.choice((0, 1, 0x7F, 0x80, 0xFF, random_.randrange(256)))
        elif change == 1:
            data[place:place] = random_.randbytes(random_.randrange(1, 5))
        elif change == 2:
            del data[place : place + random_.randrange(1, 5)]
        elif change == 3:
            del data[place:]
        else:
            data += data[:place]
    return bytes(data)


def read_frame(random_: random.Random) -> None:
    frames.decode(mutated(random_, frames.encode(random_.choice(FRAMES))))


def read_prefix(random_: random.Random) -> None:
    version_prefix.decode_prefix(DRAFT, mutated(random_, b"TS\x00\x01"))


def read_refusal(random_: random.Random) -> None:
    version_prefix.decode_refusal(mutated(random_, b"unsupported 1..2\n"))


def read_address(random_: random.Random) -> None:
    relay_address.parse(mutated(random_, ADDRESS.encode()).decode("utf-8", "surrogateescape"))


def read_first_message(random_: random.Random) -> None:
    pattern = random_.choice((XX, NK))
    known = RELAY.public if pattern is NK else None
    ephemeral = key("device ephemeral")
    first = Handshake(pattern, initiator=True, static=DEVICE, remote_static=known, ephemeral=ephemeral)
    relay = Handshake(pattern, initiator=False, static=RELAY, ephemeral=key("relay ephemeral"))
    relay.read_message(mutated(random_, first.write_message()))
    relay.write_message()


def read_answer(random_: random.Random) -> None:
    device = Handshake(NK, initiator=True, remote_static=RELAY.public, ephemeral=key("device ephemeral"))
    device.write_message()
    device.read_message(mutated(random_, bytes(48)))


@pytest.mark.parametrize(
    ("read", "count"),
    [
        (read_frame, 40_000),
        (read_prefix, 10_000),
        (read_refusal, 10_000),
        (read_address, 20_000),
        (read_first_message, 3_000),
        (read_answer, 2_000),
    ],
)
def test_a_parser_raises_nothing_but_wire_errors(read: Callable[[random.Random], None], count: int) -> None:
    print(f"seed {SEED}")
    random_ = random.Random(SEED)  # noqa: S311 - repeatable, no secret
    refused = 0
    for _ in range(count):
        try:
            read(random_)
        except WireError:
            refused += 1
    assert count // 4 < refused


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at_device", [True, False])
def test_a_fresh_connection_raises_nothing_but_wire_errors(kind: Kind, at_device: bool) -> None:
    print(f"seed {SEED}")
    random_ = random.Random(SEED)  # noqa: S311 - repeatable, no secret
    device, relay = sides(kind)
    sample = device.data_to_send()
    if at_device:
        relay.receive_data(sample)
        sample = relay.data_to_send()
    refused = 0
    for _ in range(1_000):
        device, relay = sides(kind)
        refused += feed(random_, device if at_device else relay, mutated(random_, sample))
    assert refused > 100


@pytest.mark.parametrize("kind", KINDS)
def test_an_established_connection_raises_nothing_but_wire_errors(kind: Kind) -> None:
    """Plaintexts are spoilt before they are encrypted, so that they reach the frames; some messages afterwards."""
    print(f"seed {SEED}")
    random_ = random.Random(SEED)  # noqa: S311 - repeatable, no secret
    device, relay = established(kind)
    refused, whole = 0, True
    for _ in range(5_500):
        if not whole:  # after a changed length a side may wait for bytes that never come
            device, relay = established(kind)
        whole = random_.random() < 0.9
        device.send_plaintext(mutated(random_, frames.encode(random_.choice(FRAMES))))
        data = device.data_to_send()
        if feed(random_, relay, data if whole else mutated(random_, data)):
            refused, whole = refused + 1, False
    assert refused > 4_000


def feed(random_: random.Random, side: Connection, data: bytes) -> bool:
    cut = random_.randrange(len(data) + 1)
    try:
        side.receive_data(data[:cut])
        side.receive_data(data[cut:])
    except WireError:
        return True
    return False
