"""One side of a session at a time: every cut, every refusal, every wrong turn."""

from __future__ import annotations

import pytest

from reference_impl.wire import frames
from reference_impl.wire.connection import Connection, Established, Event, FrameReceived, Kind, VersionRefused
from reference_impl.wire.errors import (
    ConnectionEndedError,
    FrameError,
    NoiseError,
    PrefixError,
    WireError,
    WrongRelayKeyError,
)
from reference_impl.wire.frames import Ack, Deliver, DeliverAck, Heartbeat, Push
from reference_impl.wire.profile import WireProfile
from tests.reference_impl.noise_sides import (
    DEVICE,
    DRAFT,
    RELAY,
    STRANGER,
    UNVERSIONED,
    established,
    exchange,
    key,
    sides,
)

KINDS: list[Kind] = ["receive", "push"]
PROFILES = [DRAFT, UNVERSIONED]
SENT: list[frames.Frame] = [Push(bytes(32), b"envelope"), Heartbeat(), DeliverAck(7), frames.UnknownFrame(9, b"?")]


def heard(kind: Kind, profile: WireProfile) -> tuple[bytes, bytes]:
    """Everything that the relay hears in one whole session, and everything that the device does."""
    device, relay = sides(kind, profile)
    to_relay = to_device = b""
    while not (device.established and relay.established):
        there = device.data_to_send()
        relay.receive_data(there)
        back = relay.data_to_send()
        device.receive_data(back)
        to_relay, to_device = to_relay + there, to_device + back
    for frame in SENT:
        device.send(frame)
        relay.send(frame)
    return to_relay + device.data_to_send(), to_device + relay.data_to_send()


@pytest.mark.parametrize("profile", PROFILES, ids=lambda each: each.name)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("portion", [1, 2, 3, 7, 50, 100_000])
def test_the_cuts_make_no_difference(kind: Kind, profile: WireProfile, portion: int) -> None:
    to_relay, to_device = heard(kind, profile)
    device, relay = sides(kind, profile)
    received = [FrameReceived(frame) for frame in SENT]
    known = DEVICE.public if kind == "receive" else None
    assert fed(relay, to_relay, portion) == [Established(known), *received]
    assert fed(device, to_device, portion) == [Established(RELAY.public), *received]
    assert (device.remote_pub, relay.remote_pub) == (RELAY.public, known)


def fed(side: Connection, data: bytes, portion: int) -> list[Event]:
    events: list[Event] = []
    for start in range(0, len(data), portion):
        events += side.receive_data(data[start : start + portion])
    return events


@pytest.mark.parametrize("kind", KINDS)
def test_an_end_is_told_unless_it_falls_between_two_messages(kind: Kind) -> None:
    to_relay, _ = heard(kind, DRAFT)
    clean = []
    for size in range(len(to_relay) + 1):
        relay = sides(kind)[1]
        relay.receive_data(to_relay[:size])
        try:
            relay.receive_eof()
            clean.append(size)
        except ConnectionEndedError:
            assert not relay.established
    sizes = [len(frames.encode(frame)) + 18 for frame in SENT]
    assert clean == [len(to_relay) - sum(sizes[place:]) for place in range(5)]


def test_the_bytes_of_a_connection_are_prefix_lengths_and_messages() -> None:
    device, relay = sides("push")
    first = device.data_to_send()
    assert first[:6].hex() == "54530001" + "0030"
    assert len(first) == 6 + 48
    relay.receive_data(first)
    assert len(relay.data_to_send()) == 2 + 48
    device, relay = sides("receive", UNVERSIONED)
    first = device.data_to_send()
    assert first[:2].hex() == "0020"
    assert len(first) == 2 + 32
    relay.receive_data(first)
    answer = relay.data_to_send()
    assert len(answer) == 2 + 96
    device.receive_data(answer)
    assert len(device.data_to_send()) == 2 + 64


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", [0, 2, 3, 65_535])
@pytest.mark.parametrize("portion", [1, 1_000])
def test_an_unsupported_version_is_refused_in_plain_text(kind: Kind, version: int, portion: int) -> None:
    device = Connection.initiator(DRAFT, kind, RELAY.public, DEVICE, transport_version=version)
    relay = Connection.responder(DRAFT, kind, RELAY, supported=(1, 1))
    assert fed(relay, device.data_to_send(), portion) == [VersionRefused(1, 1)]
    answer = relay.data_to_send()
    assert answer == b"unsupported 1..1\n"
    assert fed(device, answer, portion) == [VersionRefused(1, 1)]
    assert not device.established
    assert not relay.established
    with pytest.raises(ConnectionEndedError, match=r"speaks the Transport Versions 1\.\.1 only"):
        device.send(Heartbeat())
    device.receive_eof()
    relay.receive_eof()


@pytest.mark.parametrize("version", [2, 3, 5])
def test_each_supported_version_is_bound_into_the_handshake(version: int) -> None:
    device = Connection.initiator(DRAFT, "push", RELAY.public, transport_version=version)
    relay = Connection.responder(DRAFT, "push", RELAY, supported=(2, 5))
    first = device.data_to_send()
    relay.receive_data(first)
    assert device.receive_data(relay.data_to_send()) == [Established(RELAY.public)]
    changed = first[:3] + bytes([4]) + first[4:]
    with pytest.raises(NoiseError, match="prologue"):
        Connection.responder(DRAFT, "push", RELAY, supported=(2, 5)).receive_data(changed)


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n", b"\x16\x03\x01", b"TT", b"\0", b"tS"])
def test_what_is_no_prefix_is_refused_at_its_first_wrong_byte(garbage: bytes) -> None:
    relay = sides("receive")[1]
    with pytest.raises(PrefixError, match="begins with 5453"):
        relay.receive_data(garbage)
    assert relay.data_to_send() == b""
    with pytest.raises(ConnectionEndedError, match="the other side broke the wire"):
        relay.receive_data(b"TS")


NO_REFUSALS = [
    b"unsupported 2..1\n",
    b"unsupported 1-2\n",
    b"unsupported 01..2\n",
    b"unsupported 1..65536\n",
    b"unsupported 1..2\r\n",
    b"unsupported " + b"1" * 40,
]


@pytest.mark.parametrize("answer", NO_REFUSALS)
def test_a_refusal_that_says_nothing_is_an_error(answer: bytes) -> None:
    device = sides("receive")[0]
    with pytest.raises(PrefixError, match="A refusal reads"):
        fed(device, answer, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_relay_with_another_key_is_refused(kind: Kind) -> None:
    device = Connection.initiator(DRAFT, kind, RELAY.public, DEVICE)
    relay = Connection.responder(DRAFT, kind, STRANGER)
    expected = WrongRelayKeyError if kind == "receive" else NoiseError
    with pytest.raises(expected):
        exchange(device, relay)
    assert not device.established
    assert device.data_to_send() == b""  # the device has not told its key


@pytest.mark.parametrize("profile", PROFILES, ids=lambda each: each.name)
def test_the_two_profiles_do_not_mix(profile: WireProfile) -> None:
    device, relay = sides("push", profile)[0], sides("push", UNVERSIONED if profile is DRAFT else DRAFT)[1]
    with pytest.raises(WireError, match=r"begins with 5453|before the handshake was done"):
        whole_stream(relay, device.data_to_send())


def whole_stream(side: Connection, data: bytes) -> None:
    side.receive_data(data)
    side.receive_eof()


def test_events_before_an_error_are_not_lost() -> None:
    device, relay = established("push")
    device.send(Heartbeat())
    good = device.data_to_send()
    with pytest.raises(NoiseError, match="does not authenticate") as caught:
        relay.receive_data(good + b"\x00\x10" + bytes(16) + good)
    assert caught.value.before == (FrameReceived(Heartbeat()),)
    assert not relay.established
    with pytest.raises(ConnectionEndedError):
        relay.receive_data(b"")
    with pytest.raises(ConnectionEndedError):
        relay.send(Ack())


@pytest.mark.parametrize("size", [0, 1, 15])
def test_a_message_shorter_than_its_tag_is_refused(size: int) -> None:
    relay = established("receive")[1]
    with pytest.raises(NoiseError, match=f"A message of {size} bytes is shorter than the tag of 16"):
        relay.receive_data(size.to_bytes(2, "big") + bytes(size))


def test_a_plaintext_that_is_no_frame_is_refused_and_names_no_content() -> None:
    device, relay = established("push")
    device.send_plaintext(b"\x01\x00\x00\x00\x05hidden")
    with pytest.raises(FrameError, match="states a body of 5 bytes, and 6 follow") as caught:
        relay.receive_data(device.data_to_send())
    assert "hidden" not in str(caught.value)


def test_the_largest_envelope_goes_through() -> None:
    device, relay = established("push")
    push = Push(bytes(32), bytes(65_482))
    device.send(push)
    data = device.data_to_send()
    assert data[:2] == b"\xff\xff"
    assert relay.receive_data(data) == [FrameReceived(push)]
    relay.send(Deliver(1, bytes(65_482)))
    assert device.receive_data(relay.data_to_send()) == [FrameReceived(Deliver(1, bytes(65_482)))]


def test_a_payload_in_a_handshake_message_is_ignored() -> None:
    from reference_impl.wire.noise import NK, Handshake

    prefix = bytes.fromhex("54530001")
    device = Handshake(NK, initiator=True, remote_static=RELAY.public, prologue=prefix, ephemeral=key("e"))
    message = device.write_message(b"of no meaning")
    relay = sides("push")[1]
    assert relay.receive_data(prefix + len(message).to_bytes(2, "big") + message) == [Established(None)]


def test_nothing_can_be_sent_too_early_or_by_nobody() -> None:
    device, _ = sides("push")
    with pytest.raises(ConnectionEndedError, match="the handshake is not done"):
        device.send(Heartbeat())
    with pytest.raises(NoiseError, match="needs its own key pair"):
        Connection.initiator(DRAFT, "receive", RELAY.public)
    with pytest.raises(PrefixError, match="unsigned 16-bit number, not 65536"):
        Connection.initiator(DRAFT, "push", RELAY.public, transport_version=65_536)
    with pytest.raises(NoiseError, match="has 31"):
        Connection.initiator(DRAFT, "push", RELAY.public[:31])
