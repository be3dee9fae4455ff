"""Two of the Noise vectors that the cacophony project published (vectors/cacophony.txt, Unlicense)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    prologue: str
    init_static: str | None
    init_ephemeral: str
    resp_static: str
    resp_ephemeral: str
    handshake_hash: str
    messages: Sequence[Mapping[str, str]]


PUBLISHED = {
    "XX": Published(
        prologue="4a6f686e2047616c74",
        init_static="e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1",
        init_ephemeral="893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a",
        resp_static="4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893",
        resp_ephemeral="bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b",
        handshake_hash="6c4c56cf71612f72d05ceb96c0155e6f4ea54a26b504c93de632a2db4a49d200",
        messages=[
            {
                "payload": "4c756477696720766f6e204d69736573",
                "ciphertext": (
                    "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c79444c756477696720766f6e204d69736573"
                ),
            },
            {
                "payload": "4d757272617920526f746862617264",
                "ciphertext": (
                    "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f1448088437c365eb362a1c991"
                    "b0557fe8a7fb187d99346765d93ec63db6c1b01504ebeec55a2298d2dbff80eff034d20595153f63"
                    "a196a6cead1e11b2bb13e336fa13616dd3e8b0a070c882ed3f1a78c7c06c93"
                ),
            },
            {
                "payload": "462e20412e20486179656b",
                "ciphertext": (
                    "46c3307de83b014258717d97781c1f50936d8b7d50c0722a1739654d10392d415b670c114f79b9a4"
                    "f80541570f77ce88802efa4220cff733e7b5668ba38059ec904b4b8eef9448085faf51"
                ),
            },
            {
                "payload": "4361726c204d656e676572",
                "ciphertext": "d5e83adfaac5dc324a68f1862df54549e56d209fba707205f328b2",
            },
            {
                "payload": "4a65616e2d426170746973746520536179",
                "ciphertext": "d102c9029b1f55c788f561ba7737afbccef9c9f1bf2f238167fd40ba9c1c134867",
            },
            {
                "payload": "457567656e2042f6686d20766f6e2042617765726b",
                "ciphertext": ("cb1ce80960382c6d5d5e740ffb724d1432f0310b200fb6f8424120f506092744baa415e155"),
            },
        ],
    ),
    "NK": Published(
        prologue="4a6f686e2047616c74",
        init_static=None,
        init_ephemeral="893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a",
        resp_static="4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893",
        resp_ephemeral="bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b",
        handshake_hash="d7244d974066aae2376f7ba5534f60a6e4e82cd7c9751e226cae3928e6b49f14",
        messages=[
            {
                "payload": "4c756477696720766f6e204d69736573",
                "ciphertext": (
                    "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c794454ae7612d1724af4"
                    "2adb130160a9a94e67b5b169b4e00c189f6467cd17eb7cad"
                ),
            },
            {
                "payload": "4d757272617920526f746862617264",
                "ciphertext": (
                    "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843986a5c929337e337"
                    "ac8b4a074af12ab9f76318a5f18c8b599a443af07383ce"
                ),
            },
            {
                "payload": "462e20412e20486179656b",
                "ciphertext": "550027c7a5d450017bcb5e12b8253b1c53fd2213aeda84891d5f95",
            },
            {
                "payload": "4361726c204d656e676572",
                "ciphertext": "dfbce0c38210ccee35e830aca9dd8b8b3997b933e75bfc8864b759",
            },
            {
                "payload": "4a65616e2d426170746973746520536179",
                "ciphertext": "4c487a88330c7c65e44d430addf3d92d2a15b081a2892b96693e00b68aec0adac2",
            },
            {
                "payload": "457567656e2042f6686d20766f6e2042617765726b",
                "ciphertext": ("471cb9f8252d8ae7b25c93f4b4aebdbf25e5baa23f14bc743559e3ef7fd065e69cfaef55ee"),
            },
        ],
    ),
}
