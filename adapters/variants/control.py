"""Other right ways to pair, to keep membership and to part: what the sources leave open (CTL)."""

# ruff: noqa: ARG002 - an override need not use all that it is given

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from adapters.deviation import Variant, with_membership, with_notices, with_outbox, with_pairing, with_recipient
from reference_impl.device.checks import Blob, Checks
from reference_impl.device.device import Device, DeviceStatus
from reference_impl.device.effects import Event, Message, StatusChanged, Unauthorized, Unreadable
from reference_impl.device.errors import ApiError
from reference_impl.device.membership import IGNORED, REFUSED, Departing, Membership
from reference_impl.device.notices import Notices
from reference_impl.device.outbox import Outbox
from reference_impl.device.pairing import Pairing
from reference_impl.device.recipient import Recipient
from reference_impl.device.store import Kind, OutboxEntry
from reference_impl.device.verdicts import Drop, Verdict
from reference_impl.wire.content import Content, MalformedError, Manifest, Member

DAY = 86_400_000


class FoundsAtStartPairing(Pairing):
    def start_pairing(self) -> str:
        if self._state.manifest is None and self._state.status == "notJoined":
            self._membership.issue_manifest(self._membership.members())
            self._notices.event(StatusChanged("member", "created"))
        return super().start_pairing()


# -- which issue, and whether


class BadProofIsMalformed(Pairing):
    def judge_pair(self, content: Content, version: int) -> Verdict:
        verdict = super().judge_pair(content, version)
        return Drop(Unreadable("malformed")) if self._secret and verdict == REFUSED else verdict


class LatePairIsSilent(Pairing):
    def judge_pair(self, content: Content, version: int) -> Verdict:
        verdict = super().judge_pair(content, version)
        return IGNORED if self._secret is None and verdict == REFUSED else verdict


class RepeatedPairIsRefused(Pairing):
    def judge_pair(self, content: Content, version: int) -> Verdict:
        verdict = super().judge_pair(content, version)
        return REFUSED if verdict == IGNORED else verdict


class BadManifestIsMalformed(Membership):
    def judge_manifest(self, content: Content, version: int) -> Verdict:
        with suppress(MalformedError):
            if not self.is_signed(self._context.codec.decode_manifest(content.body, version)):
                return Drop(Unreadable("malformed"))
        return super().judge_manifest(content, version)


class LeapIsMalformed(Membership):
    def judge_manifest(self, content: Content, version: int) -> Verdict:
        current = self._state.manifest
        with suppress(MalformedError):
            manifest = self._context.codec.decode_manifest(content.body, version)
            if current is not None and not self.is_sane_jump(current, manifest):
                return Drop(Unreadable("malformed"))
        return super().judge_manifest(content, version)


class StaleIsSilent(Membership):
    """An older manifest says nothing new, whoever signed it."""

    def judge_manifest(self, content: Content, version: int) -> Verdict:
        verdict = super().judge_manifest(content, version)
        current = self._state.manifest
        if verdict != REFUSED or current is None:
            return verdict
        manifest = self._context.codec.decode_manifest(content.body, version)
        trusted = self.is_signed(manifest) and self.is_same_group(current, manifest)
        return IGNORED if trusted and not self.is_greater(current, manifest) else verdict


class UninvitedIsSilent(Membership):
    """Without a group and without a Pending Join there is nobody that a manifest, Leave or Revoke could be for."""

    def judge_manifest(self, content: Content, version: int) -> Verdict:
        nobody = self._state.manifest is None and self._state.pending_join is None
        return IGNORED if nobody else super().judge_manifest(content, version)

    def judge_revoke(self, content: Content, version: int) -> Verdict:
        return IGNORED if self._state.manifest is None else super().judge_revoke(content, version)


class StrangersRevokeIsSilent(Membership):
    def judge_revoke(self, content: Content, version: int) -> Verdict:
        verdict = super().judge_revoke(content, version)
        return IGNORED if verdict == REFUSED else verdict


class LateRevokeIsRefused(Membership):
    def judge_revoke(self, content: Content, version: int) -> Verdict:
        verdict = super().judge_revoke(content, version)
        return Drop(Unauthorized()) if verdict == IGNORED else verdict


# -- names, order and events


class RequestsByNumber(Pairing):
    """A request is known by a number of this process, and calls nobody by a key."""

    def request_id(self, signing_pub: str) -> str:
        return f"request/{list(self._requests).index(signing_pub) + 1}"

    def accept(self, request: str) -> None:
        for signing_pub in self._requests:
            if self.request_id(signing_pub) == request:
                super().accept(signing_pub)
                return
        raise ApiError("pairingClosed")


class LastStatusOnly(Notices):
    """`status` can be asked at any time; events tell of what the app did not do itself."""

    def event(self, event: Event) -> None:
        if not (isinstance(event, StatusChanged) and event.reason is None):
            super().event(event)


class OthersInReverse(Membership):
    def stage(self, kind: Kind, recipients: tuple[Member, ...], body: bytes) -> list[OutboxEntry]:
        return super().stage(kind, recipients[::-1], body)


class MembersSorted(Membership):
    def signed(self, group_id: str, version: int, parent: str, members: tuple[Member, ...]) -> Manifest:
        return super().signed(group_id, version, parent, tuple(sorted(members, key=lambda each: each.noise_pub)))


class RevokeSentBack(Membership):
    def begin_destroying(self, author: str) -> None:
        super().begin_destroying("")


class LeaveStillPushed(Membership):
    """The Leave is abandoned, and what is queued of it goes out ahead of the Revokes."""

    def begin_destroying(self, author: str) -> None:
        recipients = tuple(each for each in self._state.others() if each.signing_pub != author)
        self.begin_departure("destroying", "revoke", recipients, b"", frozenset(("sync",)))


class PairStillPushed(Pairing):
    """A Pair that is queued goes out, although another join replaced its own."""

    def join(self, text: str) -> None:
        if self._state.manifest is not None:
            raise ApiError("alreadyInGroup")
        token = self.read_token(text)
        me = self._state.me
        with self._context.store.transaction():
            self._state.update_status("pendingJoin", pending_join=text)
            body = self._context.codec.encode_pair(me.noise_pub, me.signing_pub, token.secret)
            entries = self._outbox.send("pair", [token.noise_pub], body)
        self._outbox.queue(entries)
        self._notices.event(StatusChanged("pendingJoin", None))
        self._outbox.pump()


# -- durability


class Journals(Membership):
    """Writes an intent first, in a commit of its own, as a store with a journal does."""

    def journal(self, what: str) -> None:
        with self._context.store.transaction():
            self._context.store.write("intent", what)

    def accept_manifest(self, body: bytes) -> None:
        self.journal("manifest")
        super().accept_manifest(body)

    def join_group(self, body: bytes) -> None:
        self.journal("join")
        super().join_group(body)

    def be_removed(self) -> None:
        self.journal("removal")
        super().be_removed()

    def issue_manifest(self, members: tuple[Member, ...], besides: tuple[Member, ...] = ()) -> None:
        self.journal("change")
        super().issue_manifest(members, besides)

    def begin_departure(
        self,
        status: Departing,
        kind: Kind,
        recipients: tuple[Member, ...],
        body: bytes,
        dropped: frozenset[Kind],
    ) -> None:
        self.journal(status)
        super().begin_departure(status, kind, recipients, body, dropped)


class JournalsJoin(Pairing):
    def join(self, text: str) -> None:
        if self._state.manifest is None:
            self.read_token(text)
            with self._context.store.transaction():
                self._context.store.write("intent", "join")
        super().join(text)


class RemovalUnacked(Membership):
    """With the identity goes the session on which the removal could be acked."""

    def be_removed(self) -> None:
        super().be_removed()
        self.after_wipe()


class AcksLast(Recipient):
    """Acks once what follows is under way as well; where that ends the group, nobody is left to ack."""

    def apply(self, blob: Blob, commit: Callable[[], None], after: Callable[[], None]) -> None:
        commit()
        after()
        self.ack(blob)


class StampsDaily(Outbox):
    """Seals a control message anew when its stamp is a day old."""

    def sender_timestamp(self, entry: OutboxEntry) -> int:
        now = self._context.now
        if entry.kind == "sync" or now - entry.sent_at >= DAY:
            return super().sender_timestamp(entry)
        return entry.sent_at


def known_as(member: Member) -> Member:
    """The member under an id that is no key of it."""
    return replace(member, signing_pub=f"member of {member.noise_pub[:12]}")


class NamesNoKeys(Checks):
    def message(self, content: Content) -> Message:
        message = super().message(content)
        return replace(message, sender=known_as(message.sender))


class MembersByOtherIds(Device):
    """Calls its members by ids of its own making, everywhere alike."""

    checks_class = NamesNoKeys

    def status(self) -> DeviceStatus:
        status = super().status()
        return replace(status, members=tuple(known_as(each) for each in status.members))

    def remove(self, member: str) -> None:
        ids = {known_as(each).signing_pub: each.signing_pub for each in self.state.others()}
        super().remove(ids.get(member, member))


class WindowOutlivesWipe(Device):
    def _connect_parts(self) -> None:
        super()._connect_parts()
        self.membership.on_wipe(self.recipient.start_over)


class ListsInReverse(Device):
    """Lists the members in another order than the manifest does."""

    def status(self) -> DeviceStatus:
        status = super().status()
        return replace(status, members=status.members[::-1])


_PAIRINGS: tuple[tuple[str, str, type[Pairing]], ...] = (
    ("founds-at-start-pairing", "founds its group when pairing starts, not at the first accept", FoundsAtStartPairing),
    (
        "bad-proof-is-malformed",
        "calls a Pair without the secret malformed: it is not authenticated",
        BadProofIsMalformed,
    ),
    ("late-pair-is-silent", "drops a Pair without a window in silence: it may be a replay", LatePairIsSilent),
    ("repeated-pair-is-refused", "reports a repeated Pair as unauthorized: open for replays", RepeatedPairIsRefused),
    ("requests-by-number", "numbers its join requests: their ids are opaque", RequestsByNumber),
    ("pair-still-pushed", "pushes the Pair of a join that was replaced: only its trust has to end", PairStillPushed),
    ("journals-join", "writes its intent to join in a commit of its own, ahead of the join", JournalsJoin),
)

_MEMBERSHIPS: tuple[tuple[str, str, type[Membership]], ...] = (
    ("bad-manifest-is-malformed", "calls a manifest with a bad signature malformed", BadManifestIsMalformed),
    ("leap-is-malformed", "calls a version that leaps too far malformed", LeapIsMalformed),
    ("stale-is-silent", "drops an older manifest in silence: it may be a replay", StaleIsSilent),
    ("uninvited-is-silent", "drops in silence what comes without a group and a join", UninvitedIsSilent),
    ("strangers-revoke-is-silent", "ignores a stranger's Revoke without an issue", StrangersRevokeIsSilent),
    ("late-revoke-is-refused", "reports a Revoke that comes too late", LateRevokeIsRefused),
    ("others-in-reverse", "tells the other members in another order: they are independent", OthersInReverse),
    ("members-sorted", "sorts the members of its manifests: their order means nothing", MembersSorted),
    ("revoke-sent-back", "sends its author the Revoke as well", RevokeSentBack),
    ("leave-still-pushed", "goes on pushing the Leave that a destroy abandoned", LeaveStillPushed),
    ("journals", "writes its intent in a commit of its own, ahead of each change", Journals),
    ("removal-unacked", "cannot ack the removal that ended its session", RemovalUnacked),
)

VARIANTS: tuple[Variant, ...] = (
    *(Variant(name, does, with_pairing(pairing)) for name, does, pairing in _PAIRINGS),
    *(Variant(name, does, with_membership(membership)) for name, does, membership in _MEMBERSHIPS),
    Variant("last-status-only", "raises no statusChanged without a reason", with_notices(LastStatusOnly)),
    Variant("acks-control-last", "acks a control message after what follows from it", with_recipient(AcksLast)),
    Variant("stamps-daily", "seals a control message anew once a day", with_outbox(StampsDaily)),
    Variant("members-by-other-ids", "makes up ids for its members: they are opaque", MembersByOtherIds),
    Variant("window-outlives-wipe", "leaves its Pairing Window open when it is removed: open", WindowOutlivesWipe),
    Variant("lists-in-reverse", "lists the members in another order", ListsInReverse),
)
