"""Every mutant by its name: what `family.yaml` names."""

from __future__ import annotations

from adapters.deviation import Family, Mutant
from adapters.mutants import (
    codec,
    control,
    crash_points,
    dedup_retention,
    departure,
    device_sockets,
    manifests,
    pairing,
    receiving,
    relay,
    relay_program,
    relay_refusals,
    relay_sockets,
    replay_window,
    sealed,
    sending,
    sending_time,
    versions,
)
from adapters.program_deviation import ProgramMutant
from adapters.reference.device_over_tcp import DeviceOverTcp
from reference_impl.relay.program import RelayProgram

MUTANTS: tuple[Mutant, ...] = (
    *codec.MUTANTS,
    *control.MUTANTS,
    *crash_points.MUTANTS,
    *dedup_retention.MUTANTS,
    *departure.MUTANTS,
    *manifests.MUTANTS,
    *pairing.MUTANTS,
    *receiving.MUTANTS,
    *relay.MUTANTS,
    *relay_refusals.MUTANTS,
    *replay_window.MUTANTS,
    *sealed.MUTANTS,
    *sending.MUTANTS,
    *sending_time.MUTANTS,
    *versions.MUTANTS,
)
PROGRAM_MUTANTS: tuple[ProgramMutant[RelayProgram], ...] = (*relay_program.MUTANTS, *relay_sockets.MUTANTS)
"""Relay programs, to be judged over their sockets: see `adapters/relay_program.py`."""
EVERY_MUTANT: tuple[Mutant | ProgramMutant[RelayProgram] | ProgramMutant[DeviceOverTcp], ...] = (
    *MUTANTS,
    *PROGRAM_MUTANTS,
    *device_sockets.MUTANTS,
)
FAMILY = Family(MUTANTS)
members = FAMILY.members
boot = FAMILY.boot
