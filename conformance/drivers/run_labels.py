"""Labels on everything that the kit leaves with a container engine: whose it is, and whether that run still lives.

A run that is killed cannot clean up. The next one finds what it left by these labels.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path

RUN = "org.trueseal.conformance.run"
"""The process that started it, as `PID START BOOT`: pids are used again, pids with their start time are not."""
PLACE = "org.trueseal.conformance.place"
"""Where that process is to be looked for: engines can be shared with other machines and containers."""
FOLDER = "org.trueseal.conformance.folder"
"""The folder of the host that its data lies in."""


def labels(folder: Path | None = None) -> dict[str, str]:
    """For something that this process starts."""
    mine = {RUN: _run(os.getpid()), PLACE: place()}
    return {**mine, FOLDER: str(folder)} if folder is not None else mine


def place() -> str:
    """This machine, or this container on it."""
    return f"{socket.gethostname()} {_link_target('/proc/self/ns/pid')}"


def is_left_over(found: Mapping[str, str]) -> bool:
    """Whether these are the labels of a run of this place that has ended."""
    if found.get(PLACE) != place():
        return False
    run = found.get(RUN, "")
    pid = run.partition(" ")[0]
    return pid.isascii() and pid.isdigit() and run != _run(int(pid))


def _run(pid: int) -> str:
    return f"{pid} {_started(pid)} {_boot()}"


def _started(pid: int) -> str:
    """When that process was started, in ticks since the boot; whether it lives where there is no /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "lives" if not Path("/proc/self").exists() and _lives(pid) else "gone"
    return stat.rpartition(")")[2].split()[19]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "-"


def _link_target(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return "-"
