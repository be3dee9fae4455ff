"""Noise against the published vectors, against `noiseprotocol`, and against what an attacker changes."""

from __future__ import annotations

import pytest
from noise.connection import Keypair, NoiseConnection

from reference_impl.wire.errors import NoiseError
from reference_impl.wire.noise import MAX_NONCE, NK, XX, Handshake, KeyPair, Pattern, Transport
from tests.reference_impl.noise_sides import DEVICE, RELAY, STRANGER, key

PROLOGUE = bytes.fromhex("54530001")
PATTERNS = [XX, NK]


def ours(pattern: Pattern, *, initiator: bool, prologue: bytes = PROLOGUE) -> Handshake:
    mutual = pattern is XX
    return Handshake(
        pattern,
        initiator=initiator,
        static=(DEVICE if mutual else None) if initiator else RELAY,
        remote_static=RELAY.public if initiator and not mutual else None,
        prologue=prologue,
        ephemeral=key("device ephemeral" if initiator else "relay ephemeral"),
    )


def theirs(pattern: Pattern, *, initiator: bool) -> NoiseConnection:
    oracle = NoiseConnection.from_name(pattern.protocol)
    oracle.set_prologue(PROLOGUE)
    if initiator:
        oracle.set_as_initiator()
        if pattern is XX:
            oracle.set_keypair_from_private_bytes(Keypair.STATIC, DEVICE.private)
        else:
            oracle.set_keypair_from_public_bytes(Keypair.REMOTE_STATIC, RELAY.public)
    else:
        oracle.set_as_responder()
        oracle.set_keypair_from_private_bytes(Keypair.STATIC, RELAY.private)
    ephemeral = key("device ephemeral" if initiator else "relay ephemeral")
    oracle.set_keypair_from_private_bytes(Keypair.EPHEMERAL, ephemeral.private)
    oracle.start_handshake()
    return oracle


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda each: each.name)
@pytest.mark.parametrize("we_begin", [True, False])
@pytest.mark.filterwarnings("ignore:One of ephemeral keypairs is already set")
def test_the_oracle_and_the_reference_understand_each_other(pattern: Pattern, we_begin: bool) -> None:
    mine, oracle = ours(pattern, initiator=we_begin), theirs(pattern, initiator=not we_begin)
    twin = theirs(pattern, initiator=we_begin)
    while not mine.finished:
        if mine.my_turn:
            message = mine.write_message(b"first")
            assert message == bytes(twin.write_message(b"first"))
            assert bytes(oracle.read_message(message)) == b"first"
        else:
            message = bytes(oracle.write_message(b"answer"))
            assert bytes(twin.read_message(message)) == b"answer"
            assert mine.read_message(message) == b"answer"
    assert oracle.handshake_finished
    assert mine.handshake_hash == oracle.get_handshake_hash()
    transport = mine.transport()
    for size in (0, 1, 1_000, 65_519):
        body = bytes(size)
        message = transport.encrypt(body)
        assert message == bytes(twin.encrypt(body))
        assert bytes(oracle.decrypt(message)) == body
        assert transport.decrypt(bytes(oracle.encrypt(body))) == body


def hand_over(initiator: Handshake, responder: Handshake) -> None:
    turn, other = initiator, responder
    while not turn.finished:
        other.read_message(turn.write_message())
        turn, other = other, turn


def done(pattern: Pattern) -> tuple[Transport, Transport]:
    initiator, responder = ours(pattern, initiator=True), ours(pattern, initiator=False)
    hand_over(initiator, responder)
    return initiator.transport(), responder.transport()


def messages(pattern: Pattern, payload: bytes = b"payload") -> list[bytes]:
    turn, other = ours(pattern, initiator=True), ours(pattern, initiator=False)
    found: list[bytes] = []
    while not turn.finished:
        found.append(turn.write_message(payload))
        other.read_message(found[-1])
        turn, other = other, turn
    return found


def reader_of(pattern: Pattern, number: int) -> Handshake:
    """The side that reads message `number`, fed with all before it."""
    reader = ours(pattern, initiator=number % 2 == 1)
    for earlier in messages(pattern)[:number]:
        if reader.my_turn:
            reader.write_message(b"payload")
        else:
            reader.read_message(earlier)
    if reader.my_turn:
        reader.write_message(b"payload")
    return reader


# The first message of XX is in the clear: what is changed in it shows in the second.
AUTHENTICATED = [(XX, 1), (XX, 2), (NK, 0), (NK, 1)]


@pytest.mark.parametrize(("pattern", "number"), AUTHENTICATED)
def test_each_bit_of_an_authenticated_handshake_message_counts(pattern: Pattern, number: int) -> None:
    message = messages(pattern)[number]
    assert reader_of(pattern, number).read_message(message) == b"payload"
    # The top bit of a Curve25519 key is masked in the exchange, yet hashed: it counts like every other.
    for place in range(len(message)):
        for bit in (0x01, 0x80):
            changed = bytearray(message)
            changed[place] ^= bit
            with pytest.raises(NoiseError):
                reader_of(pattern, number).read_message(bytes(changed))


@pytest.mark.parametrize(("pattern", "number"), AUTHENTICATED)
def test_a_handshake_message_cut_anywhere_is_refused(pattern: Pattern, number: int) -> None:
    message = messages(pattern)[number]
    for size in range(len(message)):
        with pytest.raises(NoiseError):
            reader_of(pattern, number).read_message(message[:size])


def test_what_is_changed_in_the_first_message_shows_in_the_second() -> None:
    first = ours(XX, initiator=True).write_message(b"payload")
    for place in range(len(first)):
        changed = bytearray(first)
        changed[place] ^= 1
        initiator, responder = ours(XX, initiator=True), ours(XX, initiator=False)
        initiator.write_message(b"payload")
        responder.read_message(bytes(changed))
        with pytest.raises(NoiseError, match="differ in key, prologue or in what was sent before"):
            initiator.read_message(responder.write_message())


@pytest.mark.parametrize(("pattern", "number"), [(XX, 0), (NK, 0)])
def test_a_first_message_shorter_than_a_key_is_refused(pattern: Pattern, number: int) -> None:
    for size in range(32):
        with pytest.raises(NoiseError, match=f"A key has 32 bytes; .* has {size}"):
            reader_of(pattern, number).read_message(bytes(size))


def test_a_key_without_a_secret_is_refused() -> None:
    with pytest.raises(NoiseError, match="no secret can be shared"):
        ours(NK, initiator=False).read_message(bytes(48))


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda each: each.name)
def test_another_prologue_is_another_session(pattern: Pattern) -> None:
    initiator = ours(pattern, initiator=True)
    responder = ours(pattern, initiator=False, prologue=bytes.fromhex("54530002"))
    with pytest.raises(NoiseError, match="prologue"):
        hand_over(initiator, responder)


def test_nk_for_another_relay_key_is_refused() -> None:
    initiator = Handshake(NK, initiator=True, remote_static=STRANGER.public)
    with pytest.raises(NoiseError, match="differ in key"):
        Handshake(NK, initiator=False, static=RELAY).read_message(initiator.write_message())


def test_each_bit_and_each_length_of_a_message_counts() -> None:
    sender, _ = done(XX)
    message = sender.encrypt(b"a frame")
    for place in range(len(message)):
        changed = bytearray(message)
        changed[place] ^= 1
        with pytest.raises(NoiseError, match="does not authenticate"):
            done(XX)[1].decrypt(bytes(changed))
    for size in range(len(message)):
        with pytest.raises(NoiseError, match=r"does not authenticate|shorter than the tag"):
            done(XX)[1].decrypt(message[:size])


def test_a_repeated_left_out_or_reordered_message_does_not_authenticate() -> None:
    sender, receiver = done(NK)
    first, second, third = (sender.encrypt(body) for body in (b"1", b"2", b"3"))
    assert receiver.decrypt(first) == b"1"
    for wrong in (first, third):
        with pytest.raises(NoiseError, match="Message 1 of 17 bytes does not authenticate"):
            receiver.decrypt(wrong)
    assert receiver.decrypt(second) == b"2"


def test_the_two_directions_have_keys_of_their_own() -> None:
    device, relay = done(XX)
    assert device.encrypt(b"same") != relay.encrypt(b"same")


def test_limits_turns_and_missing_keys() -> None:
    device, _ = done(XX)
    with pytest.raises(NoiseError, match="at most 65519 bytes; here are 65520"):
        device.encrypt(bytes(65_520))
    with pytest.raises(NoiseError, match="at most 65535 bytes"):
        ours(XX, initiator=True).write_message(bytes(65_504))
    with pytest.raises(NoiseError, match="to be read now: 0 of 3"):
        ours(XX, initiator=True).read_message(bytes(96))
    with pytest.raises(NoiseError, match="to be written now: 0 of 2"):
        ours(NK, initiator=False).write_message()
    with pytest.raises(NoiseError, match="stands at message 1 of 3"):
        ours(XX, initiator=True).transport()
    with pytest.raises(NoiseError, match="Missing: the responder's static key"):
        Handshake(NK, initiator=True)
    with pytest.raises(NoiseError, match="needs its static key"):
        Handshake(NK, initiator=False)
    with pytest.raises(NoiseError, match="32 bytes, not 31"):
        KeyPair.from_private(bytes(31))


def test_the_last_number_is_never_used() -> None:
    device, _ = done(XX)
    device._sending._next = MAX_NONCE
    with pytest.raises(NoiseError, match="all messages that its key allows"):
        device.encrypt(b"")


def test_a_key_pair_hides_its_private_half() -> None:
    pair = KeyPair.generate()
    assert pair.private.hex() not in repr(pair)
    assert KeyPair.from_private(pair.private) == pair
