"""What the tests of relays over TCP share: a manifest for a faulty relay, and one run over it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conformance.adapter import Adapter
from conformance.catalogue import catalogue
from conformance.drivers.relay_manifest import Ready, RelayKey, RelayManifest, Setting
from conformance.engine.run import Finding, Runner
from conformance.roles import ROLES
from conformance.run_plan import make_system
from conformance.system import System, Timeouts
from conformance.vector import load_vectors

ROOT = Path(__file__).parents[2]
PATIENT = Timeouts(reply=20, start=40, case=120)
IMPATIENT = Timeouts(reply=1.0, start=1.5, case=20)
"""For relays that never answer, or never are ready."""
STORY = """\
id: STORY-001
title: A push arrives
spec: delivery
role: relay
clauses: [RLY-001]
requires: [kill]
steps:
  - open_session: {device: dana, as: s1}
  - push: {as: A, to: dana}
  - expect: {push_acked: A}
  - expect: {delivered: {of: A, session: s1}}
  - push: {as: B, to: erin}
  - expect: {push_acked: B}
  - deliver_ack: {of: A, session: s1}
  - close_session: s1
  - kill
  - start
  - open_session: {device: dana, as: s2}
  - expect: nothing
  - open_session: {device: erin, as: e1}
  - expect: {delivered: {of: B, session: e1}}
"""
SETTING = """\
id: STORY-002
title: A setting that a relay must take
spec: delivery
role: relay
clauses: [RLY-015]
requires: [settings]
setup: {settings: {ttl: 1000s, push_burst: 7}}
steps:
  - open_session: {device: dana, as: s1}
  - expect: nothing
"""
MANY = """\
id: STORY-005
title: Many pushes, one after the other
spec: delivery
role: relay
clauses: [RLY-013]
steps:
  - push_many: {as: A, to: dana, count: 20}
  - expect: {push_acked: A-*}
  - open_session: {device: dana, as: s1}
  - expect: {delivered: {of: A-*, session: s1}}
"""
RESTART = """\
id: STORY-003
title: A polite restart
spec: delivery
role: relay
clauses: [RLY-021]
requires: [restart]
steps:
  - open_session: {device: dana, as: s1}
  - push: {as: A, to: dana}
  - expect: {push_acked: A}
  - expect: {delivered: {of: A, session: s1}}
  - restart
  - open_session: {device: dana, as: s2}
  - expect: {delivered: {of: A, session: s2}}
"""
ELAPSE = """\
id: STORY-004
title: Time passes by itself
spec: delivery
role: relay
clauses: [RLY-014]
requires: [elapse, settings]
setup: {settings: {ttl: 300ms}}
steps:
  - push: {as: A, to: dana}
  - expect: {push_acked: A}
  - advance: 600ms
  - open_session: {device: dana, as: s1}
  - expect: nothing
"""


def adapter(fault: str, timeouts: Timeouts = PATIENT, ready: Ready | None = None) -> Adapter:
    """The reference Relay with this fault, which tells its address when it is ready."""
    manifest = RelayManifest(
        command=(
            "{python}",
            "-m",
            "tests.conformance.faulty_relays.program",
            fault,
            "--data={data}",
            "--receive=127.0.0.1:{receive_port}",
            "--push=127.0.0.1:{push_port}",
        ),
        environment={"PYTHONPATH": str(ROOT)},
        settings={
            "ttl": Setting("go_duration", arguments=("--ttl={value}",)),
            "push_burst": Setting("count", arguments=("--push-burst={value}",)),
        },
        ready=ready or Ready(line=re.compile(r"^ready trueseal:", re.MULTILINE)),
        relay_key=RelayKey(file="{data}/relay.pub"),
    )
    return Adapter(name=fault, roles=("relay",), driver="tcp", folder=Path(), timeouts=timeouts, relay=manifest)


@contextmanager
def system(judged: Adapter) -> Iterator[System]:
    """The relay behind its link, not yet started, and gone afterwards."""
    made = make_system(judged, ROLES["relay"])
    try:
        yield made
    finally:
        made.stop()


def run(judged: Adapter, folder: Path, vector: str) -> Finding:
    """Run one vector. The relay is started in `folder`, where it notes its process ids."""
    vectors = folder / "vectors"
    vectors.mkdir()
    (vectors / "own.yaml").write_text(vector, encoding="utf-8")
    with system(judged) as relay:
        return Runner(ROLES["relay"], relay, catalogue("delivery")).run(load_vectors(vectors)[0])
