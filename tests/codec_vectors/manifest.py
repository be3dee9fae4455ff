"""CDC-006: Group Manifests and Pairs, put together by hand."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from reference_impl.wire.json_types import JsonObject
from tests.codec_vectors.envelope import Message, noise_pub, private, signing_pub, u32
from tests.codec_vectors.protobuf import field_bytes, field_number
from tests.codec_vectors.writing import CodecFile, Vector, cut, gives, read_back, refused

EITHER = ("bad_signature", "malformed")
UNPROVEN = ("malformed", "unauthenticated", "bad_signature")
ISSUER, STRANGER = private("issuer"), private("another issuer")
SECRET = private("pairing secret")[:16]
MAX_ENVELOPE = 65_482


@dataclass(frozen=True, slots=True)
class Member:
    noise_pub: bytes
    signing_pub: bytes
    name: str

    def data(self) -> bytes:
        return field_bytes(1, self.noise_pub) + field_bytes(2, self.signing_pub) + field_bytes(3, self.name.encode())

    def fields(self) -> JsonObject:
        return {"noise_pub": self.noise_pub.hex(), "signing_pub": self.signing_pub.hex(), "name": self.name}


def member(name: str) -> Member:
    return Member(noise_pub(private(f"{name}, noise")), signing_pub(private(f"{name}, signing")), name)


FOUNDER = Member(noise_pub(private("issuer, noise")), signing_pub(ISSUER), "alice")


@dataclass(frozen=True, slots=True)
class GroupManifest:
    group_id: bytes = private("group")
    version: int = 7
    parent: bytes = private("parent")
    members: tuple[Member, ...] = (FOUNDER, member("bob"), member("carol"))
    issued_by: bytes = signing_pub(ISSUER)
    end_to_end_version: int = 1

    def unsigned(self) -> bytes:
        head = field_bytes(1, self.group_id) + field_number(2, self.version) + field_bytes(3, self.parent)
        return head + b"".join(field_bytes(4, each.data()) for each in self.members) + field_bytes(5, self.issued_by)

    def signature(self, signer: bytes = ISSUER, domain: bytes = b"trueseal-manifest-v1\0") -> bytes:
        text = domain + u32(self.end_to_end_version) + self.unsigned()
        return Ed25519PrivateKey.from_private_bytes(signer).sign(text)

    def data(self) -> bytes:
        return self.unsigned() + field_bytes(6, self.signature())

    def fields(self) -> JsonObject:
        return {
            "group_id": self.group_id.hex(),
            "version": str(self.version),
            "parent": self.parent.hex(),
            "members": [each.fields() for each in self.members],
        }

    def read(self, data: bytes) -> JsonObject:
        return {**self.fields(), "issued_by": self.issued_by.hex(), "hash": sha256(data).hexdigest()}


PLAIN = GroupManifest()
LARGEST = GroupManifest(
    members=(FOUNDER, *(member(f"member {number:02} of a group".ljust(64, ".")) for number in range(31)))
)
MANIFESTS = {
    "three-members": PLAIN,
    "first-of-its-group": GroupManifest(version=1, parent=b"", members=(FOUNDER,)),
    "largest-version": GroupManifest(version=2**64 - 1),
    "version-above-53-bits": GroupManifest(version=2**53 + 1),
    "names-beyond-ascii": GroupManifest(members=(FOUNDER, replace(member("dave"), name="Zoë 手机"))),
    "32-members": LARGEST,
}


def reading(data: bytes, version: int = 1) -> JsonObject:
    return {"manifest": data.hex(), "end_to_end_version": version}


def spoilt() -> list[JsonObject]:
    """Each field changed behind the issuer's back, and signatures over something else."""
    signature = PLAIN.signature()
    bob, carol = PLAIN.members[1:]
    changed = {
        "group-id": replace(PLAIN, group_id=private("another group")),
        "version": replace(PLAIN, version=8),
        "parent": replace(PLAIN, parent=private("another parent")),
        "no-parent": replace(PLAIN, parent=b""),
        "member-left-out": replace(PLAIN, members=(FOUNDER, bob)),
        "member-added": replace(PLAIN, members=(*PLAIN.members, member("mallory"))),
        "members-in-another-order": replace(PLAIN, members=(FOUNDER, carol, bob)),
        "noise-key-of-a-member": replace(PLAIN, members=(FOUNDER, bob, replace(carol, noise_pub=bob.noise_pub))),
        "signing-key-of-a-member": replace(PLAIN, members=(FOUNDER, bob, replace(carol, signing_pub=bob.signing_pub))),
        "name-of-a-member": replace(PLAIN, members=(FOUNDER, bob, replace(carol, name="carla"))),
        "issuer": replace(PLAIN, issued_by=signing_pub(STRANGER)),
    }
    rows = [
        refused(f"changed-{name}", reading(other.unsigned() + field_bytes(6, signature)), "bad_signature")
        for name, other in changed.items()
    ]
    flipped = bytearray(signature)
    flipped[0] ^= 1
    signatures = {
        "signature-changed": bytes(flipped),
        "signature-of-another": PLAIN.signature(STRANGER),
        "signature-without-the-domain": PLAIN.signature(domain=b""),
        "signature-of-another-domain": PLAIN.signature(domain=b"trueseal-envelope-v1\0"),
        "signature-under-version-2": replace(PLAIN, end_to_end_version=2).signature(),
    }
    rows += [
        refused(name, reading(PLAIN.unsigned() + field_bytes(6, each)), "bad_signature")
        for name, each in signatures.items()
    ]
    shapes = {"signature-of-63-bytes": field_bytes(6, signature[:63]), "no-signature": b""}
    rows += [refused(name, reading(PLAIN.unsigned() + each), *EITHER) for name, each in shapes.items()]
    rows.append(refused("no-protobuf", reading(b"\xff" * 40), "malformed"))
    rows.append(cut("cut-at-every-byte", reading(PLAIN.data()), "manifest", *EITHER))
    return rows


def sealed_largest() -> Message:
    return Message(tag=4, body=LARGEST.data())


NOISE_PUB, SIGNING_PUB = FOUNDER.noise_pub, FOUNDER.signing_pub


def proof(secret: bytes, text: bytes, domain: bytes = b"trueseal-pair-v1\0") -> bytes:
    return hmac.digest(secret, domain + text, "sha256")


def pair(noise: bytes = NOISE_PUB, signing: bytes = SIGNING_PUB, proven: bytes | None = None) -> bytes:
    return noise + signing + (proof(SECRET, noise + signing) if proven is None else proven)


def pairing(data: bytes, secret: bytes = SECRET) -> JsonObject:
    return {"data": data.hex(), "secret": secret.hex()}


def spoilt_pairs() -> list[JsonObject]:
    right = proof(SECRET, NOISE_PUB + SIGNING_PUB)
    flipped = bytes((right[0] ^ 1,)) + right[1:]
    other_noise, other_signing = noise_pub(private("x")), signing_pub(private("x"))
    wrong = {
        "another-secret": pairing(pair(), private("another secret")[:16]),
        "proof-changed": pairing(pair(proven=flipped)),
        "noise-key-changed": pairing(pair(noise=other_noise, proven=right)),
        "signing-key-changed": pairing(pair(signing=other_signing, proven=right)),
        "keys-exchanged": pairing(pair(SIGNING_PUB, NOISE_PUB, right)),
        "proof-without-the-domain": pairing(pair(proven=proof(SECRET, NOISE_PUB + SIGNING_PUB, b""))),
        "proof-of-one-key": pairing(pair(proven=proof(SECRET, NOISE_PUB))),
    }
    rows = [refused(name, params, "unauthenticated", "bad_signature") for name, params in wrong.items()]
    rows.append(refused("a-byte-behind-it", pairing(pair() + b"\0"), *UNPROVEN))
    rows.append(cut("cut-at-every-byte", pairing(pair()), "data", *UNPROVEN))
    return rows


def codec_file() -> CodecFile:
    keys: JsonObject = {"noise_pub": NOISE_PUB.hex(), "signing_pub": SIGNING_PUB.hex()}
    largest = sealed_largest()
    recipient: JsonObject = {"recipient_private": largest.recipient.hex()}
    vectors = [
        Vector("MANIFEST-001", "A Group Manifest is read", "CDC-006", "decode_manifest", [
            gives(name, reading(each.data()), each.read(each.data())) for name, each in MANIFESTS.items()
        ]),
        Vector("MANIFEST-002", "A Group Manifest that was changed is refused", "CDC-006", "decode_manifest", spoilt()),
        Vector("MANIFEST-003", "A Group Manifest is written", "CDC-006", "encode_manifest", [
            read_back(
                name,
                {**each.fields(), "issuer_private": ISSUER.hex(), "end_to_end_version": 1},
                "codec.decode_manifest", {"end_to_end_version": 1},
                {**each.fields(), "issued_by": each.issued_by.hex()},
            )
            for name, each in MANIFESTS.items()
        ]),
        Vector("MANIFEST-004", "The manifest of the largest group is sealed into one frame", "CDC-008", "seal", [
            read_back("32-members", largest.params(), "codec.open", recipient, largest.opened(), at_most=MAX_ENVELOPE),
        ]),
        Vector("PAIR-001", "A Pair is written", "CDC-006", "encode_pair", [
            gives("with-its-proof", {**keys, "secret": SECRET.hex()}, {"data": pair().hex()}),
        ]),
        Vector("PAIR-002", "A Pair is read under its secret", "CDC-006", "decode_pair", [
            gives("with-its-proof", pairing(pair()), keys),
        ]),
        Vector("PAIR-003", "A Pair without a right proof is refused", "CDC-006", "decode_pair", spoilt_pairs()),
    ]  # fmt: skip
    return CodecFile("manifest_and_pair.json", "Group Manifests and Pairs: what is signed and proven", vectors)
