"""`python -m tests.codec_vectors`: writes `vectors/codec/` anew."""

from __future__ import annotations

from conformance.data_files import vectors_root
from tests.codec_vectors.every_file import FILES

for each in FILES:
    (vectors_root() / "codec" / each.name).write_text(each.text(), encoding="utf-8")
