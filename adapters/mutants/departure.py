"""Devices that go wrongly: removal, Leave, destroy, Revoke, wipe (CTL-005, CTL-009, CTL-011, CTL-014, CTL-015)."""

# ruff: noqa: ARG002 - an override need not use all that it is given

from __future__ import annotations

from dataclasses import replace
from functools import partial

from adapters.deviation import (
    Mutant,
    with_checks,
    with_dedup,
    with_membership,
    with_outbox,
    with_recipient,
    with_session_state,
)
from reference_impl.device.checks import Checks
from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.effects import SendFailed
from reference_impl.device.identity import new_identity
from reference_impl.device.membership import IGNORED, REFUSED, Departing, Membership
from reference_impl.device.outbox import Lane, Outbox
from reference_impl.device.recipient import Recipient
from reference_impl.device.session_state import SessionState
from reference_impl.device.store import Kind, OutboxEntry
from reference_impl.device.verdicts import Apply, Verdict
from reference_impl.wire.content import Content, Manifest, Member

# -- CTL-005, CTL-011: removal and the end of a group


class RemovalBlind(Membership):
    def is_removal(self, manifest: Manifest) -> bool:
        return True


class NeverRemoved(Membership):
    def is_removal(self, manifest: Manifest) -> bool:
        return False


class RemovalFromCurrentOnly(Membership):
    def is_removal(self, manifest: Manifest) -> bool:
        current = self._state.manifest
        return current is not None and manifest.parent == current.hash and super().is_removal(manifest)


class RemovedUntold(Membership):
    def issue_manifest(self, members: tuple[Member, ...], besides: tuple[Member, ...] = ()) -> None:
        super().issue_manifest(members)


class SameIdentity(Membership):
    def wipe_state(self) -> None:
        identity = self._state.identity
        self._context.store.wipe()
        self._state.begin(identity)


class SameNoiseKey(Membership):
    def wipe_state(self) -> None:
        old = self._state.identity
        super().wipe_state()
        fresh = self._state.identity
        member = replace(fresh.member, noise_pub=old.member.noise_pub)
        self._state.begin(replace(fresh, member=member, noise_private=old.noise_private))


class IdentityPerStart(SessionState):
    """A device without a group thinks of a new identity at each start."""

    def load(self) -> bool:
        known = super().load()
        if known and self.status == "notJoined":
            fresh = new_identity(self._context.random_bytes)
            with self._context.store.transaction():
                self.write(replace(self.session, identity=fresh))
        return known


class DedupOutlivesWipe(DedupTable):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._handled: set[str] = set()

    def knows(self, content: Content) -> bool:
        return content.message_id in self._handled or super().knows(content)

    def record(self, content: Content) -> None:
        self._handled.add(content.message_id)
        super().record(content)


class OutboxOutlivesWipe(Outbox):
    def forget_everything(self) -> None:
        """What was queued stays where it is, in memory."""


class WipeReportsSends(Membership):
    def wipe_state(self) -> None:
        for entry in self._outbox.unsent():
            if entry.kind == "sync":
                self._notices.issue(SendFailed(entry.message_id, "expired"))
        super().wipe_state()


class WipeInTwoSteps(Membership):
    """A new identity first, the old group's state later."""

    def be_removed(self) -> None:
        held = self._state.session
        with self._context.store.transaction():
            super().wipe_state()
            self._state.write(replace(held, identity=self._state.identity))
        super().be_removed()


class WipedBeforeTaken(Membership):
    def completes_with(self, remaining: int) -> bool:
        return super().completes_with(0)


class WipedAtFirstAck(Membership):
    def completes_with(self, remaining: int) -> bool:
        return super().completes_with(max(remaining - 1, 0))


class DepartureForgotten(SessionState):
    def load(self) -> bool:
        known = super().load()
        if known and self.status in ("leaving", "destroying"):
            with self._context.store.transaction():
                self.update_status("member")
        return known


class SendsWhileDeparting(Membership):
    def begin_departure(
        self,
        status: Departing,
        kind: Kind,
        recipients: tuple[Member, ...],
        body: bytes,
        dropped: frozenset[Kind],
    ) -> None:
        super().begin_departure(status, kind, recipients, body, frozenset())


class HandlesWhileDeparting(Checks):
    def is_departing(self) -> bool:
        return False


class RetriesWhileDeparting(Recipient):
    """Takes no new message, and goes on with the one whose handler threw."""

    def departed(self) -> None:
        """What waits for its next attempt goes on waiting."""

    def handler_ended(self, request: int, error: str | None) -> None:
        handling = self._handling
        if error is None or handling is None or self.gives_up_after(handling.attempts):
            super().handler_ended(request, error)
        else:
            handling.request = None
            self.retry_later(handling)


class DepartsInTwoSteps(Membership):
    def begin_departure(
        self,
        status: Departing,
        kind: Kind,
        recipients: tuple[Member, ...],
        body: bytes,
        dropped: frozenset[Kind],
    ) -> None:
        with self._context.store.transaction():
            self._state.update_status(status)
        super().begin_departure(status, kind, recipients, body, dropped)


class ToldBeforeDurable(Membership):
    """Pushes what tells the others first, and notes down afterwards that it goes."""

    def begin_departure(
        self,
        status: Departing,
        kind: Kind,
        recipients: tuple[Member, ...],
        body: bytes,
        dropped: frozenset[Kind],
    ) -> None:
        sequence = self._state._sequence + 1
        name, now = self._state.message_id(sequence), self._context.now
        self._outbox.queue(OutboxEntry(sequence, each.noise_pub, name, kind, body, now) for each in recipients)
        self._outbox.pump()
        super().begin_departure(status, kind, recipients, body, dropped)


class LeaveGivesUp(Outbox):
    def requeue(self, lane: Lane) -> None:
        """A Leave that the relay did not take is as good as taken."""
        entry = self.head(lane)
        if entry is not None and entry.kind in ("leave", "revoke"):
            self.remove([entry])
        else:
            super().requeue(lane)


class AloneForever(Membership):
    def after_departure_began(self) -> None:
        self._outbox.pump()


# -- CTL-009: Revokes


class RevokeNotForwarded(Membership):
    def begin_destroying(self, author: str) -> None:
        recipients = () if author else self._state.others()
        self.begin_departure("destroying", "revoke", recipients, b"", frozenset(("sync", "leave")))


class RevokeForwardedToOne(Membership):
    def begin_destroying(self, author: str) -> None:
        recipients = tuple(m for m in self._state.others() if m.signing_pub != author)[:1]
        self.begin_departure("destroying", "revoke", recipients, b"", frozenset(("sync", "leave")))


class RevokeOfMembersOnly(Membership):
    def judge_revoke(self, content: Content, version: int) -> Verdict:
        if self._state.member(content.author_pub) is None:
            return REFUSED
        return super().judge_revoke(content, version)


class RevokeOfAnybody(Membership):
    def judge_revoke(self, content: Content, version: int) -> Verdict:
        if self._state.status != "member":
            return super().judge_revoke(content, version)
        return Apply(partial(self.begin_destroying, content.author_pub), self.after_departure_began)


class RevokeIgnoredWhileLeaving(Membership):
    def judge_revoke(self, content: Content, version: int) -> Verdict:
        return IGNORED if self._state.status == "leaving" else super().judge_revoke(content, version)


class RevokeForwardedAgain(Membership):
    def judge_revoke(self, content: Content, version: int) -> Verdict:
        if self._state.status != "destroying":
            return super().judge_revoke(content, version)
        return Apply(partial(self.begin_destroying, content.author_pub), self.after_departure_began)


class RevokeWithoutMemory(SessionState):
    """Which manifests were held is not kept over a restart."""

    def load(self) -> bool:
        known = super().load()
        current = self.manifest.hash if known and self.manifest is not None else ""
        self._held = {name: held for name, held in self._held.items() if name == current}
        return known


class LeavingCannotDestroy(Membership):
    def destroy_group(self) -> None:
        if self._state.status == "leaving":
            self.require_member()
        super().destroy_group()


class DestroyTwice(Membership):
    def destroy_group(self) -> None:
        if self._state.status == "destroying":
            self.begin_destroying("")
            self._outbox.pump()
        super().destroy_group()


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "removal-blind", "CTL-011", "takes every manifest without it for its removal", with_membership(RemovalBlind)
    ),
    Mutant("never-removed", "CTL-011", "does not notice its removal", with_membership(NeverRemoved)),
    Mutant(
        "removal-from-current-only",
        "CTL-011",
        "knows its removal by the current manifest only",
        with_membership(RemovalFromCurrentOnly),
    ),
    Mutant("removed-untold", "CTL-011", "does not tell a member that it removed it", with_membership(RemovedUntold)),
    Mutant("same-identity", "CTL-005", "keeps its keys after the end of a group", with_membership(SameIdentity)),
    Mutant("same-noise-key", "CTL-005", "keeps its address after the end of a group", with_membership(SameNoiseKey)),
    Mutant(
        "identity-per-start", "CTL-005", "has another identity after each start", with_session_state(IdentityPerStart)
    ),
    Mutant("dedup-outlives-wipe", "CTL-005", "knows what its old identity handled", with_dedup(DedupOutlivesWipe)),
    Mutant("outbox-outlives-wipe", "CTL-005", "pushes what its old identity queued", with_outbox(OutboxOutlivesWipe)),
    Mutant("wipe-reports-sends", "CTL-005", "reports what the wipe drops as failed", with_membership(WipeReportsSends)),
    Mutant(
        "wipe-in-two-steps",
        "CTL-005",
        "commits the new identity before the rest of the wipe",
        with_membership(WipeInTwoSteps),
    ),
    Mutant(
        "wiped-before-taken",
        "CTL-009",
        "wipes before the relay took what tells the others",
        with_membership(WipedBeforeTaken),
    ),
    Mutant(
        "wiped-at-first-ack",
        "CTL-005",
        "wipes when all but one of the others are told",
        with_membership(WipedAtFirstAck),
    ),
    Mutant(
        "departure-forgotten",
        "CTL-005",
        "is a member again after a restart on its way out",
        with_session_state(DepartureForgotten),
    ),
    Mutant(
        "sends-while-departing",
        "CTL-014",
        "still pushes Sync messages on its way out",
        with_membership(SendsWhileDeparting),
    ),
    Mutant(
        "handles-while-departing",
        "CTL-014",
        "still hands messages to the app on its way out",
        with_checks(HandlesWhileDeparting),
    ),
    Mutant(
        "retries-while-departing",
        "CTL-014",
        "still tries a handler again that threw, on its way out",
        with_recipient(RetriesWhileDeparting),
    ),
    Mutant(
        "told-before-durable",
        "CTL-005",
        "tells the others before it noted down that it goes",
        with_membership(ToldBeforeDurable),
    ),
    Mutant(
        "departs-in-two-steps",
        "CRS-006",
        "commits that it goes before what tells the others",
        with_membership(DepartsInTwoSteps),
    ),
    Mutant("departure-gives-up", "SND-017", "takes a refused Leave or Revoke for pushed", with_outbox(LeaveGivesUp)),
    Mutant("alone-forever", "CTL-005", "waits for ever where there is nobody to tell", with_membership(AloneForever)),
    Mutant("revoke-not-forwarded", "CTL-009", "passes no Revoke on", with_membership(RevokeNotForwarded)),
    Mutant(
        "revoke-forwarded-to-one",
        "CTL-009",
        "passes a Revoke on to one member only",
        with_membership(RevokeForwardedToOne),
    ),
    Mutant(
        "revoke-of-members-only",
        "CTL-009",
        "follows current members' Revokes only",
        with_membership(RevokeOfMembersOnly),
    ),
    Mutant("revoke-of-anybody", "CTL-009", "follows a stranger's Revoke", with_membership(RevokeOfAnybody)),
    Mutant(
        "revoke-ignored-leaving",
        "CTL-009",
        "ignores a Revoke while it leaves",
        with_membership(RevokeIgnoredWhileLeaving),
    ),
    Mutant(
        "revoke-forwarded-again",
        "CTL-009",
        "passes each further Revoke on as well",
        with_membership(RevokeForwardedAgain),
    ),
    Mutant(
        "revoke-without-memory",
        "CTL-009",
        "forgets former members at a restart",
        with_session_state(RevokeWithoutMemory),
    ),
    Mutant(
        "leaving-cannot-destroy",
        "CTL-015",
        "takes no destroyGroup() while it leaves",
        with_membership(LeavingCannotDestroy),
    ),
    Mutant(
        "destroy-twice",
        "CTL-015",
        "sends its Revokes once more at a second destroyGroup()",
        with_membership(DestroyTwice),
    ),
)
