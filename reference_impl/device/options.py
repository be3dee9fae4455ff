"""What a Device is opened with."""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.device.identity import Identity
from reference_impl.device.limits import Limits


@dataclass(frozen=True, slots=True)
class Provision:
    """Who a device is from its first start on. Without a manifest it is in no group."""

    identity: Identity
    manifest: bytes | None


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments of `open()` and the versions of this build."""

    max_payload_bytes: int | None = None
    end_to_end_version: int = 1
    transport_version: int = 1
    provision: Provision | None = None
    """Counts on the first start only."""


@dataclass(frozen=True, slots=True)
class Build:
    """What one build of the library goes by: its limits, and the versions it speaks."""

    limits: Limits
    end_to_end_version: int
    transport_version: int
