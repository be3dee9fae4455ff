"""What bytes from a wire can be: wrong, in one of these ways and in no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_impl.wire.connection import Event


class WireError(ValueError):
    """Bytes, or a text, that do not follow the wire profile. The text says what is wrong and where.

    `before` holds the events of a `Connection` that the same portion of bytes completed before what was wrong in it.
    """

    before: tuple[Event, ...] = ()


class ProfileError(WireError):
    """A wire profile that does not exist, or a word that the profile does not have."""


class FrameError(WireError):
    """Bytes that are no frame, or a frame that fits in no Noise message (CDC-001)."""


class NoiseError(WireError):
    """A Noise message that does not authenticate, has an impossible length or comes out of turn (CDC-002)."""


class WrongRelayKeyError(NoiseError):
    """The other side proved a key, and it is not that of the Relay Address."""


class PrefixError(WireError):
    """Bytes before the handshake that are neither a version prefix nor a refusal of one (CDC-003)."""


class RelayAddressError(WireError):
    """A text that is no Relay Address (CDC-007)."""


class ConnectionEndedError(WireError):
    """The bytes ended inside a message, or something was asked of a connection that is over or not yet there."""
