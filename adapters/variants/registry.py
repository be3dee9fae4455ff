"""Every variant by its name: what `family.yaml` names."""

from __future__ import annotations

from adapters.deviation import Family, Variant
from adapters.variants import codec, combined, control, dedup, receiving, relay, relay_combined, sending, versions

VARIANTS: tuple[Variant, ...] = (
    *codec.VARIANTS,
    *combined.VARIANTS,
    *control.VARIANTS,
    *dedup.VARIANTS,
    *receiving.VARIANTS,
    *relay.VARIANTS,
    *relay_combined.VARIANTS,
    *sending.VARIANTS,
    *versions.VARIANTS,
)
FAMILY = Family(VARIANTS)
members = FAMILY.members
boot = FAMILY.boot
