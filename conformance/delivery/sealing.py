"""How the kit seals an Envelope as a peer, honestly or not: one table of faults for each kind of Envelope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from conformance.delivery.peers import key, peer
from reference_impl.wire.content import Codec, Content
from reference_impl.wire.json_types import Json


@dataclass(frozen=True, slots=True)
class Sealing:
    """How one Envelope is sealed: for whom, under which version, with an ephemeral key made of which 32 bytes."""

    content: Content
    version: int
    recipient_pub: str
    ephemeral: str

    def for_carol(self) -> Sealing:
        """The same message, sealed for somebody else."""
        return replace(self, recipient_pub=peer("carol").noise_pub)

    def anew(self) -> Sealing:
        """The same message under another ephemeral key."""
        return replace(self, ephemeral=key("first ephemeral"))


Fault = Callable[[Sealing], Json]


class Envelopes(Protocol):
    """One kind of Envelope: the codec that writes and reads it, its faults, and what a relay can read of it."""

    @property
    def codec(self) -> Codec: ...

    @property
    def faults(self) -> Mapping[str, Fault]: ...

    def shown(self, envelope: Json) -> Mapping[str, Json]:
        """What a relay reads besides version and recipient, by name (MTA-002); nothing of what cannot be read."""
        ...


def seal(envelopes: Envelopes, sealing: Sealing, fault: str = "") -> Json:
    """Seal an Envelope, with one of the faults or without."""
    if fault:
        return envelopes.faults[fault](sealing)
    return envelopes.codec.seal(sealing.content, sealing.version, sealing.recipient_pub, sealing.ephemeral)
