"""A reference program with one thing changed: what only sockets, deadlines and signals show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from adapters.reference.device_over_tcp import DeviceOverTcp
from reference_impl.relay.program import RelayProgram
from reference_impl.relay.relay import Relay
from reference_impl.relay.wire_session import WireSession

Program = TypeVar("Program", RelayProgram, DeviceOverTcp)


@dataclass(frozen=True, slots=True)
class ProgramMutant(Generic[Program]):
    """A wrong relay or device on sockets. `breaks` is the clause that it breaks; `does` says what it does instead."""

    name: str
    breaks: str
    does: str
    program: type[Program]


@dataclass(frozen=True, slots=True)
class ProgramVariant:
    """A right relay program that is not the reference. `does` says what it does differently, and why it may."""

    name: str
    does: str
    program: type[RelayProgram]


def with_session(session: type[WireSession]) -> type[RelayProgram]:
    """The reference program with other connections."""

    class Deviating(RelayProgram):
        session_class = session

    return Deviating


def with_relay(relay: type[Relay]) -> type[RelayProgram]:
    """The reference program around another Relay: any mutant or variant of the core as a program."""

    class Deviating(RelayProgram):
        relay_class = relay

    return Deviating
