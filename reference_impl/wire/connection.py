"""One side of one session, on bytes: version prefix, handshake and frames, without a socket.

Bytes that arrived go into `receive_data`, which gives what they mean; bytes to send come out of `data_to_send`. How the
bytes are cut up makes no difference (RLY-019).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from reference_impl.wire import frames, version_prefix
from reference_impl.wire.errors import ConnectionEndedError, NoiseError, WireError, WrongRelayKeyError
from reference_impl.wire.frames import Frame
from reference_impl.wire.noise import NK, XX, Handshake, KeyPair, Transport
from reference_impl.wire.profile import WireProfile

Kind = Literal["receive", "push"]
LENGTH_BYTES = 2

_PATTERNS = {"receive": XX, "push": NK}


@dataclass(frozen=True, slots=True)
class Established:
    """The handshake is done. `remote_pub` is the other side's proven key, `None` for who pushes anonymously."""

    remote_pub: bytes | None


@dataclass(frozen=True, slots=True)
class FrameReceived:
    """One frame came."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class VersionRefused:
    """The relay speaks the Transport Versions from `min` to `max`, and the device's is none of them: it is over.

    Both sides get it; the responder's refusal waits in `data_to_send`.
    """

    min: int
    max: int


Event = Established | FrameReceived | VersionRefused


class Connection:
    """See the module. Made by `initiator` (a Device) or `responder` (a Relay)."""

    __slots__ = (
        "_broken",
        "_buffer",
        "_events",
        "_handshake",
        "_make_handshake",
        "_outgoing",
        "_over",
        "_profile",
        "_relay_pub",
        "_step",
        "_supported",
        "_transport",
        "remote_pub",
        "transport_version",
    )

    def __init__(
        self, profile: WireProfile, handshake: Callable[[bytes], Handshake], supported: tuple[int, int]
    ) -> None:
        self._profile = profile
        self._supported = supported
        self._relay_pub: bytes | None = None
        self._make_handshake = handshake
        self._handshake: Handshake | None = None
        self._transport: Transport | None = None
        self._step = Connection._read_prefix if profile.version_prefix else Connection._read_handshake
        self._buffer = bytearray()
        self._outgoing: list[bytes] = []
        self._events: list[Event] = []
        self._over = ""
        self._broken = False
        self.remote_pub: bytes | None = None
        """The other side's proven long-term key: the Relay's, or the Device's on a Receive Session."""
        self.transport_version = 1
        """What the Device announces (RLY-017); 1 until it has, and for a profile in which nobody does."""

    @classmethod
    def initiator(  # noqa: PLR0913 - what a session is made of
        cls,
        profile: WireProfile,
        kind: Kind,
        relay_pub: bytes,
        own: KeyPair | None = None,
        *,
        transport_version: int = 1,
        ephemeral: KeyPair | None = None,
    ) -> Connection:
        """The Device's side; its first bytes are ready at once. `own` is its Noise key, needed on a Receive Session.

        Raises WireError for a key of the wrong length, or none where one is needed.
        """
        if kind == "receive" and own is None:
            raise NoiseError("A Receive Session is mutual: the initiator needs its own key pair.")

        def made(prologue: bytes) -> Handshake:
            return Handshake(
                _PATTERNS[kind],
                initiator=True,
                static=own if kind == "receive" else None,
                remote_static=relay_pub if kind == "push" else None,
                prologue=prologue,
                ephemeral=ephemeral,
            )

        connection = cls(profile, made, (transport_version, transport_version))
        connection._relay_pub = relay_pub
        connection.transport_version = transport_version
        connection._begin(version_prefix.encode_prefix(profile, transport_version))
        return connection

    @classmethod
    def responder(
        cls,
        profile: WireProfile,
        kind: Kind,
        relay_key: KeyPair,
        supported: tuple[int, int] = (1, 1),
        *,
        ephemeral: KeyPair | None = None,
    ) -> Connection:
        """The Relay's side. `supported` are the lowest and the highest Transport Version that it speaks."""

        def made(prologue: bytes) -> Handshake:
            return Handshake(_PATTERNS[kind], initiator=False, static=relay_key, prologue=prologue, ephemeral=ephemeral)

        return cls(profile, made, supported)

    @property
    def established(self) -> bool:
        """Whether the handshake is done and frames can be sent."""
        return self._transport is not None and not self._over

    def receive_data(self, data: bytes) -> list[Event]:
        """Take bytes that arrived, in any portions; give the events that they complete.

        Raises a WireError for bytes that break the wire, with the events before them in its `before`; the connection is
        then over, and a later call raises ConnectionEndedError. What comes behind a refused version is ignored.
        """
        if self._broken:
            raise ConnectionEndedError(f"The connection is over: {self._over}.")
        self._buffer += data
        start = 0
        try:
            while not self._over and (used := self._step(self, start)):
                start += used
        except WireError as error:
            self._broken, self._over = True, "the other side broke the wire"
            error.before = self._taken_events()
            raise
        del self._buffer[: len(self._buffer) if self._over else start]
        return list(self._taken_events())

    def receive_eof(self) -> None:
        """The other side ended its stream. Raises ConnectionEndedError if it did so within a message or a handshake."""
        if self._over:
            return
        self._over = "the other side closed it"
        if self._transport is None:
            raise ConnectionEndedError("The other side closed the connection before the handshake was done.")
        if self._buffer:
            raise ConnectionEndedError(
                f"The other side closed the connection {len(self._buffer)} bytes into a message."
            )

    def send(self, frame: Frame) -> None:
        """Put a frame into `data_to_send`. Raises FrameError if it does not fit, else ConnectionEndedError."""
        self.send_plaintext(frames.encode(frame))

    def send_plaintext(self, plaintext: bytes) -> None:
        """Encrypt and send these bytes whatever they are: for those who test what the other side makes of them."""
        if self._transport is None or self._over:
            raise ConnectionEndedError(f"Nothing can be sent: {self._over or 'the handshake is not done'}.")
        self._queue(self._transport.encrypt(plaintext))

    def data_to_send(self) -> bytes:
        """Everything that is to be sent and was not yet fetched."""
        data = b"".join(self._outgoing)
        self._outgoing.clear()
        return data

    def _taken_events(self) -> tuple[Event, ...]:
        events = tuple(self._events)
        self._events.clear()
        return events

    def _queue(self, message: bytes) -> None:
        self._outgoing.append(len(message).to_bytes(LENGTH_BYTES, "big"))
        self._outgoing.append(message)

    def _begin(self, prefix: bytes) -> None:
        """The initiator speaks first; the relay answers with a handshake message or refuses the version."""
        self._handshake = self._make_handshake(prefix)
        self._outgoing.append(prefix)
        self._queue(self._handshake.write_message())
        self._step = Connection._read_refusal if prefix else Connection._read_handshake

    # -- steps: each looks at what has arrived from `start` on, and says how many bytes it took; none: it waits for more

    def _read_prefix(self, start: int) -> int:
        profile = self._profile
        prefix = bytes(self._buffer[start : start + profile.prefix_bytes])
        version = version_prefix.decode_prefix(profile, prefix)
        if version is None:
            return 0
        self.transport_version = version
        lowest, highest = self._supported
        if lowest <= version <= highest:
            self._handshake = self._make_handshake(prefix)
            self._step = Connection._read_handshake
        else:
            self._outgoing.append(version_prefix.encode_refusal(lowest, highest))
            self._refused(lowest, highest)
        return len(prefix)

    def _read_refusal(self, start: int) -> int:
        begun = bytes(self._buffer[start : start + version_prefix.MAX_REFUSAL])
        if not version_prefix.is_refusal_begun(begun):
            self._step = Connection._read_handshake
            return self._read_handshake(start)
        bounds = version_prefix.decode_refusal(begun)
        if bounds is None:
            return 0
        self._refused(*bounds)
        return len(begun)

    def _refused(self, lowest: int, highest: int) -> None:
        self._events.append(VersionRefused(lowest, highest))
        self._over = f"the relay speaks the Transport Versions {lowest}..{highest} only"

    def _read_handshake(self, start: int) -> int:
        message = self._message(start)
        if message is None:
            return 0
        if self._handshake is None:  # the first message of a profile without a prefix
            self._handshake = self._make_handshake(b"")
        handshake = self._handshake
        handshake.read_message(bytes(message))
        if self._relay_pub is not None and handshake.remote_static != self._relay_pub:
            raise WrongRelayKeyError("The relay proved a key that is not the one of its Relay Address.")
        if handshake.my_turn:
            self._queue(handshake.write_message())
        if handshake.finished:
            self._establish(handshake)
        return LENGTH_BYTES + len(message)

    def _establish(self, handshake: Handshake) -> None:
        self._transport = handshake.transport()
        self._handshake = None
        self._step = Connection._read_frame
        self.remote_pub = handshake.remote_static
        self._events.append(Established(self.remote_pub))

    def _read_frame(self, start: int) -> int:
        message = self._message(start)
        if message is None or self._transport is None:
            return 0
        self._events.append(FrameReceived(frames.decode(self._transport.decrypt(message))))
        return LENGTH_BYTES + len(message)

    def _message(self, start: int) -> bytearray | None:
        """The Noise message that begins there, without its length, once it is whole."""
        buffer = self._buffer
        begin = start + LENGTH_BYTES
        if len(buffer) < begin:
            return None
        end = begin + (buffer[start] << 8 | buffer[start + 1])
        return buffer[begin:end] if len(buffer) >= end else None
