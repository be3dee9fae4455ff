"""Devices that pair wrongly: windows, requests, joining, and the calls for it (CTL)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from adapters.deviation import Mutant, with_membership, with_notices, with_pairing, with_session_state
from reference_impl.device.device import Device
from reference_impl.device.effects import Event, StatusChanged
from reference_impl.device.errors import ApiError
from reference_impl.device.limits import Limits
from reference_impl.device.membership import REFUSED, Membership
from reference_impl.device.notices import Notices
from reference_impl.device.pairing import Pairing
from reference_impl.device.session_state import SessionState
from reference_impl.device.store import Kind, OutboxEntry
from reference_impl.device.verdicts import Apply, Verdict
from reference_impl.wire.content import Content, Manifest, Member, Pair, PairingToken

# -- CTL-002, CTL-007, CTL-008, CTL-012, CTL-013: pairing


class SecretNeverSpent(Pairing):
    def close_window(self) -> None:
        self._requests.clear()


class SecretUnchecked(Pairing):
    def is_admissible(self, content: Content, pair: Pair) -> bool:
        return self._secret is not None and pair.signing_pub == content.author_pub


class KeysUnbound(Pairing):
    def is_admissible(self, content: Content, pair: Pair) -> bool:
        return super().is_admissible(replace(content, author_pub=pair.signing_pub), pair)


class NoWindowNeeded(Pairing):
    def is_admissible(self, content: Content, pair: Pair) -> bool:
        return self._secret is None or super().is_admissible(content, pair)


class RequestPerPair(Pairing):
    def judge_pair(self, content: Content, version: int) -> Verdict:
        self._requests.pop(content.author_pub, None)
        return super().judge_pair(content, version)


class OneRequestAWindow(Pairing):
    def is_admissible(self, content: Content, pair: Pair) -> bool:
        return super().is_admissible(content, pair) and not self._requests.keys() - {pair.signing_pub}


class DurableWindow(Pairing):
    def start_pairing(self) -> str:
        token = super().start_pairing()
        with self._context.store.transaction():
            self._context.store.write("window", self._secret or "")
        return token

    def is_admissible(self, content: Content, pair: Pair) -> bool:
        if self._secret is None:
            self._secret = self._context.store.read("window")
        return super().is_admissible(content, pair)


class RequestsOutliveWindow(Pairing):
    def close_window(self) -> None:
        self._secret = None


class AcceptsWhoeverAsks(Pairing):
    def accept(self, request: str) -> None:
        if request in self._requests:
            super().accept(request)


class AdmitsInTwoSteps(Membership):
    def issue_manifest(self, members: tuple[Member, ...], besides: tuple[Member, ...] = ()) -> None:
        body = self.next_manifest(members)
        with self._context.store.transaction():
            self._state.adopt(body, "member")
        with self._context.store.transaction():
            entries = self.stage("manifest", (*self._state.others(), *besides), body)
        self._outbox.queue(entries)


class NewcomerUntold(Membership):
    def stage(self, kind: Kind, recipients: tuple[Member, ...], body: bytes) -> list[OutboxEntry]:
        return super().stage(kind, recipients[:-1] if kind == "manifest" else recipients, body)


class CreatedInSilence(Notices):
    def event(self, event: Event) -> None:
        if not (isinstance(event, StatusChanged) and event.reason == "created"):
            super().event(event)


class JoinsTwoGroups(Pairing):
    def join(self, text: str) -> None:
        if self._state.manifest is None:
            super().join(text)


class BadTokenIsStorage(Pairing):
    def read_token(self, text: str) -> PairingToken:
        try:
            return super().read_token(text)
        except ApiError:
            raise ApiError("storage") from None


class BadTokenEndsJoin(Pairing):
    def read_token(self, text: str) -> PairingToken:
        try:
            return super().read_token(text)
        except ApiError:
            self.drop_own_join()
            raise


class GroupOf33(Device):
    limits: Limits = Limits(group_size=33)


class GroupOf31(Device):
    limits: Limits = Limits(group_size=31)


class RemovesNobody(Membership):
    def remove(self, signing_pub: str) -> None:
        if self._state.member(signing_pub) is not None or self._state.status != "member":
            super().remove(signing_pub)


class LeavesFromAnywhere(Membership):
    def require_member(self) -> None:
        if self._state.manifest is not None:
            super().require_member()

    def leave(self) -> None:
        self.require_member()
        if self._state.manifest is not None:
            super().leave()


class DestroysFromAnywhere(Membership):
    def destroy_group(self) -> None:
        if self._state.manifest is not None:
            super().destroy_group()


class DepartsAgain(Membership):
    def require_member(self) -> None:
        if self._state.manifest is None:
            super().require_member()


# -- CTL-003: joining


class FirstManifestTrusted(Membership):
    def judge_first_manifest(self, content: Content, manifest: Manifest) -> Verdict:
        if self._state.pending_join is None and self.includes_me(manifest):
            return Apply(partial(self.join_group, content.body))
        return super().judge_first_manifest(content, manifest)


class SealerUnchecked(Membership):
    def answers_join(self, token: PairingToken, content: Content, manifest: Manifest) -> bool:
        return super().answers_join(token, replace(content, author_pub=token.signing_pub), manifest)


class IssuerUnchecked(Membership):
    def answers_join(self, token: PairingToken, content: Content, manifest: Manifest) -> bool:
        return super().answers_join(token, content, replace(manifest, issued_by=token.signing_pub))


class JoinsWithoutBeingIn(Membership):
    def answers_join(self, token: PairingToken, content: Content, manifest: Manifest) -> bool:
        return manifest.issued_by == token.signing_pub == content.author_pub


class JoinsSmallVersions(Membership):
    def answers_join(self, token: PairingToken, content: Content, manifest: Manifest) -> bool:
        sane = manifest.version <= self._context.limits.manifest_version_jump
        return sane and super().answers_join(token, content, manifest)


class JoinsGenesisOnly(Membership):
    def answers_join(self, token: PairingToken, content: Content, manifest: Manifest) -> bool:
        return not manifest.parent and super().answers_join(token, content, manifest)


class JoinEndsAtFirstManifest(Membership):
    def judge_first_manifest(self, content: Content, manifest: Manifest) -> Verdict:
        verdict = super().judge_first_manifest(content, manifest)
        if verdict is REFUSED and self._state.pending_join is not None:
            with self._context.store.transaction():
                self._state.update_status("notJoined")
        return verdict


class RevokeWithoutManifest(Membership):
    def judge_revoke(self, content: Content, version: int) -> Verdict:
        if self._state.manifest is None:
            return Apply(partial(self.begin_destroying, content.author_pub), self.after_departure_began)
        return super().judge_revoke(content, version)


class FirstJoinStays(Pairing):
    def join(self, text: str) -> None:
        first = self._state.session.pending_join
        super().join(text)
        if first:
            with self._context.store.transaction():
                self._state.update_status("pendingJoin", pending_join=first)


class CancelKeepsTrust(Pairing):
    """The status says notJoined, and the token still counts."""

    def drop_own_join(self) -> None:
        token = self._state.session.pending_join
        super().drop_own_join()
        with self._context.store.transaction():
            self._state.update_status("notJoined", pending_join=token)


class JoinInMemory(SessionState):
    def load(self) -> bool:
        known = super().load()
        if known and self.status == "pendingJoin":
            with self._context.store.transaction():
                self.update_status("notJoined")
        return known


class JoinInTwoSteps(Pairing):
    def join(self, text: str) -> None:
        if self._state.manifest is None:
            self.read_token(text)
            with self._context.store.transaction():
                self._state.update_status("pendingJoin", pending_join=text)
        super().join(text)


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "secret-never-spent", "CTL-002", "goes on taking Pairs after the window closed", with_pairing(SecretNeverSpent)
    ),
    Mutant("pair-without-window", "CTL-002", "takes any Pair while no window is open", with_pairing(NoWindowNeeded)),
    Mutant(
        "secret-unchecked", "RCV-011", "raises a request for a Pair without the secret", with_pairing(SecretUnchecked)
    ),
    Mutant("pair-keys-unbound", "RCV-011", "admits keys that did not seal the Pair", with_pairing(KeysUnbound)),
    Mutant("request-per-pair", "CTL-007", "raises a join request for each Pair", with_pairing(RequestPerPair)),
    Mutant(
        "one-request-a-window", "CTL-007", "takes the first device of a window only", with_pairing(OneRequestAWindow)
    ),
    Mutant("window-durable", "CTL-008", "keeps the Pairing Window over a restart", with_pairing(DurableWindow)),
    Mutant(
        "requests-outlive-window",
        "CTL-013",
        "accepts a request after its window closed",
        with_pairing(RequestsOutliveWindow),
    ),
    Mutant(
        "accept-of-nothing", "CTL-013", "accepts an unknown request without an error", with_pairing(AcceptsWhoeverAsks)
    ),
    Mutant(
        "admits-in-two-steps",
        "CRS-006",
        "commits a manifest before what tells the others",
        with_membership(AdmitsInTwoSteps),
    ),
    Mutant(
        "newcomer-untold", "CTL-006", "tells all but the last member of a new manifest", with_membership(NewcomerUntold)
    ),
    Mutant("created-in-silence", "CTL-006", "says nothing when it created a group", with_notices(CreatedInSilence)),
    Mutant("joins-two-groups", "CTL-013", "lets a member call join without an error", with_pairing(JoinsTwoGroups)),
    Mutant(
        "bad-token-is-storage", "CTL-013", "calls an unreadable token a storage error", with_pairing(BadTokenIsStorage)
    ),
    Mutant(
        "bad-token-ends-join", "CTL-013", "ends the Pending Join at an unreadable token", with_pairing(BadTokenEndsJoin)
    ),
    Mutant("group-of-33", "CTL-012", "lets 33 devices in", GroupOf33),
    Mutant("group-of-31", "CTL-012", "lets 31 devices in and no more", GroupOf31),
    Mutant("removes-nobody", "CTL-013", "removes an unknown member without an error", with_membership(RemovesNobody)),
    Mutant("leaves-from-anywhere", "CTL-013", "leaves no group without an error", with_membership(LeavesFromAnywhere)),
    Mutant(
        "destroys-from-anywhere", "CTL-013", "destroys no group without an error", with_membership(DestroysFromAnywhere)
    ),
    Mutant("departs-again", "CTL-013", "removes and leaves while it is on its way out", with_membership(DepartsAgain)),
    Mutant(
        "first-manifest-trusted",
        "CTL-003",
        "accepts any manifest while it has none",
        with_membership(FirstManifestTrusted),
    ),
    Mutant(
        "join-sealer-unchecked",
        "CTL-003",
        "does not ask who sealed the first manifest",
        with_membership(SealerUnchecked),
    ),
    Mutant(
        "join-issuer-unchecked",
        "CTL-003",
        "does not ask who signed the first manifest",
        with_membership(IssuerUnchecked),
    ),
    Mutant(
        "joins-without-being-in", "CTL-003", "joins by a manifest without itself", with_membership(JoinsWithoutBeingIn)
    ),
    Mutant(
        "joins-small-versions",
        "CTL-003",
        "measures the first manifest from version 0",
        with_membership(JoinsSmallVersions),
    ),
    Mutant("joins-genesis-only", "CTL-003", "joins new groups only", with_membership(JoinsGenesisOnly)),
    Mutant(
        "join-ends-early",
        "CTL-003",
        "ends the Pending Join at a wrong manifest",
        with_membership(JoinEndsAtFirstManifest),
    ),
    Mutant(
        "revoke-without-manifest",
        "CTL-003",
        "follows a Revoke without a manifest",
        with_membership(RevokeWithoutManifest),
    ),
    Mutant("first-join-stays", "CTL-003", "goes on trusting the first of two tokens", with_pairing(FirstJoinStays)),
    Mutant("cancel-keeps-trust", "CTL-003", "still joins after cancelJoin()", with_pairing(CancelKeepsTrust)),
    Mutant("join-in-memory", "CTL-003", "forgets the Pending Join at a restart", with_session_state(JoinInMemory)),
    Mutant("join-in-two-steps", "CRS-006", "commits the Pending Join before its Pair", with_pairing(JoinInTwoSteps)),
)
