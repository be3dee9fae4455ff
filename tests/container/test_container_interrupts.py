"""A run in containers that is cut short leaves none of them behind, and no folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import docker
import pytest

from conformance.drivers.run_labels import RUN
from tests.container.container_bench import IMAGE, left_over

SECONDS = 60
MANIFEST = f"""\
name: hanging
role: device
driver: container
image: {IMAGE}
command: [python3, -c, "import signal; signal.pause()"]
timeouts: {{start: 10m}}
"""


def take_interrupts() -> None:
    """A CI that runs its jobs in the background ignores SIGINT, and so would everything that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("more", [(), ("-n1",)])
def test_ctrl_c_removes_the_containers(more: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "hanging.yaml").write_text(MANIFEST, encoding="utf-8")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    client = docker.from_env(timeout=SECONDS)
    events = client.events(decode=True, filters={"event": "start", "label": RUN})
    chosen = ("--pyargs", "conformance", "--vector=SEND-001", "--adapter=hanging.yaml", *more)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *chosen],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=take_interrupts,  # noqa: PLW1509 - these tests start no threads
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    try:
        run = next(iter(events))["Actor"]["Attributes"][RUN]
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        events.close()
        client.close()
    assert b"INTERNALERROR" not in output
    assert left_over(run) == []
    assert list(temporary.glob("conformance-*")) == []
