"""Envelopes, Group Manifests and Pairs: what the codec vectors leave to say about the reference."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from reference_impl.wire import envelope, frames, manifest, message_id, pair, sealed_plaintext
from reference_impl.wire.content import Content, MalformedError, Manifest, Member, Tag
from reference_impl.wire.keys import SigningKey, verifies
from tests.reference_impl.noise_sides import DEVICE, RELAY, key

ROOT = Path(__file__).parents[2]
SEED = 20_261_201
AUTHOR = SigningKey.from_private(bytes(range(32)))
CONTENT = Content(AUTHOR.public.hex(), 42, 1_764_547_200_000, 2, b"hello", ("ab" * 32,))
SEALED = envelope.seal(CONTENT, 1, DEVICE.public, key("ephemeral"), AUTHOR)
MANIFEST = Manifest(
    group_id="01" * 16,
    version=7,
    parent="",
    members=(Member(DEVICE.public.hex(), AUTHOR.public.hex(), "alice"),),
    issued_by=AUTHOR.public.hex(),
    hash="",
    signature_valid=True,
)
WRITTEN = manifest.encode(MANIFEST, 1, AUTHOR)
PAIR = pair.encode(DEVICE.public, AUTHOR.public, b"secret")


def test_the_domains_and_limits_are_those_of_the_profile() -> None:
    profile = yaml.safe_load((ROOT / "vectors" / "spec" / "wire-draft-1.yaml").read_text(encoding="utf-8"))

    def domain(part: dict[str, dict[str, str]]) -> bytes:
        return part["domain"]["ascii"].encode("ascii") + bytes.fromhex(part["domain"]["ends_with"])

    assert domain(profile["envelope"]["signature"]) == envelope.SIGNATURE_DOMAIN
    assert domain(profile["envelope"]["key"]) == envelope.KEY_DOMAIN
    assert domain(profile["group_manifest"]["signature"]) == manifest.DOMAIN
    assert domain(profile["pair"]["proof"]) == pair.DOMAIN
    assert domain(profile["message_id"]) == message_id.DOMAIN
    assert profile["message_id"]["prefix"] == message_id.PREFIX
    assert bytes.fromhex(profile["envelope"]["cipher"]["nonce"]) == envelope.NONCE
    assert profile["envelope"]["max_bytes"] == frames.MAX_ENVELOPE
    assert {tag.name.lower(): f"{tag:02x}" for tag in Tag} == profile["envelope"]["tags"]


@pytest.mark.parametrize("name", ["envelope", "manifest"])
def test_the_generated_modules_are_those_of_the_proto_files(name: str, tmp_path: Path) -> None:
    """Compared by their descriptor: the rest depends on the version of protoc."""
    command = [sys.executable, "-m", "grpc_tools.protoc", "-Ivectors/spec", f"--python_out={tmp_path}", f"{name}.proto"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)
    descriptor = re.compile(r"AddSerializedFile\((b'.*')\)")
    made, kept = (
        descriptor.search((folder / f"{name}_pb2.py").read_text(encoding="utf-8"))
        for folder in (tmp_path, ROOT / "reference_impl" / "wire")
    )
    assert made is not None
    assert kept is not None
    assert made[1] == kept[1], "write them anew with: make protobuf"


def test_what_was_sealed_is_opened() -> None:
    outer = envelope.decode(SEALED)
    assert (outer.end_to_end_version, outer.recipient_pub) == (1, DEVICE.public)
    sealed = envelope.open_sealed(outer, DEVICE)
    assert (sealed.content, sealed.signature_valid) == (CONTENT, True)
    with pytest.raises(MalformedError, match="sealed for another device"):
        envelope.open_sealed(outer, RELAY)


def test_the_version_is_read_of_an_envelope_that_holds_garbage() -> None:
    assert envelope.decode(envelope.encode(envelope.Envelope(9, b"", b"?", b""))).end_to_end_version == 9


TOO_LARGE = [
    (replace(CONTENT, author_pub="00" * 32), "signed by the author that it names"),
    (replace(CONTENT, sequence=2**64), "Sequence"),
    (replace(CONTENT, sequence=-1), "Sequence"),
    (replace(CONTENT, sender_timestamp=2**64), "Sender Timestamp"),
    (replace(CONTENT, tag=256), "tag"),
    (replace(CONTENT, parents=("ab" * 32,) * 256), "at most 255 parents"),
    (replace(CONTENT, parents=("ab" * 31,)), "32 bytes each"),
]


@pytest.mark.parametrize(("content", "said"), TOO_LARGE)
def test_what_fits_in_no_envelope_is_told(content: Content, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        envelope.seal(content, 1, DEVICE.public, key("ephemeral"), AUTHOR)


def test_what_fits_in_no_manifest_or_pair_is_told() -> None:
    with pytest.raises(ValueError, match="signed by the issuer that it names"):
        manifest.encode(replace(MANIFEST, issued_by="00" * 32), 1, AUTHOR)
    with pytest.raises(ValueError, match="unsigned 64-bit number, not 18446744073709551616"):
        manifest.encode(replace(MANIFEST, version=2**64), 1, AUTHOR)
    with pytest.raises(ValueError, match="32 bytes each"):
        pair.encode(DEVICE.public[:31], AUTHOR.public, b"secret")


def test_a_key_with_which_no_secret_can_be_shared_is_malformed() -> None:
    outer = replace(envelope.decode(SEALED), ephemeral_pub=bytes(32))
    with pytest.raises(MalformedError, match="no secret can be shared"):
        envelope.open_sealed(outer, DEVICE)


def test_a_signing_key_hides_its_private_half_and_no_garbage_verifies() -> None:
    made = SigningKey.generate()
    assert made.private.hex() not in repr(made)
    assert SigningKey.from_private(made.private) == made
    assert verifies(made.public, made.sign(b"text"), b"text")
    signature = made.sign(b"text")
    for public, text in ((made.public, b"texts"), (b"", b"text"), (b"\xff" * 32, b"text"), (AUTHOR.public, b"text")):
        assert not verifies(public, signature, text)
    for wrong in (b"", bytes(64), signature[:-1], signature + b"\0"):
        assert not verifies(made.public, wrong, b"text")


def opened(data: bytes) -> None:
    envelope.open_sealed(envelope.decode(data), DEVICE)


def resealed(plaintext: bytes) -> None:
    opened(envelope.seal_plaintext(plaintext, 1, DEVICE.public, key("ephemeral")))


PLAINTEXT = envelope.open_plaintext(envelope.decode(SEALED), DEVICE)
READERS: list[tuple[Callable[[bytes], object], bytes, int]] = [
    (opened, SEALED, 4_000),
    (resealed, PLAINTEXT, 2_000),
    (sealed_plaintext.decode, PLAINTEXT, 10_000),
    (lambda data: manifest.decode(data, 1), WRITTEN, 6_000),
    (pair.decode, PAIR, 2_000),
]


@pytest.mark.parametrize(("read", "sample", "count"), READERS)
def test_random_and_changed_bytes_raise_nothing_but_malformed(
    read: Callable[[bytes], object], sample: bytes, count: int
) -> None:
    print(f"seed {SEED}")
    random_ = random.Random(SEED)  # noqa: S311 - repeatable, no secret
    refused = 0
    for _ in range(count):
        data = bytearray(sample)
        place = random_.randrange(len(data))
        data[place : place + random_.randrange(4)] = random_.randbytes(random_.randrange(4))
        try:
            read(bytes(data) if random_.random() < 0.9 else random_.randbytes(random_.randrange(200)))
        except MalformedError:
            refused += 1
    assert refused > count // 10
