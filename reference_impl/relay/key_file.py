"""The relay's long-term Noise key: a file for its owner's eyes, and beside it one with the public key for everybody."""

from __future__ import annotations

import os
from pathlib import Path

from reference_impl.wire.errors import WireError
from reference_impl.wire.noise import KeyPair

PUBLIC_NAME = "relay.pub"


class KeyFileError(Exception):
    """The key cannot be read or made: a sentence with what to do."""


def load_or_make(path: Path) -> KeyPair:
    """The key pair of the file, 64 hex digits; a new one, mode 0600, if there is no such file. Raises KeyFileError.

    Writes `relay.pub` beside it: the public key as 64 hex digits and a line feed.
    """
    try:
        if not path.exists():
            _write_new(path)
        pair = KeyPair.from_private(bytes.fromhex(path.read_text(encoding="ascii").strip()))
        (path.parent / PUBLIC_NAME).write_text(pair.public.hex() + "\n", encoding="ascii")
    except OSError as error:
        raise KeyFileError(f"The key file {path} cannot be used: {error.strerror}; give another --key.") from None
    except (WireError, ValueError):
        raise KeyFileError(f"The key file {path} does not hold 64 hex digits; give another --key.") from None
    return pair


def _write_new(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(KeyPair.generate().private.hex() + "\n")
        file.flush()
        os.fsync(file.fileno())
