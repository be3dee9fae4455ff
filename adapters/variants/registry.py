"""Every variant by its name: what `family.yaml` names."""

from __future__ import annotations

from adapters.deviation import Family, Variant

VARIANTS: tuple[Variant, ...] = ()
FAMILY = Family(VARIANTS)
members = FAMILY.members
boot = FAMILY.boot
