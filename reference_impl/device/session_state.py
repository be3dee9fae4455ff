"""Session State: who this device is, which group it is in and where it stands there."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace

from reference_impl.device.context import Context
from reference_impl.device.effects import Status
from reference_impl.device.identity import Identity
from reference_impl.wire.content import Content, Manifest, Member, PairingToken
from reference_impl.wire.json_types import JsonObject
from reference_impl.wire.message_id import message_id

MANIFESTS = "manifests"
SEQUENCE = "sequence"
SESSION = "session"


@dataclass(frozen=True, slots=True)
class HeldManifest:
    """What must be remembered of each manifest ever held: a removal names it, a Revoke is judged by it."""

    includes_me: bool
    authors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Session:
    """`manifest_body` is the current manifest as it was signed, under `manifest_version` (End-to-End)."""

    identity: Identity
    status: Status = "notJoined"
    manifest_body: bytes = b""
    manifest_version: int = 0
    pending_join: str = ""
    end_to_end_version: int = 0


class SessionState:
    """Reads Session State at the start and writes it inside the transactions of its owners."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._session: Session | None = None
        self._manifest: Manifest | None = None
        self._held: dict[str, HeldManifest] = {}
        self._sequence = 0

    def load(self) -> bool:
        """Take over what is stored. False on the first start, when nothing is."""
        store = self._context.store
        text = store.read(SESSION)
        if text is None:
            return False
        self._session = _session_from(json.loads(text))
        self._hold_keys(self._session.identity)
        self._sequence = int(store.read(SEQUENCE) or "0")
        held = json.loads(store.read(MANIFESTS) or "{}")
        self._held = {name: HeldManifest(bool(mine), tuple(authors)) for name, (mine, authors) in held.items()}
        self._manifest = self._current()
        return True

    def _hold_keys(self, identity: Identity) -> None:
        self._context.codec.hold(identity.noise_private, identity.signing_private)

    def _current(self) -> Manifest | None:
        if not self.session.manifest_body:
            return None
        return self._context.codec.decode_manifest(self.session.manifest_body, self.session.manifest_version)

    @property
    def session(self) -> Session:
        if self._session is None:
            raise RuntimeError("Session State was used before it was loaded or created")
        return self._session

    @property
    def identity(self) -> Identity:
        return self.session.identity

    @property
    def me(self) -> Member:
        return self.session.identity.member

    @property
    def status(self) -> Status:
        return self.session.status

    @property
    def manifest(self) -> Manifest | None:
        return self._manifest

    @property
    def pending_join(self) -> PairingToken | None:
        text = self.session.pending_join
        return self._context.codec.decode_token(text) if text else None

    def others(self) -> tuple[Member, ...]:
        """Every other current member (SND-001)."""
        return () if self._manifest is None else others_in(self._manifest, self.me)

    def member(self, signing_pub: str) -> Member | None:
        """The other current member with this id."""
        for member in self.others():
            if member.signing_pub == signing_pub:
                return member
        return None

    def held(self, manifest_hash: str) -> HeldManifest | None:
        """A manifest that is or was current here, by its hash."""
        return self._held.get(manifest_hash)

    def ever_knew(self, signing_pub: str) -> bool:
        """Whether a device appears in any manifest held for this group (ADR-0029)."""
        return any(signing_pub in held.authors for held in self._held.values())

    def write(self, session: Session) -> None:
        """Replace the session. Inside a transaction."""
        self._session = session
        self._context.store.write(SESSION, json.dumps(_session_fields(session)))

    def update_status(self, status: Status, *, pending_join: str = "") -> None:
        """Inside a transaction."""
        self.write(replace(self.session, status=status, pending_join=pending_join))

    def adopt(self, body: bytes, status: Status) -> Manifest:
        """Make a manifest the current one, end a Pending Join. Inside a transaction."""
        version = self._context.end_to_end_version
        manifest = self._context.codec.decode_manifest(body, version)
        self.write(
            replace(
                self.session,
                status=status,
                pending_join="",
                manifest_body=body,
                manifest_version=version,
            )
        )
        self._manifest = manifest
        authors = tuple(member.signing_pub for member in manifest.members)
        self._held[manifest.hash] = HeldManifest(self.me.signing_pub in authors, authors)
        held = {name: [held.includes_me, list(held.authors)] for name, held in self._held.items()}
        self._context.store.write(MANIFESTS, json.dumps(held))
        return manifest

    def begin(self, identity: Identity) -> None:
        """Start over as `identity`, in no group, with nothing known. Inside a transaction that wiped."""
        self._manifest, self._held, self._sequence = None, {}, 0
        self._hold_keys(identity)
        self.write(Session(identity, end_to_end_version=self._context.end_to_end_version))

    def take_sequence(self) -> int:
        """The next Sequence, durable with the message that uses it (SND-025). Inside a transaction."""
        self._sequence += 1
        self._context.store.write(SEQUENCE, str(self._sequence))
        return self._sequence

    def message_id(self, sequence: int) -> str:
        return message_id(self.me.signing_pub, sequence)

    def content(self, sequence: int, sender_timestamp: int, tag: int, body: bytes) -> Content:
        return Content(self.me.signing_pub, sequence, sender_timestamp, tag, body)


def others_in(manifest: Manifest, me: Member) -> tuple[Member, ...]:
    return tuple(member for member in manifest.members if member.signing_pub != me.signing_pub)


def _session_fields(session: Session) -> JsonObject:
    identity = session.identity
    return {
        "noise_pub": identity.member.noise_pub,
        "signing_pub": identity.member.signing_pub,
        "name": identity.member.name,
        "noise_private": identity.noise_private,
        "signing_private": identity.signing_private,
        "status": session.status,
        "manifest_body": base64.b64encode(session.manifest_body).decode("ascii"),
        "manifest_version": session.manifest_version,
        "pending_join": session.pending_join,
        "end_to_end_version": session.end_to_end_version,
    }


def _session_from(fields: dict[str, str]) -> Session:
    statuses: dict[str, Status] = {
        "notJoined": "notJoined",
        "pendingJoin": "pendingJoin",
        "member": "member",
        "leaving": "leaving",
        "destroying": "destroying",
    }
    return Session(
        identity=Identity(
            Member(fields["noise_pub"], fields["signing_pub"], fields["name"]),
            fields["noise_private"],
            fields["signing_private"],
        ),
        status=statuses[fields["status"]],
        manifest_body=base64.b64decode(fields["manifest_body"]),
        manifest_version=int(fields["manifest_version"]),
        pending_join=fields["pending_join"],
        end_to_end_version=int(fields["end_to_end_version"]),
    )
