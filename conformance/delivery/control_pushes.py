"""Control messages that the device under test pushes: in words, and what is wrong with one that nearly fits."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.delivery.device_records import Pushed, tag_name
from conformance.delivery.group import Group
from reference_impl.wire.content import Content, MalformedError, Manifest, Tag

SHOWN_MEMBERS = 8
"""More members than these are counted, not named."""


def in_words(content: Content, version: int, group: Group) -> str:
    """What it says, for the reader; empty for a Sync message. `version` is what it is sealed under."""
    if content.tag == Tag.SYNC:
        return ""
    if content.tag != Tag.GROUP_MANIFEST:
        return tag_name(content.tag)
    try:
        manifest = group.codec.decode_manifest(content.body, version)
    except MalformedError as error:
        return f"Group Manifest that cannot be read: {error}"
    kind = "Leave, which is Group Manifest" if is_leave(manifest) else "Group Manifest"
    issuer = group.name_of_signer(manifest.issued_by) or "a stranger"
    signed = signed_under(content.body, version, group)
    signature = f"signed under {signed}" if signed else "signature does not verify"
    return f"{kind} v{manifest.version} of {issuer}: members [{_members(manifest, group)}], {signature}"


def manifest_fault(pushed: Pushed, *, leave: bool, members: Sequence[str] | None, group: Group) -> str:
    """The first check that a pushed Group Manifest fails, as what is said of it; empty if it is the one wanted.

    `leave`: its issuer must not be among the members. `members`: their names, None if any are right.
    """
    try:
        manifest = group.codec.decode_manifest(pushed.body, pushed.version)
    except MalformedError as error:
        return f"cannot be read: {error}"
    if not manifest.signature_valid:
        signed = signed_under(pushed.body, pushed.version, group)
        return (
            f"is signed under End-to-End Version {signed} and sealed under {pushed.version}"
            if signed
            else "has a signature that does not verify"
        )
    if leave != is_leave(manifest):
        return (
            "is no Leave: its issuer is among the members"
            if leave
            else "is a Leave: its issuer is not among the members"
        )
    if members is not None and {group.name_of(each.noise_pub) for each in manifest.members} != set(members):
        return f"has the members [{_members(manifest, group)}]"
    return ""


def is_leave(manifest: Manifest) -> bool:
    return all(each.signing_pub != manifest.issued_by for each in manifest.members)


def signed_under(body: bytes, sealed_under: int, group: Group) -> int:
    """The End-to-End Version under which a manifest's signature verifies, up to the next one; 0 if under none."""
    versions = range(1, sealed_under + 2)
    return next((each for each in versions if group.codec.decode_manifest(body, each).signature_valid), 0)


def _members(manifest: Manifest, group: Group) -> str:
    if len(manifest.members) > SHOWN_MEMBERS:
        return f"{len(manifest.members)} devices"
    return ", ".join(group.name_of(each.noise_pub) or "a stranger" for each in manifest.members)
