"""Devices that treat the End-to-End Version of a Blob wrongly: newer, older, held, upgraded (VER)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from adapters.deviation import Mutant, peek, with_checks, with_recipient
from reference_impl.device.checks import MALFORMED, Blob, Checks
from reference_impl.device.device import Device
from reference_impl.device.effects import HeldForUpgrade, Unreadable
from reference_impl.device.limits import Limits
from reference_impl.device.recipient import Recipient
from reference_impl.device.verdicts import Drop, Hold, Verdict
from reference_impl.wire import envelope as wire
from reference_impl.wire.content import MalformedError
from reference_impl.wire.json_types import Json
from reference_impl.wire.sealed import to_bytes, to_text

Check = Callable[[Blob], Verdict | None]
OUTDATED = Drop(Unreadable("senderOutdated"))


# -- newer


class NewerIsAcked(Recipient):
    def hold(self, blob: Blob, version: int) -> None:
        self.drop(blob, HeldForUpgrade(version))


class NewerIsMalformed(Checks):
    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        return MALFORMED if isinstance(verdict, Hold) else verdict


class NewerIsTried(Checks):
    """Reads a newer version as if it were its own."""

    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        return None if isinstance(verdict, Hold) else verdict


class HeldSilently(Recipient):
    def hold(self, blob: Blob, version: int) -> None:  # noqa: ARG002 - neither is told
        self._held[blob.blob_id] = None


class HeldNamesOwnVersion(Recipient):
    def hold(self, blob: Blob, version: int) -> None:  # noqa: ARG002 - that is the mistake
        super().hold(blob, self._context.end_to_end_version)


class VersionInOneByte(Checks):
    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        return Hold(verdict.version & 0xFF) if isinstance(verdict, Hold) else verdict


class HeldLetsGoWithSession(Recipient):
    """Acks what it holds when it comes a second time."""

    seen: frozenset[str] = frozenset()

    def hold(self, blob: Blob, version: int) -> None:
        if blob.blob_id in self.seen:
            self.ack(blob)
        else:
            super().hold(blob, version)
        self.seen |= {blob.blob_id}


class DecryptsFirst(Checks):
    """Tells what is malformed before it looks at the version."""

    def checks(self) -> tuple[Check, ...]:
        version, *others = super().checks()
        return (self.check_decrypts, self.check_signature, version, *others)


class StampBeforeVersion(Checks):
    """Looks at a stamp that it cannot know it reads rightly."""

    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        if isinstance(verdict, Hold) and self.check_decrypts(blob) is None:
            return self.check_replay_window(blob) or verdict
        return verdict


class SenderBeforeVersion(Checks):
    """Refuses to hold what a stranger sent."""

    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        if isinstance(verdict, Hold) and self.check_decrypts(blob) is None:
            return self.check_sender(blob) or verdict
        return verdict


class DuplicateBeforeVersion(Checks):
    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        if isinstance(verdict, Hold) and self.check_decrypts(blob) is None:
            return self.check_duplicate(blob) or verdict
        return verdict


# -- the held ones


def _cap(count: int) -> type[Device]:
    class Deviating(Device):
        limits = replace(Limits(), held_blobs=count)

    return Deviating


class NewestGivesWay(Recipient):
    def drop_oldest_held(self, session: str) -> None:
        newest = list(self._held)[-1]
        del self._held[newest]
        self.drop(Blob(session, newest, None), Unreadable("droppedWhileHeld"))


class AllGiveWay(Recipient):
    def drop_oldest_held(self, session: str) -> None:
        while self._held:
            super().drop_oldest_held(session)


class GivesWaySilently(Recipient):
    def drop_oldest_held(self, session: str) -> None:
        oldest = next(iter(self._held))
        del self._held[oldest]
        self.ack(Blob(session, oldest, None))


class GivesWayUnacked(Recipient):
    def drop_oldest_held(self, session: str) -> None:  # noqa: ARG002 - nothing is acked on it
        del self._held[next(iter(self._held))]
        self._notices.issue(Unreadable("droppedWhileHeld"))


class GivesWayAsMalformed(Recipient):
    def drop_oldest_held(self, session: str) -> None:
        oldest = next(iter(self._held))
        del self._held[oldest]
        self.drop(Blob(session, oldest, None), Unreadable("malformed"))


class OneIssueForAll(Recipient):
    told = False

    def drop_oldest_held(self, session: str) -> None:
        if self.told:
            self.ack(Blob(session, next(iter(self._held)), None))
            del self._held[next(iter(self._held))]
        else:
            super().drop_oldest_held(session)
        self.told = True


class HeldBlocks(Recipient):
    """Waits at a held Blob, to keep the order."""

    def may_take_next(self) -> bool:
        return super().may_take_next() and not self._held


class CountsDeliveries(Recipient):
    """Counts each time that something is held."""

    counted = 0

    def hold(self, blob: Blob, version: int) -> None:
        self.counted += 1
        super().hold(blob, version)
        if self.counted > self._context.limits.held_blobs:
            self.drop_oldest_held(blob.session)


class CountSurvives(Recipient):
    """Keeps its count in Session State and never takes anything off it."""

    def hold(self, blob: Blob, version: int) -> None:
        with self._context.store.transaction():
            counted = int(self._context.store.read("held") or "0") + 1
            self._context.store.write("held", str(counted))
        super().hold(blob, version)
        if counted > self._context.limits.held_blobs:
            self.drop_oldest_held(blob.session)


class CapForEachVersion(Recipient):
    versions: Mapping[str, int] = {}

    def hold(self, blob: Blob, version: int) -> None:
        self.versions = {**self.versions, blob.blob_id: version}
        others = {each: None for each in self._held if self.versions[each] != version}
        self._held = {each: None for each in self._held if each not in others}
        super().hold(blob, version)
        self._held = {**others, **self._held}


class CapForEachSender(Recipient):
    """Looks inside what it cannot read to see who sent it."""

    senders: Mapping[str, str] = {}

    def hold(self, blob: Blob, version: int) -> None:
        self.senders = {**self.senders, blob.blob_id: self._author(blob.envelope)}
        sender = self.senders[blob.blob_id]
        others = {each: None for each in self._held if self.senders[each] != sender}
        self._held = {each: None for each in self._held if each not in others}
        super().hold(blob, version)
        self._held = {**others, **self._held}

    def _author(self, envelope: Json) -> str:
        content = peek(self, envelope)
        return content.author_pub if content is not None else ""


class HandledTakeAPlace(Recipient):
    """Counts every Blob that it has seen on the session."""

    def process(self, blob: Blob) -> None:
        super().process(blob)
        self._held.setdefault(blob.blob_id)
        if len(self._held) > self._context.limits.held_blobs:
            self.drop_oldest_held(blob.session)


# -- after an upgrade


class OlderThanHandledIsDuplicate(Checks):
    """Takes what was sent before a handled message for handled."""

    def check_duplicate(self, blob: Blob) -> Verdict | None:
        first = blob.content.sequence
        later = (replace(blob.content, sequence=each) for each in range(first, min(first + 5, 2**64)))
        return Drop(None) if any(map(self._dedup.knows, later)) else None


class HeldIsTrusted(Checks):
    """Takes what it held without a further check."""

    def judge(self, blob: Blob) -> Verdict:
        store = self._context.store
        verdict = super().judge(blob)
        if isinstance(verdict, Hold):
            with store.transaction():
                store.write(f"held {blob.blob_id}", "")
        elif store.read(f"held {blob.blob_id}") is not None and isinstance(verdict, Drop):
            return Drop(None)
        return verdict


class HeldIsHandledAgain(Checks):
    """Does not look up what was held, for it cannot have been handled."""

    def judge(self, blob: Blob) -> Verdict:
        store = self._context.store
        verdict = super().judge(blob)
        if isinstance(verdict, Hold):
            with store.transaction():
                store.write(f"held {blob.blob_id}", "")
        return verdict

    def check_duplicate(self, blob: Blob) -> Verdict | None:
        if self._context.store.read(f"held {blob.blob_id}") is not None:
            return None
        return super().check_duplicate(blob)


class HoldsTheNextVersionOnly(Checks):
    """Takes a version that is more than one ahead for a fault."""

    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        ahead = blob.version - self._context.end_to_end_version
        return MALFORMED if isinstance(verdict, Hold) and ahead > 1 else verdict


class UpgradeTakesAll(Checks):
    """Once upgraded, takes whatever it once held for outdated."""

    def judge(self, blob: Blob) -> Verdict:
        store = self._context.store
        verdict = super().judge(blob)
        held_at = store.read(f"held {blob.blob_id}")
        own = str(self._context.end_to_end_version)
        if isinstance(verdict, Hold) and held_at not in (None, own):
            return OUTDATED
        if isinstance(verdict, Hold) and held_at is None:
            with store.transaction():
                store.write(f"held {blob.blob_id}", own)
        return verdict


# -- older


class OlderIsHandled(Checks):
    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        return None if isinstance(verdict, Drop) and blob.version else verdict


class OlderIsHeld(Checks):
    """Holds every version but its own."""

    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        return Hold(blob.version) if isinstance(verdict, Drop) else verdict


class OlderIsMalformed(Checks):
    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        return MALFORMED if isinstance(verdict, Drop) else verdict


class OlderIsSilent(Checks):
    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        return Drop(None) if isinstance(verdict, Drop) else verdict


class OlderStaysUnacked(Recipient):
    def process(self, blob: Blob) -> None:
        if self._checks.judge(blob) == OUTDATED:
            self._notices.issue(Unreadable("senderOutdated"))
        else:
            super().process(blob)


class OlderLeavesARecord(Recipient):
    def process(self, blob: Blob) -> None:
        super().process(blob)
        content = peek(self, blob.envelope) if blob.version < self._context.end_to_end_version else None
        if content is not None:
            self.record(content)


class ReservedVersionIsFine(Checks):
    """Takes a version of 0 for none given."""

    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        return Hold(0) if isinstance(verdict, Drop) and blob.version == 0 else verdict


# -- the binding


class VersionIsNotBound(Checks):
    """Opens a Blob under whichever version fits it, whatever stands outside."""

    def check_decrypts(self, blob: Blob) -> Verdict | None:
        outside = blob.envelope
        verdict = super().check_decrypts(blob)
        for version in range(1, blob.version + 2):
            if verdict is None:
                break
            blob.envelope = _relabelled(outside, version)
            verdict = super().check_decrypts(blob)
        blob.envelope = outside
        return verdict


def _relabelled(envelope: Json, version: int) -> Json:
    try:
        outside = wire.decode(to_bytes(envelope))
    except MalformedError:
        return envelope
    return to_text(wire.encode(replace(outside, end_to_end_version=version)))


_RECIPIENTS: tuple[tuple[str, str, str, type[Recipient]], ...] = (
    ("newer-is-acked", "VER-001", "acks what it should hold", NewerIsAcked),
    ("held-silently", "VER-001", "holds without an issue", HeldSilently),
    ("held-names-own-version", "VER-001", "names its own version in heldForUpgrade", HeldNamesOwnVersion),
    ("held-once", "VER-001", "acks a held Blob when it comes again", HeldLetsGoWithSession),
    ("newest-gives-way", "VER-003", "drops the Blob that came last", NewestGivesWay),
    ("all-give-way", "VER-003", "drops all held Blobs at once", AllGiveWay),
    ("gives-way-silently", "VER-003", "drops held Blobs without an issue", GivesWaySilently),
    ("gives-way-unacked", "VER-003", "forgets held Blobs without an ack", GivesWayUnacked),
    ("gives-way-as-malformed", "VER-003", "calls a held Blob malformed", GivesWayAsMalformed),
    ("gives-way-with-one-issue", "VER-003", "reports the first of the dropped Blobs only", OneIssueForAll),
    ("held-blocks", "VER-004", "handles nothing behind a held Blob", HeldBlocks),
    ("counts-deliveries", "VER-005", "counts a held Blob at each delivery", CountsDeliveries),
    ("count-survives", "VER-005", "goes on counting after a restart", CountSurvives),
    ("cap-for-each-version", "VER-009", "holds a hundred of each version", CapForEachVersion),
    ("cap-for-each-sender", "VER-009", "holds a hundred of each sender", CapForEachSender),
    ("handled-take-a-place", "VER-003", "counts handled Blobs among the held ones", HandledTakeAPlace),
    ("older-stays-unacked", "VER-007", "does not ack an older version", OlderStaysUnacked),
    ("older-leaves-a-record", "VER-007", "records what it drops as outdated", OlderLeavesARecord),
)

_CHECKS: tuple[tuple[str, str, str, type[Checks]], ...] = (
    ("newer-is-malformed", "VER-001", "calls a newer version malformed", NewerIsMalformed),
    ("newer-is-tried", "VER-001", "reads a newer version like its own", NewerIsTried),
    ("version-in-one-byte", "VER-001", "names the low byte of the version", VersionInOneByte),
    ("decrypts-first", "VER-002", "decrypts before it looks at the version", DecryptsFirst),
    ("stamp-before-version", "VER-002", "looks at the stamp of a newer version", StampBeforeVersion),
    ("sender-before-version", "VER-002", "looks at the sender of a newer version", SenderBeforeVersion),
    ("duplicate-before-version", "VER-002", "looks up the Message ID of a newer version", DuplicateBeforeVersion),
    ("older-than-handled", "VER-006", "drops what was sent before a handled message", OlderThanHandledIsDuplicate),
    ("held-is-trusted", "VER-006", "drops what was held without an issue", HeldIsTrusted),
    ("held-is-handled-again", "VER-006", "does not look up what was held", HeldIsHandledAgain),
    ("holds-the-next-version-only", "VER-010", "holds one version ahead and no more", HoldsTheNextVersionOnly),
    ("upgrade-takes-all", "VER-010", "drops what is still newer after an upgrade", UpgradeTakesAll),
    ("older-is-handled", "VER-007", "handles older versions", OlderIsHandled),
    ("older-is-held", "VER-007", "holds older versions", OlderIsHeld),
    ("older-is-malformed", "VER-007", "calls an older version malformed", OlderIsMalformed),
    ("older-is-silent", "VER-007", "drops an older version without an issue", OlderIsSilent),
    ("reserved-version-is-held", "VER-007", "holds version 0", ReservedVersionIsFine),
    ("version-is-not-bound", "VER-008", "believes the version inside", VersionIsNotBound),
)

_DEVICES: tuple[tuple[str, str, str, type[Device]], ...] = (
    ("held-cap-99", "VER-003", "holds 99 Blobs", _cap(99)),
    ("held-cap-129", "VER-003", "holds 129 Blobs", _cap(129)),
    ("held-without-end", "VER-003", "holds any number of Blobs", _cap(10**9)),
)

MUTANTS: tuple[Mutant, ...] = (
    *(Mutant(name, breaks, does, with_recipient(part)) for name, breaks, does, part in _RECIPIENTS),
    *(Mutant(name, breaks, does, with_checks(part)) for name, breaks, does, part in _CHECKS),
    *(Mutant(name, breaks, does, device) for name, breaks, does, device in _DEVICES),
)
