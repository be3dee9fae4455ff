"""Group membership: which manifests count, removal, Leave, Destroy Group, and the wipe that ends a group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, Literal

from reference_impl.device.context import Context
from reference_impl.device.effects import MembersChanged, Reason, StatusChanged, Unauthorized, Unreadable
from reference_impl.device.errors import ApiError, not_member
from reference_impl.device.identity import Identity, new_identity
from reference_impl.device.notices import Notices
from reference_impl.device.outbox import Outbox
from reference_impl.device.session_state import SessionState
from reference_impl.device.store import Kind, OutboxEntry
from reference_impl.device.verdicts import Apply, Drop, Verdict
from reference_impl.wire.content import Content, MalformedError, Manifest, Member, PairingToken

Departing = Literal["leaving", "destroying"]
DEPARTURES: Final[dict[str, Reason]] = {"leaving": "left", "destroying": "destroyed"}
REFUSED: Final = Drop(Unauthorized())
IGNORED: Final = Drop(None)
SYNC: Final[frozenset[Kind]] = frozenset(("sync",))
SYNC_AND_LEAVE: Final[frozenset[Kind]] = frozenset(("sync", "leave"))


class Membership:
    """Judges and applies Group Manifests and Revokes, and carries out `remove`, `leave`, `destroy_group`."""

    def __init__(self, context: Context, state: SessionState, notices: Notices, outbox: Outbox) -> None:
        self._context = context
        self._state = state
        self._notices = notices
        self._outbox = outbox
        self._on_wipe: tuple[Callable[[], None], ...] = ()
        self._on_departure: tuple[Callable[[], None], ...] = ()
        self._departed: Reason = "left"

    def on_wipe(self, *callbacks: Callable[[], None]) -> None:
        """What else has to start over once the wipe is durable."""
        self._on_wipe = callbacks

    def on_departure(self, *callbacks: Callable[[], None]) -> None:
        """What else has to stop once it is durable that this device is on its way out."""
        self._on_departure = callbacks

    # Incoming manifests

    def judge_manifest(self, content: Content, version: int) -> Verdict:
        """CTL-003, CTL-004."""
        try:
            manifest = self._context.codec.decode_manifest(content.body, version)
        except MalformedError:
            return Drop(Unreadable("malformed"))
        if not self.is_signed(manifest):
            return REFUSED
        current = self._state.manifest
        if current is None:
            return self.judge_first_manifest(content, manifest)
        if not self.supersedes(current, manifest):
            return REFUSED
        if not self.includes_me(manifest) and self.is_removal(manifest):
            return Apply(partial(self.be_removed), self.after_wipe)
        return Apply(partial(self.accept_manifest, content.body), self._outbox.pump)

    def is_signed(self, manifest: Manifest) -> bool:
        """By its issuer, under this End-to-End Version (CTL-004)."""
        return manifest.signature_valid

    def judge_first_manifest(self, content: Content, manifest: Manifest) -> Verdict:
        """Without a manifest only the one that the Pending Join waits for (CTL-003)."""
        token = self._state.pending_join
        if token is None or not self.answers_join(token, content, manifest):
            return REFUSED
        return Apply(partial(self.join_group, content.body))

    def answers_join(self, token: PairingToken, content: Content, manifest: Manifest) -> bool:
        """Issued and sealed by the key of the Pairing Token, with this device among the members."""
        return (
            manifest.issued_by == token.signing_pub
            and content.author_pub == token.signing_pub
            and self.includes_me(manifest)
        )

    def includes_me(self, manifest: Manifest) -> bool:
        me = self._state.me
        return any(
            member.signing_pub == me.signing_pub and member.noise_pub == me.noise_pub for member in manifest.members
        )

    def supersedes(self, current: Manifest, manifest: Manifest) -> bool:
        """The conditions of CTL-004, the signature apart."""
        return (
            self.is_same_group(current, manifest)
            and self.is_issued_by_member(current, manifest)
            and self.is_greater(current, manifest)
            and self.is_sane_jump(current, manifest)
        )

    def is_same_group(self, current: Manifest, manifest: Manifest) -> bool:
        return manifest.group_id == current.group_id

    def is_issued_by_member(self, current: Manifest, manifest: Manifest) -> bool:
        """By a member of the manifest that is current here."""
        return any(member.signing_pub == manifest.issued_by for member in current.members)

    def is_greater(self, current: Manifest, manifest: Manifest) -> bool:
        """The higher version wins, on a tie the lower hash."""
        if manifest.version == current.version:
            return manifest.hash < current.hash
        return manifest.version > current.version

    def is_sane_jump(self, current: Manifest, manifest: Manifest) -> bool:
        """A version near the end of the range would freeze the group for good."""
        return manifest.version - current.version <= self._context.limits.manifest_version_jump

    def is_removal(self, manifest: Manifest) -> bool:
        """Only a manifest built on one that included this device removes it, a concurrent one does not."""
        parent = self._state.held(manifest.parent)
        return parent is not None and parent.includes_me

    def join_group(self, body: bytes) -> None:
        with self._context.store.transaction():
            self._state.adopt(body, "member")
        self._notices.event(StatusChanged("member", "joined"))
        self.announce_members()

    def accept_manifest(self, body: bytes) -> None:
        with self._context.store.transaction():
            self._state.adopt(body, self._state.status)
        self.announce_members()

    def be_removed(self) -> None:
        """CTL-005."""
        with self._context.store.transaction():
            self.wipe_state()
        self._notices.event(StatusChanged("notJoined", "removed"))
        self.announce_members()

    # Incoming Revokes

    def judge_revoke(self, content: Content, _version: int) -> Verdict:
        """From any device of any manifest held, else it is refused. A destroying device has forwarded one."""
        if not self._state.ever_knew(content.author_pub):
            return REFUSED
        if self._state.status not in ("member", "leaving"):
            return IGNORED
        return Apply(partial(self.begin_destroying, content.author_pub), self.after_departure_began)

    # Issuing manifests

    def next_manifest(self, members: tuple[Member, ...]) -> bytes:
        """A manifest of this device on top of the current one, signed."""
        current = self._state.manifest
        if current is None:
            manifest = self.signed(self._context.random_bytes(32).hex(), 1, "", members)
        else:
            manifest = self.signed(current.group_id, current.version + 1, current.hash, members)
        return self._context.codec.encode_manifest(manifest, self._context.end_to_end_version)

    def signed(self, group_id: str, version: int, parent: str, members: tuple[Member, ...]) -> Manifest:
        return Manifest(
            group_id=group_id,
            version=version,
            parent=parent,
            members=members,
            issued_by=self._state.me.signing_pub,
            hash="",
            signature_valid=True,
        )

    def members(self) -> tuple[Member, ...]:
        """All members of the current manifest, or this device alone where there is none."""
        manifest = self._state.manifest
        return (self._state.me,) if manifest is None else manifest.members

    def issue_manifest(self, members: tuple[Member, ...], besides: tuple[Member, ...] = ()) -> None:
        """Make a manifest current and queue it for its other members, and for those in `besides`."""
        body = self.next_manifest(members)
        with self._context.store.transaction():
            self._state.adopt(body, "member")
            entries = self.stage("manifest", (*self._state.others(), *besides), body)
        self._outbox.queue(entries)

    def stage(self, kind: Kind, recipients: tuple[Member, ...], body: bytes) -> list[OutboxEntry]:
        return self._outbox.send(kind, [member.noise_pub for member in recipients], body)

    def remove(self, signing_pub: str) -> None:
        """Without `signing_pub`, who is told as well (ADR-0027)."""
        self.require_member()
        removed = self._state.member(signing_pub)
        if removed is None:
            raise ApiError("memberNotFound")
        self.issue_manifest(tuple(m for m in self.members() if m != removed), besides=(removed,))
        self.announce_members()
        self._outbox.pump()

    def require_member(self) -> None:
        if self._state.status != "member":
            raise not_member(self._state.status)

    # Leave and Destroy Group

    def leave(self) -> None:
        """Tell every other member, then wipe once the relay has taken it all."""
        self.require_member()
        me = self._state.me
        body = self.next_manifest(tuple(m for m in self.members() if m.signing_pub != me.signing_pub))
        self.begin_departure("leaving", "leave", self._state.others(), body, SYNC)
        self.after_departure_began()

    def destroy_group(self) -> None:
        """Again while destroying: nothing more to do."""
        if self._state.status == "destroying":
            return
        if self._state.status not in ("member", "leaving"):
            raise not_member(self._state.status)
        self.begin_destroying("")
        self.after_departure_began()

    def begin_destroying(self, author: str) -> None:
        """One Revoke to every other member known, but for its author. An unfinished Leave is abandoned."""
        recipients = tuple(m for m in self._state.others() if m.signing_pub != author)
        self.begin_departure("destroying", "revoke", recipients, b"", SYNC_AND_LEAVE)

    def begin_departure(
        self,
        status: Departing,
        kind: Kind,
        recipients: tuple[Member, ...],
        body: bytes,
        dropped: frozenset[Kind],
    ) -> None:
        """Status, the entries that tell the others and the end of pending sends, in one commit."""
        with self._context.store.transaction():
            self._state.update_status(status)
            gone = self._outbox.discard(dropped)
            entries = self.stage(kind, recipients, body)
        self._outbox.forget(gone)
        self._outbox.queue(entries)
        self._notices.event(StatusChanged(status, None))

    def after_departure_began(self) -> None:
        """Push what tells the others; where there is nobody to tell, the end is now."""
        self.finish_departure()
        self._outbox.pump()
        for callback in self._on_departure:
            callback()

    def finish_departure(self) -> None:
        """Also on start: a process may have died between the last entry and the wipe."""
        if self.completes_with(len(self._outbox.unsent())):
            with self._context.store.transaction():
                self.wipe()
            self.announce()

    def completes_with(self, remaining: int) -> bool:
        """A leave or a destroy is through when nothing is left to push."""
        return self._state.status in DEPARTURES and remaining == 0

    def wipe(self) -> None:
        """Inside a transaction. `announce` follows it."""
        self._departed = DEPARTURES[self._state.status]
        self.wipe_state()

    def announce(self) -> None:
        self._notices.event(StatusChanged("notJoined", self._departed))
        self.announce_members()
        self.after_wipe()

    def wipe_state(self) -> None:
        """Everything goes and the identity last, in one commit: it cannot happen twice (CTL-005)."""
        self._context.store.wipe()
        self._state.begin(new_identity(self._context.random_bytes))

    def after_wipe(self) -> None:
        self._outbox.forget_everything()
        for callback in self._on_wipe:
            callback()

    def announce_members(self) -> None:
        self._notices.event(MembersChanged(self._state.others()))

    # Start

    def provision(self, identity: Identity, manifest_body: bytes | None) -> None:
        """First start: who this device is and which manifest is current. In one commit."""
        with self._context.store.transaction():
            self._state.begin(identity)
            if manifest_body is not None:
                self._state.adopt(manifest_body, "member")

    def upgrade(self) -> None:
        """Sign queued manifests anew for a new End-to-End Version, in one commit (SND-021)."""
        version = self._context.end_to_end_version
        session = self._state.session
        if session.end_to_end_version == version:
            return
        with self._context.store.transaction():
            for entry in self._context.store.outbox():
                if entry.kind in ("manifest", "leave"):
                    self.sign_anew(entry, session.end_to_end_version)
            self._state.write(replace(self._state.session, end_to_end_version=version))

    def sign_anew(self, entry: OutboxEntry, old_version: int) -> None:
        """The signature names the version. The group goes on from the bytes that its members will get."""
        codec = self._context.codec
        body = codec.encode_manifest(codec.decode_manifest(entry.body, old_version), self._context.end_to_end_version)
        self._context.store.add_entry(replace(entry, body=body))
        if entry.body == self._state.session.manifest_body:
            self._state.adopt(body, self._state.status)
