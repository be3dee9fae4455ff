"""All codec files, as the oracles compute them."""

from __future__ import annotations

from tests.codec_vectors import envelope, frames, manifest, message_id, noise, relay_address, version_prefix
from tests.codec_vectors.writing import CodecFile

FILES: tuple[CodecFile, ...] = tuple(
    module.codec_file() for module in (envelope, frames, manifest, message_id, noise, relay_address, version_prefix)
)
