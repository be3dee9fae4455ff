"""The manifest of the deployed relay, with a stand-in that takes its flags and variables and speaks `unversioned`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conformance.session import CANNOT_START
from tests.conformance.plugin_bench import Kit
from tests.conformance.relay_program_bench import ROOT, STORY

pytest_plugins = ("pytester",)
STAND_IN = f"""\
#!{sys.executable}
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from reference_impl.relay.program import main
from reference_impl.wire.noise import KeyPair

told = {{name.removeprefix("TRUESEAL_RELAY_"): value for name, value in os.environ.items()}}
if "-genkey" in sys.argv:
    pair = KeyPair.generate()
    with open(sys.argv[sys.argv.index("-keyout") + 1], "x") as file:
        file.write(pair.private.hex() + "\\n")
    print("relay public key (share with clients):", pair.public.hex())
    sys.exit()
assert sys.argv[1:] == ["-no-config"], sys.argv
settings = {{"TTL": "ttl", "MAX_CONNECTIONS": "max-connections", "MAX_ENVELOPE_BYTES": "max-envelope-bytes"}}
sys.exit(main(
    [
        "--wire=unversioned",
        "--key=" + told["KEYPAIR_PATH"],
        "--data=" + os.path.dirname(told["STORE_SQLITE_PATH"]),
        "--receive=" + told["LISTEN_RECEIVE"],
        "--push=" + told["LISTEN_PUSH"],
        "--health=" + told["LISTEN_HEALTH"],
        *(f"--{{flag}}={{told[name]}}" for name, flag in settings.items() if name in told),
    ],
    {{}},
))
"""
REFUSALS = """\
id: STORY-010
title: A refusal that tells no reason is one all the same
spec: delivery
role: relay
clauses: [RLY-009]
requires: [settings]
setup: {settings: {max_envelope_bytes: 100}}
steps:
  - push: {as: large, to: dana, size: 101}
  - expect: {push_refused: {of: large, code: too_large}}
  - push: {as: short, frame_bytes: 31}
  - expect: {push_refused: {of: short, code: malformed}}
  - push: {as: A, to: dana, size: 100}
  - expect: {push_acked: A}
---
id: STORY-011
title: A limit that it has no setting for
spec: delivery
role: relay
clauses: [RLY-010]
requires: [settings]
setup: {settings: {push_burst: 3}}
steps:
  - push: {as: A, to: dana}
  - expect: {push_acked: A}
---
id: STORY-012
title: What its wire cannot express
spec: delivery
role: relay
clauses: [RLY-013, RLY-018]
steps:
  - push: {as: A, to: dana}
  - expect: {push_acked: A}
---
id: STORY-013
title: Refused where it must not be
spec: delivery
role: relay
clauses: [RLY-009]
requires: [settings]
setup: {settings: {max_envelope_bytes: 100}}
steps:
  - push: {as: large, to: dana, size: 101}
  - expect: {push_acked: large}
"""


def test_it_is_judged_on_its_behaviour(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    kit = Kit(pytester)
    kit.write("own/story.yaml", STORY)
    kit.write("own/refusals.yaml", REFUSALS)
    (kit.folder / "bin").mkdir()
    kit.write("bin/trueseal-relay", STAND_IN).chmod(0o700)
    monkeypatch.setenv("PATH", str(kit.folder / "bin"), prepend=":")
    result = kit.run("--adapter=examples/upstream-relay", "--vector=STORY-*")
    assert kit.outcomes() == {
        "STORY-001": "pass",
        "STORY-010": "pass",
        "STORY-011": "not_run",
        "STORY-012": "not_applicable",
        "STORY-013": "fail",
    }
    result.stdout.fnmatch_lines(
        [
            "RLY-018 is not judged: an unknown frame is dropped in silence (wire profile unversioned).",
            "The wire profile unversioned has no codes: refusals were judged as refusals, whatever their reason.",
        ]
    )


def test_a_relay_that_is_not_built_is_told_in_a_sentence(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = Kit(pytester)
    kit.write("own/story.yaml", STORY)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    result = kit.run("--adapter=examples/upstream-relay")
    assert result.ret == CANNOT_START
    sentence = "the command 'trueseal-relay' cannot be started: No such file or directory; give the path"
    assert sentence in f"{result.stdout}{result.stderr}"
