"""The Pairing Token, as text: it travels outside the relay's sight, so no cryptography depends on its form."""

from __future__ import annotations

import json
import re

from reference_impl.wire.content import MalformedError, PairingToken

FIELDS = ("noise_pub", "signing_pub", "secret")
KEY = re.compile(r"[0-9a-f]{64}")


def encode(token: PairingToken) -> str:
    """A JSON object with the keys of the device that opened the Pairing Window, and its secret."""
    fields = {"noise_pub": token.noise_pub, "signing_pub": token.signing_pub, "secret": token.secret}
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def decode(text: str) -> PairingToken:
    """Raises MalformedError."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"a Pairing Token is not JSON: {error}") from None
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in FIELDS):
        raise MalformedError(f"a Pairing Token is not an object with the texts {', '.join(FIELDS)}")
    for name in FIELDS[:2]:
        if KEY.fullmatch(fields[name]) is None:
            raise MalformedError(f"{name} is not 32 bytes as lower-case hex")
    return PairingToken(*(fields[name] for name in FIELDS))
