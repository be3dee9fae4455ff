"""What a manifest says of a container: the image, what runs in it, and how much it may use."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Sandbox:
    """`command` is what follows the image in `docker run`, empty for the image's own. `memory` in bytes, no swap.

    `pids` counts processes and threads. The root file system is read-only unless `writable`.
    """

    image: str
    command: tuple[str, ...] = ()
    memory: int = 512 * MEBIBYTE
    pids: int = 256
    writable: bool = False
