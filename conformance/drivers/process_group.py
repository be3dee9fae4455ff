"""A program in a process group of its own: started without a shell, ended with SIGKILL, gone when the kit is gone."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conformance.outcome import DriverError

GONE_SECONDS = 1.0
"""How long a program may take to end after SIGKILL, or once it has closed a pipe."""
PR_SET_PDEATHSIG = 1


def spawn(
    command: Sequence[str], folder: Path, *, stdin: bool, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start `command` in `folder`, its stdout and stderr (and its stdin, if wanted) on pipes that do not block.

    Its process group ends with `kill_group`, and the program itself on Linux also when the kit is killed. Raises
    DriverError with a sentence if it cannot be started.
    """
    try:
        process = subprocess.Popen(  # noqa: S603 - an argument list from the manifest, never a shell
            list(command),
            cwd=folder,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
            env=None if environment is None else {**os.environ, **environment},
            preexec_fn=_die_with_parent(),  # noqa: PLW1509 - the kit starts no threads
        )
    except OSError as error:
        raise DriverError(
            f"the command {command[0]!r} cannot be started: {error.strerror or error}; "
            "give the path of an executable file in the manifest's `command`"
        ) from None
    except (subprocess.SubprocessError, ValueError) as error:
        raise DriverError(f"the command {command[0]!r} cannot be started: {error}") from None
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            os.set_blocking(pipe.fileno(), False)
    return process


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End the program and whatever it started that did not leave its group. Waits until it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GONE_SECONDS)


def how_it_ended(status: int) -> str:
    """An exit status in words that follow the name of a program."""
    return f"was ended by signal {signal_name(-status)}" if status < 0 else f"exited with status {status}"


def signal_name(number: int) -> str:
    """SIGKILL for 9; the number itself where it has no name here."""
    known = {each.value: each.name for each in signal.Signals}
    return known.get(number, str(number))


def _die_with_parent() -> Callable[[], None] | None:
    """On Linux, ask the kernel to kill the program if the kit itself is killed and cannot clean up."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    kit = os.getpid()

    def set_death_signal() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != kit:  # it was killed before the kernel knew what to do then
            os._exit(1)

    return set_death_signal
