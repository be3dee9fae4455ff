"""The reference with one thing changed: mutants, which break a clause, and variants, which are just as right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from adapters.reference.codec_calls import CodecCalls
from adapters.reference.in_process import Boot, boot_device, boot_relay
from reference_impl.device.checks import Checks
from reference_impl.device.dedup import DedupTable
from reference_impl.device.device import Device
from reference_impl.device.membership import Membership
from reference_impl.device.notices import Notices
from reference_impl.device.outbox import Outbox
from reference_impl.device.pairing import Pairing
from reference_impl.device.recipient import Recipient
from reference_impl.device.session_state import SessionState
from reference_impl.relay.relay import Relay
from reference_impl.wire.content import Content, MalformedError
from reference_impl.wire.json_types import Json


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong implementation. `breaks` is the clause that it breaks; `does` says what it does instead."""

    name: str
    breaks: str
    does: str
    system: type[Device] | type[Relay] | type[CodecCalls]


@dataclass(frozen=True, slots=True)
class Variant:
    """A right implementation that is not the reference. `does` says what it does differently, and why it may."""

    name: str
    does: str
    system: type[Device] | type[Relay] | type[CodecCalls]


@dataclass(frozen=True, slots=True)
class Historical:
    """A design that the protocol had once. `breaks` are the clauses of today's contract that it fails, all of them."""

    name: str
    breaks: tuple[str, ...]
    does: str
    system: type[Device]


Deviation = Mutant | Variant | Historical


class Family:
    """Deviations by their name, as `--adapter=mutants/NAME` finds them."""

    def __init__(self, deviations: Iterable[Deviation]) -> None:
        self.by_name: dict[str, Deviation] = {}
        for each in deviations:
            if each.name in self.by_name:
                raise ValueError(f"two deviations are called {each.name}")
            self.by_name[each.name] = each

    def members(self) -> Mapping[str, tuple[str, ...]]:
        """Each name with the roles it can be judged in."""
        return {name: (_boots_as(each),) for name, each in self.by_name.items()}

    def boot(self, role: str, member: str) -> Callable[[], Boot]:  # noqa: ARG002 - each has one role
        """What lays out a disk for that deviation."""
        return new_disk(self.by_name[member])


def new_disk(deviation: Deviation) -> Callable[[], Boot]:
    """What lays out an empty disk for a deviation."""
    system = deviation.system
    if issubclass(system, CodecCalls):
        return boot_relay(Relay, system)
    return boot_device(system) if issubclass(system, Device) else boot_relay(system)


def with_outbox(outbox: type[Outbox]) -> type[Device]:
    """The reference Device with another outbox."""

    class Deviating(Device):
        outbox_class = outbox

    return Deviating


def with_membership(membership: type[Membership]) -> type[Device]:
    """The reference Device with another way to judge and to carry out membership."""

    class Deviating(Device):
        membership_class = membership

    return Deviating


def with_pairing(pairing: type[Pairing]) -> type[Device]:
    """The reference Device with another way to pair."""

    class Deviating(Device):
        pairing_class = pairing

    return Deviating


def with_recipient(recipient: type[Recipient]) -> type[Device]:
    """The reference Device with another recipient."""

    class Deviating(Device):
        recipient_class = recipient

    return Deviating


def with_checks(checks: type[Checks]) -> type[Device]:
    """The reference Device with other checks of a Blob."""

    class Deviating(Device):
        checks_class = checks

    return Deviating


def with_session_state(session_state: type[SessionState]) -> type[Device]:
    """The reference Device with another Session State."""

    class Deviating(Device):
        session_state_class = session_state

    return Deviating


def with_dedup(dedup: type[DedupTable]) -> type[Device]:
    """The reference Device with another dedup table."""

    class Deviating(Device):
        dedup_class = dedup

    return Deviating


def with_notices(notices: type[Notices]) -> type[Device]:
    """The reference Device with another voice."""

    class Deviating(Device):
        notices_class = notices

    return Deviating


def peek(recipient: Recipient, envelope: Json) -> Content | None:
    """What an Envelope holds, for a deviation that looks into it too early; None if it does not open."""
    try:
        return recipient._context.codec.decrypt(envelope, recipient._checks._state.me.noise_pub).content
    except MalformedError:
        return None


def role_of(deviation: Deviation) -> str:
    """The role of the cases that a deviation is about: `any` for a codec, whose bytes are those of both."""
    if issubclass(deviation.system, CodecCalls):
        return "any"
    return _boots_as(deviation)


def _boots_as(deviation: Deviation) -> str:
    return "device" if issubclass(deviation.system, Device) else "relay"
