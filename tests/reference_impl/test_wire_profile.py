"""The profiles as the reference reads them."""

from __future__ import annotations

import pytest

from reference_impl.wire.errors import ProfileError
from reference_impl.wire.profile import load_profile, profile_names
from tests.reference_impl.noise_sides import DRAFT, UNVERSIONED

REASONS = [
    ("generic", 0x00),
    ("too_large", 0x01),
    ("malformed", 0x02),
    ("inbox_full", 0x10),
    ("rate_limited", 0x11),
    ("unavailable", 0x12),
    ("internal_error", 0x13),
]


@pytest.mark.parametrize(("code", "byte"), REASONS)
def test_each_reason_both_ways(code: str, byte: int) -> None:
    assert DRAFT.reason_byte(code) == byte
    assert DRAFT.code_of(byte) == code
    assert DRAFT.error_body(code) == bytes([byte])
    assert DRAFT.code_of_body(bytes([byte])) == code
    assert UNVERSIONED.reason_byte(code) is None
    assert UNVERSIONED.error_body(code) == b""


def test_each_other_byte_is_no_reason() -> None:
    for byte in set(range(256)) - {byte for _, byte in REASONS}:
        with pytest.raises(ProfileError, match=f"0x{byte:02x} is no error reason of the wire profile draft-1"):
            DRAFT.code_of(byte)


def test_what_the_profiles_say() -> None:
    assert profile_names() == ["draft-1", "unversioned"]
    assert (DRAFT.magic, DRAFT.version_prefix, DRAFT.prefix_bytes) == (b"TS", True, 4)
    assert (DRAFT.transport_version_min, DRAFT.transport_version_max) == (1, 1)
    assert DRAFT.permanent == {"too_large", "malformed"}
    assert (DRAFT.unknown_frames, DRAFT.heartbeats_begun_by, DRAFT.inexpressible) == ("error", "device", {})
    assert (UNVERSIONED.magic, UNVERSIONED.version_prefix, UNVERSIONED.prefix_bytes) == (b"", False, 0)
    assert (UNVERSIONED.unknown_frames, UNVERSIONED.heartbeats_begun_by) == ("drop", "either")
    assert "RLY-017" in UNVERSIONED.inexpressible
    assert UNVERSIONED.code_of_body(b"") == "generic"


@pytest.mark.parametrize("body", [b"", b"\x00\x00"])
def test_an_error_frame_has_one_byte_of_reason(body: bytes) -> None:
    with pytest.raises(ProfileError, match=f"one byte of reason, not {len(body)}"):
        DRAFT.code_of_body(body)


@pytest.mark.parametrize("name", ["draft-2", "", "../spec/wire-draft-1", "draft-1\0"])
def test_a_profile_that_does_not_exist_is_told(name: str) -> None:
    with pytest.raises(ProfileError, match=r"There is no wire profile .*; there are draft-1, unversioned\."):
        load_profile(name)


def test_a_word_that_is_no_code_is_told() -> None:
    with pytest.raises(ProfileError, match="toolarge is no refusal code of the wire profile draft-1; use generic, "):
        DRAFT.reason_byte("toolarge")
