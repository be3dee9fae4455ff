"""A driver in a real container: what it may do, how it ends, and that nothing of it stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from conformance.drivers.container import ContainerLink
from conformance.drivers.link import Silence
from conformance.drivers.run_labels import RUN, labels
from conformance.drivers.sandbox import MEBIBYTE, Sandbox
from conformance.outcome import DriverDiedError, DriverError
from tests.container.container_bench import IMAGE, left_over, running

SECONDS = 60
ECHO = "import sys\nfor line in sys.stdin: print(line, end='')"
TRY_THINGS = """
import json, os, socket, sys
def tried(act):
    try:
        act()
    except OSError as error:
        return error.errno
    return 0
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "root": tried(lambda: open("/written", "w")), "tmp": tried(lambda: open("/tmp/written", "w")),
    "data": tried(lambda: open("/data/written", "w")),
    "interfaces": sorted(name for _, name in socket.if_nameindex()),
    "capabilities": status["CapEff"].strip(), "no_new_privileges": status["NoNewPrivs"].strip(),
}))
sys.stdin.read()
"""


def test_messages_go_both_ways() -> None:
    with running(ECHO) as link:
        link.send({"jsonrpc": "2.0", "id": 1, "result": {"text": "ü" * 100_000}})
        assert link.receive(SECONDS) == {"jsonrpc": "2.0", "id": 1, "result": {"text": "ü" * 100_000}}
        assert not link.has_more()
        with pytest.raises(Silence):
            link.receive(0)


def test_a_driver_may_do_little() -> None:
    with running(TRY_THINGS) as link:
        assert link.receive(SECONDS) == {
            "root": 30,  # EROFS
            "tmp": 0,
            "data": 0,
            "interfaces": ["lo"],
            "capabilities": "0000000000000000",
            "no_new_privileges": "1",
        }


def test_the_limits_are_really_set() -> None:
    with running(ECHO, memory=96 * MEBIBYTE):
        (container,) = left_over(labels()[RUN])
        host = cast("Mapping[str, object]", container.attrs["HostConfig"])
        found = {name: host[name] for name in ("Memory", "MemorySwap", "PidsLimit", "ReadonlyRootfs", "NetworkMode")}
        assert found == {
            "Memory": 96 * MEBIBYTE,
            "MemorySwap": 96 * MEBIBYTE,
            "PidsLimit": 32,
            "ReadonlyRootfs": True,
            "NetworkMode": "none",
        }
        assert container.attrs["Config"]["StdinOnce"] is True


def test_a_kill_ends_all_at_once_and_keeps_the_data() -> None:
    program = "import os, sys\nprint(len(os.listdir('/data')))\nopen('/data/kept', 'w').close()\nprint('1')\n" + ECHO
    with running(program) as link:
        assert [link.receive(SECONDS), link.receive(SECONDS)] == [0, 1]
        link.kill()
        link.start()
        assert link.receive(SECONDS) == 1


def test_a_data_folder_is_seen_from_inside_and_goes_after_use() -> None:
    program = "import os, sys\nfor line in sys.stdin:\n print('%d' % os.path.isdir('/data/' + line.split('\"')[1]))"
    with running(program) as link, link.data_folder() as folder:
        assert folder.startswith("/data/conformance-")
        link.send({folder.removeprefix("/data/"): 1})
        assert link.receive(SECONDS) == 1


@pytest.mark.parametrize(
    ("program", "words", "sentence"),
    [
        ("import sys; sys.stderr.write('out of cheese\\n'); sys.exit(3)", "out of cheese\n", "exited with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "", "was ended by signal SIGKILL"),
        ("x = bytearray(1 << 30)", "", "used more than its 96 MiB of memory (`memory` in the manifest"),
    ],
)
def test_how_a_driver_ended(program: str, words: str, sentence: str) -> None:
    with running(program, memory=96 * MEBIBYTE) as link:
        with pytest.raises(DriverDiedError) as caught:
            link.receive(SECONDS)
        assert sentence in str(caught.value)
        assert link.last_words() == words


def test_last_words_of_a_driver_that_is_killed() -> None:
    with running("import sys\nsys.stderr.write('the last')\nprint('1')\nsys.stdin.read()") as link:
        assert link.receive(SECONDS) == 1
        link.kill()
        assert link.last_words() == "the last"


def test_a_flood_of_one_line() -> None:
    program = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    with running(program) as link, pytest.raises(DriverError, match="more than 16 MiB without a line end"):
        link.receive(SECONDS)


def test_a_flood_of_stderr_is_silence() -> None:
    with running("import sys\nwhile True: sys.stderr.write('x' * 65536)") as link, pytest.raises(Silence):
        link.receive(0.3)


def test_a_driver_that_does_not_read() -> None:
    with running("import signal\nprint('1')\nsignal.pause()") as link:
        assert link.receive(SECONDS) == 1
        with pytest.raises(DriverError, match="does not read its stdin: a message waited for 2 s"):
            link.send({"text": "x" * (8 * MEBIBYTE)})


def test_an_image_that_is_not_there() -> None:
    link = ContainerLink(Sandbox("no-such-image"), write_seconds=2)
    try:
        with pytest.raises(DriverError, match=r"has no image 'no-such-image'; build it, or fetch it with `docker "):
            link.start()
    finally:
        link.stop()
    assert left_over(labels()[RUN]) == []


def test_a_program_that_is_not_in_the_image() -> None:
    link = ContainerLink(Sandbox(IMAGE, ("no-such-program",)), write_seconds=2)
    try:
        link.start()
        with pytest.raises(DriverDiedError, match="exited with status 127"):
            link.receive(SECONDS)
        assert "no-such-program" in link.last_words()
    finally:
        link.stop()


def test_nothing_stays_and_what_a_killed_run_left_is_swept() -> None:
    killed = (
        "import os, signal\nfrom tests.container.container_bench import *\n"
        "link = ContainerLink(Sandbox(IMAGE, (*PYTHON, 'import signal; signal.pause()')), 2)\nlink.start()\n"
        "from conformance.drivers.run_labels import labels\nprint(labels()[RUN], flush=True)\nos.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", killed], capture_output=True, check=False, text=True, env=os.environ)
    run = done.stdout.strip()
    (container,) = left_over(run)
    folder = Path(container.labels["org.trueseal.conformance.folder"])
    assert folder.is_dir()
    with running(ECHO):
        assert left_over(run) == []
        assert not folder.exists()
    assert left_over(labels()[RUN]) == []
