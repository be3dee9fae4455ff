"""Devices that judge manifests wrongly (CTL-004, CTL-006, CTL-010)."""

# ruff: noqa: ARG002 - an override need not use all that it is given

from __future__ import annotations

from adapters.deviation import Mutant, with_membership, with_session_state
from reference_impl.device.context import Context
from reference_impl.device.device import Device
from reference_impl.device.membership import IGNORED, REFUSED, Membership
from reference_impl.device.session_state import SessionState
from reference_impl.device.verdicts import Verdict
from reference_impl.wire.content import Content, Manifest, Member

# -- CTL-004, CTL-006, CTL-010: manifests


class SignatureUnchecked(Membership):
    def is_signed(self, manifest: Manifest) -> bool:
        return True


class AnyGroup(Membership):
    def is_same_group(self, current: Manifest, manifest: Manifest) -> bool:
        return True


class AnyIssuer(Membership):
    def is_issued_by_member(self, current: Manifest, manifest: Manifest) -> bool:
        return True


class FormerIssuer(Membership):
    def is_issued_by_member(self, current: Manifest, manifest: Manifest) -> bool:
        return self._state.ever_knew(manifest.issued_by)


class IssuerOfItsOwn(Membership):
    """Asks the new manifest whether its issuer is a member."""

    def is_issued_by_member(self, current: Manifest, manifest: Manifest) -> bool:
        return any(member.signing_pub == manifest.issued_by for member in manifest.members)


class FoundersIssue(Membership):
    """Only who was there from the beginning may change the group."""

    def is_issued_by_member(self, current: Manifest, manifest: Manifest) -> bool:
        held = tuple(self._state._held.values())
        return manifest.issued_by in held[0].authors if held else False


class LastArrivedWins(Membership):
    def is_greater(self, current: Manifest, manifest: Manifest) -> bool:
        return manifest.hash != current.hash


class FirstOfATieWins(Membership):
    def is_greater(self, current: Manifest, manifest: Manifest) -> bool:
        return manifest.version > current.version


class HigherHashWins(Membership):
    def is_greater(self, current: Manifest, manifest: Manifest) -> bool:
        if manifest.version == current.version:
            return manifest.hash > current.hash
        return manifest.version > current.version


class NextVersionOnly(Membership):
    def is_greater(self, current: Manifest, manifest: Manifest) -> bool:
        return super().is_greater(current, manifest) and manifest.version <= current.version + 1


class ParentMustBeCurrent(Membership):
    def is_greater(self, current: Manifest, manifest: Manifest) -> bool:
        return super().is_greater(current, manifest) and manifest.parent == current.hash


class RefusedInSilence(Membership):
    def judge_manifest(self, content: Content, version: int) -> Verdict:
        verdict = super().judge_manifest(content, version)
        return IGNORED if verdict is REFUSED else verdict


class AnyLeap(Membership):
    def is_sane_jump(self, current: Manifest, manifest: Manifest) -> bool:
        return True


class LeapTooSmall(Membership):
    def is_sane_jump(self, current: Manifest, manifest: Manifest) -> bool:
        return manifest.version - current.version < self._context.limits.manifest_version_jump


class LeapIn32Bits(Membership):
    """Reckons with signed numbers: a distance of 2^63 is negative."""

    def is_sane_jump(self, current: Manifest, manifest: Manifest) -> bool:
        distance = (manifest.version - current.version + 2**63) % 2**64 - 2**63
        return distance <= self._context.limits.manifest_version_jump


class LeapIsKept(Membership):
    """Refused, and yet its version is what the next one is compared with."""

    _highest = 0

    def is_sane_jump(self, current: Manifest, manifest: Manifest) -> bool:
        if super().is_sane_jump(current, manifest):
            return manifest.version > self._highest
        self._highest = max(self._highest, manifest.version)
        return False


class MemberForever(SessionState):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._met: dict[str, Member] = {}

    def member(self, signing_pub: str) -> Member | None:
        for member in self.others():
            self._met.setdefault(member.signing_pub, member)
        return self._met.get(signing_pub)


class ManifestInMemory(Membership):
    """What was accepted is current until the process ends."""

    def accept_manifest(self, body: bytes) -> None:
        session = self._state.session
        super().accept_manifest(body)
        kept = self._state._session
        with self._context.store.transaction():
            self._state.write(session)
        self._state._session = kept


class RecipientsFixed(Device):
    _recipients: list[str] | None = None

    def recipients(self) -> list[str]:
        if self._recipients is None:
            self._recipients = super().recipients()
        return self._recipients


class EmptyGroupEnds(Membership):
    def accept_manifest(self, body: bytes) -> None:
        super().accept_manifest(body)
        if not self._state.others():
            self.be_removed()


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "manifest-in-memory", "CTL-001", "keeps an acked manifest in memory only", with_membership(ManifestInMemory)
    ),
    Mutant(
        "manifest-signature-unchecked",
        "CTL-004",
        "takes a manifest with a bad signature",
        with_membership(SignatureUnchecked),
    ),
    Mutant("manifest-any-group", "CTL-004", "takes a manifest of another group", with_membership(AnyGroup)),
    Mutant("manifest-any-issuer", "CTL-004", "takes a manifest of a stranger", with_membership(AnyIssuer)),
    Mutant("manifest-former-issuer", "CTL-004", "takes a manifest of a former member", with_membership(FormerIssuer)),
    Mutant(
        "manifest-own-issuer",
        "CTL-004",
        "asks the new manifest for its issuer's right",
        with_membership(IssuerOfItsOwn),
    ),
    Mutant("manifest-founders-issue", "CTL-004", "takes manifests of founders only", with_membership(FoundersIssue)),
    Mutant("manifest-last-wins", "CTL-002", "takes the manifest that arrived last", with_membership(LastArrivedWins)),
    Mutant(
        "manifest-first-of-tie",
        "CTL-004",
        "keeps the first of two manifests of one version",
        with_membership(FirstOfATieWins),
    ),
    Mutant("manifest-higher-hash", "CTL-004", "prefers the higher hash on a tie", with_membership(HigherHashWins)),
    Mutant("manifest-next-only", "CTL-004", "takes the very next version only", with_membership(NextVersionOnly)),
    Mutant(
        "manifest-parent-current",
        "CTL-004",
        "demands the current manifest as parent",
        with_membership(ParentMustBeCurrent),
    ),
    Mutant(
        "manifest-refused-silently",
        "CTL-004",
        "drops a wrong manifest without an issue",
        with_membership(RefusedInSilence),
    ),
    Mutant("manifest-any-leap", "CTL-010", "takes any higher version", with_membership(AnyLeap)),
    Mutant("manifest-leap-too-small", "CTL-010", "refuses a leap of exactly 2^32", with_membership(LeapTooSmall)),
    Mutant(
        "manifest-leap-wraps", "CTL-010", "takes a leap of 2^63 or more for a small one", with_membership(LeapIn32Bits)
    ),
    Mutant("manifest-leap-kept", "CTL-010", "compares with a version that it refused", with_membership(LeapIsKept)),
    Mutant(
        "member-forever", "CTL-006", "goes on handling messages of who was removed", with_session_state(MemberForever)
    ),
    Mutant("recipients-fixed", "CTL-006", "sends to who was a member at the first send", RecipientsFixed),
    Mutant(
        "empty-group-ends",
        "CTL-006",
        "takes the last other member's Leave for its own removal",
        with_membership(EmptyGroupEnds),
    ),
)
