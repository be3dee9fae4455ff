"""Every mutant by its name: what `family.yaml` names."""

from __future__ import annotations

from adapters.deviation import Family, Mutant

MUTANTS: tuple[Mutant, ...] = ()
FAMILY = Family(MUTANTS)
members = FAMILY.members
boot = FAMILY.boot
