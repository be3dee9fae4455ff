"""What a pushed control message is called in a failure, and what is said of one that nearly is the one wanted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.delivery.control_pushes import in_words, manifest_fault
from conformance.delivery.device_records import Pushed
from conformance.delivery.group import Group
from reference_impl.wire.content import Content, Tag

GROUP = Group(["bob", "carol"])
CODEC = GROUP.codec


def manifest(*members: str, issuer: str = "alice", signed_under: int = 1) -> bytes:
    current = replace(
        GROUP.current,
        version=2,
        members=tuple(GROUP.peers[name].member for name in members),
        issued_by=GROUP.peers[issuer].signing_pub,
    )
    return CODEC.encode_manifest(current, signed_under)


def content(tag: int, body: bytes) -> Content:
    return Content(GROUP.peers["alice"].signing_pub, 1, 0, tag, body)


def pushed(body: bytes, sealed_under: int = 1) -> Pushed:
    return Pushed(
        at=0,
        step=0,
        push=1,
        message_id="",
        recipient="bob",
        author_pub="",
        sequence=1,
        sender_timestamp=0,
        tag=Tag.GROUP_MANIFEST,
        body=body,
        version=sealed_under,
        ephemeral_pub="",
        extra={},
    )


@pytest.mark.parametrize(
    ("tag", "body", "words"),
    [
        (Tag.SYNC, b"hi", ""),
        (Tag.REVOKE, b"", "Revoke"),
        (Tag.PAIR, b"{}", "Pair"),
        (
            Tag.GROUP_MANIFEST,
            manifest("alice", "bob"),
            "Group Manifest v2 of alice: members [alice, bob], signed under 1",
        ),
        (
            Tag.GROUP_MANIFEST,
            manifest("bob"),
            "Leave, which is Group Manifest v2 of alice: members [bob], signed under 1",
        ),
        (
            Tag.GROUP_MANIFEST,
            manifest("alice", signed_under=7),
            "Group Manifest v2 of alice: members [alice], signature does not verify",
        ),
    ],
)
def test_a_control_message_is_called_by_what_it_is(tag: int, body: bytes, words: str) -> None:
    assert in_words(content(tag, body), 1, GROUP) == words


def test_a_manifest_that_cannot_be_read_says_so() -> None:
    assert in_words(content(Tag.GROUP_MANIFEST, b"x"), 1, GROUP).startswith("Group Manifest that cannot be read: ")
    assert manifest_fault(pushed(b"x"), leave=False, members=None, group=GROUP).startswith("cannot be read: ")


@pytest.mark.parametrize(
    ("body", "sealed_under", "leave", "fault"),
    [
        (manifest("bob"), 1, True, ""),
        (manifest("alice", "bob"), 1, True, "is no Leave: its issuer is among the members"),
        (manifest("bob"), 1, False, "is a Leave: its issuer is not among the members"),
        (manifest("bob"), 2, True, "is signed under End-to-End Version 1 and sealed under 2"),
        (manifest("bob", signed_under=9), 1, True, "has a signature that does not verify"),
        (manifest("bob", "dave"), 1, True, "has the members [bob, dave]"),
    ],
)
def test_the_first_check_that_fails_is_named(body: bytes, sealed_under: int, leave: bool, fault: str) -> None:
    assert manifest_fault(pushed(body, sealed_under), leave=leave, members=["bob"], group=GROUP) == fault
