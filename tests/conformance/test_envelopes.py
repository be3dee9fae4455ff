"""The Envelopes that the kit seals: right ones open, each fault is one for exactly the reason that it is made for."""

from __future__ import annotations

import json

import pytest

from conformance.delivery.group import Group
from conformance.delivery.peers import key
from conformance.delivery.sealing import Envelopes, Sealing, seal
from reference_impl.wire.content import Codec, Content, MalformedError, PairingToken, Tag
from reference_impl.wire.json_types import Json
from reference_impl.wire.key_ring import KeyRing, UnknownKeyError
from reference_impl.wire.sealed import SealedCodec, to_bytes, to_text

GROUPS = {"sealed": Group(["bob", "carol"]), "plain": Group(["bob", "carol"], plain=True)}
BOB, ALICE = GROUPS["sealed"].peers["bob"], GROUPS["sealed"].alice
CONTENT = Content(BOB.signing_pub, 7, 1_893_456_000_000, Tag.SYNC, b"hello")
SEALING = Sealing(CONTENT, 1, ALICE.noise_pub, key("an ephemeral key"))
FAULTS = {
    "undecodable": "malformed",
    "truncated": "malformed",
    "bad_signature": "signature",
    "swapped_ephemeral": "malformed",
    "readdressed": "malformed",
    "resealed_by_other": "signature",
    "version_relabelled": "malformed",
}


@pytest.fixture(params=sorted(GROUPS))
def envelopes(request: pytest.FixtureRequest) -> Envelopes:
    return GROUPS[request.param].envelopes


def opens(codec: Codec, envelope: Json) -> str:
    """How far it opens: not at all, without its signature, or wholly."""
    try:
        sealed = codec.decrypt(envelope, ALICE.noise_pub)
    except MalformedError:
        return "malformed"
    return "opens" if sealed.signature_valid else "signature"


def test_what_is_sealed_opens(envelopes: Envelopes) -> None:
    envelope = seal(envelopes, SEALING)
    assert envelopes.codec.decrypt(envelope, ALICE.noise_pub).content == CONTENT
    assert envelopes.codec.version_of(envelope) == 1
    assert opens(envelopes.codec, envelope) == "opens"


def test_every_run_seals_the_same(envelopes: Envelopes) -> None:
    assert seal(envelopes, SEALING) == seal(envelopes, SEALING)


def test_both_kinds_have_the_same_faults() -> None:
    assert {name: set(group.envelopes.faults) for name, group in GROUPS.items()} == {
        name: set(FAULTS) for name in GROUPS
    }


@pytest.mark.parametrize(("fault", "fails"), FAULTS.items())
def test_a_fault_is_what_it_says(envelopes: Envelopes, fault: str, fails: str) -> None:
    envelope = seal(envelopes, SEALING, fault)
    assert opens(envelopes.codec, envelope) == fails
    assert envelopes.codec.version_of(envelope) == 1


def test_a_relay_is_shown_the_ephemeral_key_and_what_else_stands_outside() -> None:
    sealed = GROUPS["sealed"].envelopes
    envelope = seal(sealed, SEALING)
    assert set(sealed.shown(envelope)) == {"ephemeral_pub"}
    marked = to_text(to_bytes(envelope) + b"\x7a\x02hi")  # field 15, two bytes
    assert sealed.shown(marked)["Envelope field 15"] == "b'hi'"
    assert opens(sealed.codec, marked) == "opens"
    assert sealed.shown("no base64 at all") == {}


def test_the_device_s_private_keys_are_its_own() -> None:
    assert BOB.noise_private not in repr(BOB)
    assert BOB.signing_private not in repr(BOB)


def test_a_key_that_is_not_held_is_named_by_its_public_half() -> None:
    codec = SealedCodec(KeyRing())
    with pytest.raises(UnknownKeyError, match=BOB.signing_pub):
        codec.seal(CONTENT, 1, ALICE.noise_pub, key("e"))
    with pytest.raises(UnknownKeyError, match=ALICE.noise_pub):
        codec.decrypt(seal(GROUPS["sealed"].envelopes, SEALING), ALICE.noise_pub)


@pytest.mark.parametrize("envelope", [None, 7, {"end_to_end_version": 1}, "not base64!", to_text(b"\xff\xff")])
def test_what_is_no_envelope_is_malformed(envelope: Json) -> None:
    codec = GROUPS["sealed"].codec
    with pytest.raises(MalformedError):
        codec.version_of(envelope)


TOKEN = PairingToken(BOB.noise_pub, BOB.signing_pub, "a secret: ü")


def test_a_pairing_token_is_read_back() -> None:
    codec = GROUPS["sealed"].codec
    assert codec.decode_token(codec.encode_token(TOKEN)) == TOKEN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        json.dumps({"noise_pub": BOB.noise_pub, "signing_pub": BOB.signing_pub}),
        json.dumps({"noise_pub": "ab", "signing_pub": BOB.signing_pub, "secret": "s"}),
        json.dumps({"noise_pub": BOB.noise_pub.upper(), "signing_pub": BOB.signing_pub, "secret": "s"}),
        "[" * 100_000,
    ],
)
def test_what_is_no_pairing_token_is_malformed(text: str) -> None:
    with pytest.raises(MalformedError):
        GROUPS["sealed"].codec.decode_token(text)


@pytest.mark.parametrize("kind", sorted(GROUPS))
@pytest.mark.parametrize("side", ["lower", "higher"])
def test_a_tie_has_its_hash_on_that_side(kind: str, side: str) -> None:
    group = Group(["bob", "carol"], plain=kind == "plain")
    before = group.current.hash
    body = group._tied(group.current, side)
    read = group.codec.decode_manifest(body, 1)
    assert (read.hash < before) == (side == "lower")
    assert read.signature_valid
