"""A private data folder for one run of a vector, gone with it."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "conformance-"


@contextlib.contextmanager
def private_folder(parent: Path | None = None) -> Iterator[Path]:
    """An empty folder in `parent`, or among the temporary files, that only this user may enter."""
    folder = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
