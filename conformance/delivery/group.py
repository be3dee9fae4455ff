"""The Sync Group around the device under test: who is in it, which manifest is current, which tokens are out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from conformance.delivery.peers import Peer, key, peer
from conformance.delivery.plain_envelopes import PlainEnvelopes
from conformance.delivery.sealed_envelopes import SealedEnvelopes
from conformance.delivery.sealing import Envelopes
from conformance.engine.argument import Argument
from conformance.outcome import VectorError
from reference_impl.wire.content import Content, MalformedError, Manifest, Member, PairingToken, Tag

ALICE = "alice"
LEAP = 2**32
"""A manifest may be so many versions ahead (CTL-010)."""
PROVISIONED_GROUP = key("group")
"""The id of the group that `provision.manifest` is of."""
NAMES = (ALICE, "bob", "carol", "dave", "erin", "mallory")


class Group:
    """The kit's view of membership. `version` is the End-to-End Version that manifests are signed under."""

    def __init__(self, members: Sequence[str], version: int = 1, *, plain: bool = False) -> None:
        self.peers: dict[str, Peer] = {name: peer(name) for name in NAMES}
        self.envelopes: Envelopes = PlainEnvelopes() if plain else SealedEnvelopes(self.peers.values())
        self.codec = self.envelopes.codec
        self.version = version
        self.tokens: dict[str, str] = {}
        self.requests: dict[str, str] = {}
        self.founding = members
        first = self._manifest([ALICE, *members], 1, "", "bob" if "bob" in members else ALICE)
        self.body = self.codec.encode_manifest(first, version)
        self.current = self.codec.decode_manifest(self.body, version)

    @property
    def alice(self) -> Peer:
        return self.peers[ALICE]

    def name_of(self, noise_pub: str) -> str:
        """Who has this Noise key; empty for nobody the kit knows."""
        return next((each.name for each in self.peers.values() if each.noise_pub == noise_pub), "")

    def name_of_signer(self, signing_pub: str) -> str:
        return next((each.name for each in self.peers.values() if each.signing_pub == signing_pub), "")

    def name_shown_as(self, shown: str) -> str:
        """Whom the device under test means by that name: one that it admitted is called as its own manifest says."""
        known = {each.name: self.name_of(each.noise_pub) for each in self.current.members}
        return known.get(shown) or shown

    def is_member(self, name: str) -> bool:
        return any(each.signing_pub == self.peers[name].signing_pub for each in self.current.members)

    def lasting(self) -> tuple[str, ...]:
        """The members from the start that still are members: those whom the device surely knows as such."""
        return tuple(name for name in self.founding if self.is_member(name))

    def token_of(self, name: str) -> str:
        """A Pairing Token of that peer, as the joining device is shown it."""
        owner = self.peers[name]
        return self.codec.encode_token(PairingToken(owner.noise_pub, owner.signing_pub, f"secret of {name}"))

    def pair_body(self, joiner: Peer, which: str) -> bytes:
        """A Pair of `joiner`, under the secret of one of the windows that alice opened, or of none."""
        secret = "a secret that no window ever had"  # noqa: S105 - a value that must not work
        if which != "wrong":
            if which not in self.tokens:
                raise VectorError(f"no Pairing Token is {which} yet: call start_pairing first")
            try:
                secret = self.codec.decode_token(self.tokens[which]).secret
            except MalformedError as error:
                raise VectorError(f"the Pairing Token of the device cannot be read: {error}") from None
        return self.codec.encode_pair(joiner.noise_pub, joiner.signing_pub, secret)

    def leave_body(self, leaver: str) -> bytes:
        rest = [each for each in self.current.members if each.signing_pub != self.peers[leaver].signing_pub]
        manifest = replace(self._next(leaver), members=tuple(rest))
        return self._published(manifest)

    def manifest_body(self, wanted: Argument, sender: str) -> bytes:
        """A manifest as a vector describes it. One that a device has to accept becomes the current one."""
        manifest = self._next(wanted.text("issued_by", sender))
        if "members" in wanted:
            names = _filled(wanted.texts("members"), wanted.number("filled_to", 0))
            manifest = replace(manifest, members=self._members(names))
        manifest = replace(
            manifest,
            version=self._version(wanted),
            parent=self._parent(wanted.text("parent", "current")),
            group_id=self.current.group_id if wanted.text("group", "same") == "same" else key("other group"),
        )
        if wanted.text("signature", "good") == "bad":
            return self.codec.encode_manifest(manifest, self.version + 7)
        if "tie" in wanted:
            return self._tied(manifest, wanted.text("tie"))
        return self._published(manifest)

    def learn(self, body: bytes) -> Manifest | None:
        """Take over a manifest that the device under test issued, if it is newer than what is known."""
        try:
            manifest = self.codec.decode_manifest(body, self.version)
        except MalformedError:
            return None
        if manifest.version > self.current.version or self.current.group_id != manifest.group_id:
            self.current, self.body = manifest, body
        return manifest

    def group_id_of(self, content: Content, version: int) -> str:
        """Of which group a Group Manifest is; empty for what is none, or cannot be read."""
        if content.tag != Tag.GROUP_MANIFEST:
            return ""
        try:
            return self.codec.decode_manifest(content.body, version).group_id
        except MalformedError:
            return ""

    def _next(self, issuer: str) -> Manifest:
        current = self.current
        signer = self.peers[issuer].signing_pub
        return replace(current, version=current.version + 1, parent=current.hash, issued_by=signer)

    def _version(self, wanted: Argument) -> int:
        if "tie" in wanted:
            return self.current.version
        if "version" in wanted:
            return wanted.number("version")
        return self.current.version + wanted.number("version_jump", 1)

    def _parent(self, which: str) -> str:
        return {
            "current": self.current.hash,
            "previous": self.current.parent,
            "none": "",
            "unrelated": key("unrelated manifest"),
        }[which]

    def _published(self, manifest: Manifest) -> bytes:
        body = self.codec.encode_manifest(manifest, self.version)
        read = self.codec.decode_manifest(body, self.version)
        issuers = {each.signing_pub for each in self.current.members}
        same_group = read.group_id == self.current.group_id
        sane = 0 < read.version - self.current.version <= LEAP
        if same_group and sane and read.issued_by in issuers:
            self.current, self.body = read, body
        return body

    def _tied(self, manifest: Manifest, side: str) -> bytes:
        """Write it so that its hash is on that side of the current one: what its last member is called is free."""
        *others, last = manifest.members
        for number in count(1):
            body = self.codec.encode_manifest(manifest, self.version)
            if (hashlib.sha256(body).hexdigest() < self.current.hash) == (side == "lower"):
                break
            manifest = replace(manifest, members=(*others, replace(last, name=f"{last.name} {number}")))
        if side == "lower":
            self.current, self.body = self.codec.decode_manifest(body, self.version), body
        return body

    def _members(self, names: Sequence[str]) -> tuple[Member, ...]:
        return tuple(self._peer(name).member for name in names)

    def _peer(self, name: str) -> Peer:
        """Members beyond the named ones exist by their name only, to fill a group."""
        found = self.peers.get(name)
        if found is None:
            found = self.peers[name] = peer(name)
            self.codec.hold(found.noise_private, found.signing_private)
        return found

    def _manifest(self, names: Sequence[str], version: int, parent: str, issuer: str) -> Manifest:
        return Manifest(
            group_id=PROVISIONED_GROUP,
            version=version,
            parent=parent,
            members=self._members(names),
            issued_by=self.peers[issuer].signing_pub,
            hash="",
            signature_valid=True,
        )


def _filled(names: Sequence[str], size: int) -> list[str]:
    """These members, and as many others as it takes to be that many."""
    return [*names, *(f"member-{number}" for number in range(len(names) + 1, size + 1))]
