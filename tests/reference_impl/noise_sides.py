"""Both sides of a session for the tests of the wire, with keys that are always the same."""

from __future__ import annotations

from hashlib import sha256

from reference_impl.wire.connection import Connection, Event, Kind
from reference_impl.wire.noise import KeyPair
from reference_impl.wire.profile import WireProfile, load_profile

DRAFT, UNVERSIONED = load_profile("draft-1"), load_profile("unversioned")


def key(name: str) -> KeyPair:
    return KeyPair.from_private(sha256(name.encode()).digest())


RELAY, DEVICE, STRANGER = key("relay"), key("device"), key("stranger")


def sides(kind: Kind, profile: WireProfile = DRAFT) -> tuple[Connection, Connection]:
    """A device and a relay that have not yet exchanged a byte; every run sends the same bytes."""
    device = Connection.initiator(profile, kind, RELAY.public, DEVICE, ephemeral=key("device ephemeral"))
    return device, Connection.responder(profile, kind, RELAY, ephemeral=key("relay ephemeral"))


def exchange(device: Connection, relay: Connection) -> tuple[list[Event], list[Event]]:
    """Carry bytes until there are no more; the events of the device and of the relay."""
    at_device: list[Event] = []
    at_relay: list[Event] = []
    while there := device.data_to_send():
        at_relay += relay.receive_data(there)
        at_device += device.receive_data(relay.data_to_send())
    return at_device, at_relay


def established(kind: Kind, profile: WireProfile = DRAFT) -> tuple[Connection, Connection]:
    device, relay = sides(kind, profile)
    exchange(device, relay)
    return device, relay
