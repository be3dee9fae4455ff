"""Envelopes as bytes, sealed and signed as wire profile draft-1 says, and the ways to spoil them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from conformance.delivery.peers import Peer, key
from conformance.delivery.sealing import Fault, Sealing
from reference_impl.wire import envelope as wire
from reference_impl.wire import sealed_plaintext
from reference_impl.wire.content import MalformedError
from reference_impl.wire.envelope_pb2 import Envelope
from reference_impl.wire.json_types import Json
from reference_impl.wire.key_ring import KeyRing, noise_key, signing_key
from reference_impl.wire.sealed import SealedCodec, to_bytes, to_text

NOT_A_MESSAGE = b"these bytes were never encrypted for anybody"


class SealedEnvelopes:
    """Holds the private keys of the peers that it is made for."""

    def __init__(self, peers: Iterable[Peer]) -> None:
        self._keys = KeyRing()
        for each in peers:
            self._keys.add(each.noise_private, each.signing_private)
        self.codec = SealedCodec(self._keys)
        self.faults: Mapping[str, Fault] = {
            "undecodable": self._undecodable,
            "truncated": self._truncated,
            "bad_signature": self._signed_by_nobody,
            "swapped_ephemeral": self._swapped_ephemeral,
            "readdressed": self._readdressed,
            "resealed_by_other": self._resealed_by_other,
            "version_relabelled": self._version_relabelled,
        }

    def shown(self, envelope: Json) -> Mapping[str, Json]:
        try:
            message = Envelope.FromString(to_bytes(envelope))
        except (DecodeError, MalformedError):
            return {}
        unknown = UnknownFieldSet(message)
        fields = [unknown[number] for number in range(len(unknown))]
        others = {f"Envelope field {each.field_number}": repr(each.data) for each in fields}
        return {"ephemeral_pub": message.ephemeral_pub.hex(), **others}

    # -- faults

    def _undecodable(self, sealing: Sealing) -> Json:
        return _changed(self._honest(sealing), lambda envelope: replace(envelope, ciphertext=NOT_A_MESSAGE))

    def _truncated(self, sealing: Sealing) -> Json:
        """It ends where the body would begin, and authenticates."""
        return _sealed(sealing, sealed_plaintext.encode(replace(sealing.content, body=b"")))

    def _signed_by_nobody(self, sealing: Sealing) -> Json:
        fields = sealed_plaintext.encode(sealing.content)
        return _sealed(sealing, fields + signing_key(key("nobody")).sign(fields))

    def _swapped_ephemeral(self, sealing: Sealing) -> Json:
        other = noise_key(key("swapped ephemeral")).public
        return _changed(self._honest(sealing), lambda envelope: replace(envelope, ephemeral_pub=other))

    def _readdressed(self, sealing: Sealing) -> Json:
        recipient = bytes.fromhex(sealing.recipient_pub)
        for_carol = self._honest(sealing.for_carol())
        return _changed(for_carol, lambda envelope: replace(envelope, recipient_pub=recipient))

    def _resealed_by_other(self, sealing: Sealing) -> Json:
        """Whoever may open a message can seal it anew for somebody else, but not sign it for them."""
        first = sealing.for_carol().anew()
        carol = self._keys.noise(first.recipient_pub)
        return _sealed(sealing, wire.open_plaintext(wire.decode(to_bytes(self._honest(first))), carol))

    def _version_relabelled(self, sealing: Sealing) -> Json:
        newer = self._honest(replace(sealing, version=sealing.version + 1))
        return _changed(newer, lambda envelope: replace(envelope, end_to_end_version=sealing.version))

    def _honest(self, sealing: Sealing) -> Json:
        return self.codec.seal(sealing.content, sealing.version, sealing.recipient_pub, sealing.ephemeral)


def _sealed(sealing: Sealing, plaintext: bytes) -> Json:
    """These bytes, whatever they are, encrypted for the recipient."""
    recipient = bytes.fromhex(sealing.recipient_pub)
    return to_text(wire.seal_plaintext(plaintext, sealing.version, recipient, noise_key(sealing.ephemeral)))


def _changed(envelope: Json, change: Callable[[wire.Envelope], wire.Envelope]) -> Json:
    """The same Envelope with something else in its fields."""
    return to_text(wire.encode(change(wire.decode(to_bytes(envelope)))))
