"""The kit as its users meet it: a pytest over the conformance package, its options, outputs and exit status."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conformance.schema import Schema, read
from tests.conformance.faulty_bench import VECTORS
from tests.conformance.plugin_bench import NEEDS_PAIRING, PASSES, QUIET, Kit

pytest_plugins = ("pytester",)
USAGE, NO_START, NOTHING = 4, 3, 5


@pytest.fixture(name="kit")
def _kit(pytester: pytest.Pytester) -> Kit:
    return Kit(pytester)


def junit(kit: Kit) -> ElementTree.Element:
    return ElementTree.fromstring((kit.folder / "junit.xml").read_bytes())  # noqa: S314 - the kit has just written it


def said(result: pytest.RunResult) -> str:
    return result.stdout.str() + result.stderr.str()


# -- what is run ------------------------------------------------------------------------------------------------------


def test_the_id_of_an_item_is_the_id_of_its_case(kit: Kit) -> None:
    kit.failing()
    listed = kit.run("--collect-only", "-q").stdout.lines
    assert [line.rpartition("::")[2] for line in listed if "::" in line] == ["OWN-001", "OWN-002"]


@pytest.mark.parametrize(
    ("options", "ran"),
    [
        ([], ["OWN-001", "OWN-002"]),
        (["-k", "OWN-002"], ["OWN-002"]),
        (["-k", "RCV-004"], ["OWN-002"]),
        (["--clause=RCV-004"], ["OWN-002"]),
        (["--clause=RCV-007"], ["OWN-001", "OWN-002"]),
        (["--clause=RCV-007", "--vector=OWN-001"], ["OWN-001"]),
        (["--vector=OWN-002"], ["OWN-002"]),
        (["--vector=OWN-*"], ["OWN-001", "OWN-002"]),
        (["--vector=OWN-002", "--vector=OWN-001"], ["OWN-001", "OWN-002"]),
        (["--vectors=own/a.yaml"], ["OWN-001"]),
        (["-x", "--vectors=own", "-p", "no:randomly"], ["OWN-001", "OWN-002"]),
    ],
)
def test_selection(options: list[str], ran: list[str], kit: Kit) -> None:
    kit.failing()
    result = kit.run(*options)
    assert list(kit.outcomes()) == ran
    assert result.ret == (1 if "OWN-002" in ran else 0)


def test_the_kit_s_own_vectors_are_run_by_their_ids(kit: Kit) -> None:
    result = kit.pytester.runpytest_inprocess("--pyargs", "conformance", "--vector=CRASH-004", *QUIET)
    assert result.ret == 0
    assert kit.outcomes()["CRASH-004"] == "pass"


def test_a_list_runs_nothing(kit: Kit) -> None:
    kit.failing()
    result = kit.run("--list", "--adapter=good.yaml")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["OWN-001 *device *RCV-001, RCV-007 *A handler is called"])
    result.stdout.fnmatch_lines(["*2 cases listed, nothing was run*"])
    assert not (kit.folder / "pids").exists()
    assert not (kit.folder / "reports").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--vector=OWN-01"], "--vector=OWN-01 matches nothing (did you mean OWN-001?); --list shows all ids"),
        (["--vector=X*"], "--vector=X* matches nothing"),
        (["--clause=RCV-0011"], "--clause=RCV-0011 matches nothing: there is no such clause (did you mean RCV-011?)"),
        (["--clause=SND-001"], "--clause=SND-001 matches nothing: no vector is about it"),
        (
            ["--vector=OWN-001", "--clause=RCV-004"],
            "no vector matches both --vector and --clause; leave one of them out",
        ),
        (["--vectors=nowhere"], "--vectors=nowhere: there is no such file or folder"),
        (["--vectors=" + "x" * 300], "there is no such file or folder"),
        (["--adapter=referense"], "there is no adapter 'referense'"),
        (["--adapter=referense"], "did you mean reference?"),
        (["--adapter=" + "x" * 5000], "cannot be looked up"),
        (["--adapter=cmd:'"], "No closing quotation; quote the command as a shell would need it"),
        (["--adapter=cmd:"], "--adapter=cmd: needs a command"),
        (["--adapter=image:"], "--adapter=image: needs the name of an image"),
        (["--adapter=relay.yaml"], "is for the role of adapter relay: relay; select other vectors, or correct `role`"),
        (["--adapter=bad.yaml"], "bad.yaml:2: role: "),
        (["--adapter=lost.yaml"], "the factory 'no.such:thing' of adapter lost cannot be imported"),
    ],
)
def test_wrong_words_end_in_one_sentence(options: list[str], sentence: str, kit: Kit) -> None:
    kit.failing()
    kit.adapter("relay", "none", role="relay")
    kit.write("bad.yaml", "name: bad\nrole: devise\ndriver: process\ncommand: [x]\n")
    kit.write("lost.yaml", "name: lost\nrole: device\ndriver: in_process\nfactory: no.such:thing\n")
    result = kit.run(*options)
    assert result.ret == USAGE
    assert sentence in said(result)
    assert "Traceback" not in said(result)
    assert "INTERNALERROR" not in said(result)


def test_wrong_vectors_are_told_with_file_and_line(kit: Kit) -> None:
    kit.write("own/c.yaml", PASSES.format(id="OWN-003", title="x").replace("deliver:", "delivver:"))
    result = kit.run()
    assert result.ret == USAGE
    assert re.search(r"own/c\.yaml:9: .*delivver", said(result))


def test_nothing_is_left_after_pytest_s_own_selection(kit: Kit) -> None:
    assert kit.run("-k", "nothing_is_called_so").ret == NOTHING


# -- an adapter that does not start -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("adapter", "sentence"),
    [
        (
            "broken.yaml",
            "adapter broken does not start as a device: the driver exited with status 2 instead of answering",
        ),
        ("broken.yaml", "Its last words on stderr: no configuration found"),
        ("liar.yaml", "the driver says that its role is 'relay', and the manifest wants 'device'"),
        ("cmd:./nothing", "does not start: the command './nothing' cannot be started: No such file or directory"),
    ],
)
def test_an_adapter_that_does_not_start_ends_the_run(adapter: str, sentence: str, kit: Kit) -> None:
    kit.adapter("broken", "exits_at_start")
    kit.adapter("liar", "wrong_role")
    result = kit.run(f"--adapter={adapter}", "--junitxml=junit.xml")
    assert result.ret == NO_START
    assert sentence in said(result)
    assert "Traceback" not in said(result)
    assert junit(kit).tag == "testsuites"


def test_a_driver_that_no_manifest_describes_says_its_role(kit: Kit) -> None:
    program = shlex.join([sys.executable, "-m", "adapters.reference", "device"])
    assert kit.run(f"--adapter=cmd:{program}").ret == 0
    assert kit.outcomes() == {"OWN-001": "pass"}


# -- waivers ----------------------------------------------------------------------------------------------------------


WAIVED = "- {clause: RCV-004, reason: known, expires: '2999-01-01'}"


def waive(kit: Kit, text: str) -> pytest.RunResult:
    kit.failing()
    kit.write("waivers.yaml", text)
    kit.adapter("waiving", "none", "waivers: waivers.yaml\n")
    return kit.run("--adapter=waiving.yaml", "-rx")


@pytest.mark.parametrize("subject", ["vector: OWN-002", "clause: RCV-004"])
def test_a_failure_that_is_waived(subject: str, kit: Kit) -> None:
    result = waive(kit, f"- {{{subject}, reason: known, expires: '2999-01-01'}}\n")
    assert result.ret == 0
    assert kit.outcomes() == {"OWN-001": "pass", "OWN-002": "waived"}
    result.stdout.fnmatch_lines(["*waived: DeliverAck for A did not come after deliver*"])


@pytest.mark.parametrize(
    ("text", "status", "sentence"),
    [
        (
            f"{WAIVED}\n- {{vector: OWN-001, reason: known, expires: '2999-01-01'}}\n",
            1,
            "waivers.yaml:2: the waiver of OWN-001 was not needed in this run; remove it.",
        ),
        (
            "- {vector: OWN-002, reason: known, expires: '2020-01-31'}\n",
            USAGE,
            "waivers.yaml:1: the waiver of OWN-002 expired on 2020-01-31; mend the failure or renew it.",
        ),
        (
            "- {vector: OWN-02, reason: known, expires: '2999-01-01'}\n",
            USAGE,
            "waivers.yaml:1: there is no vector OWN-02 (did you mean OWN-002?).",
        ),
        ("- {vector: OWN-002, reason: known, expires: '2999-02-30'}\n", USAGE, "2999-02-30 is no day of the calendar."),
        ("- {vector: OWN-002, expires: '2999-01-01'}\n", USAGE, "waivers.yaml:1: 0: reason is missing."),
        ("- [\n", USAGE, "waivers.yaml:"),
        ("a: 1\n---\nb: 2\n", USAGE, "a file of waivers is one YAML document, a list."),
    ],
)
def test_waivers_that_are_no_use(text: str, status: int, sentence: str, kit: Kit) -> None:
    result = waive(kit, text)
    assert sentence in said(result)
    assert result.ret == status
    assert "Traceback" not in said(result)


def test_waivers_stay_in_the_manifest_s_folder(kit: Kit) -> None:
    kit.adapter("outside", "none", "waivers: ../waivers.yaml\n")
    result = kit.run("--adapter=outside.yaml")
    assert result.ret == USAGE
    assert "'../waivers.yaml' leaves the folder of the manifest; keep the file beside it." in said(result)


# -- what comes out ---------------------------------------------------------------------------------------------------


def test_junit_tells_failures_errors_and_what_was_not_run_apart(kit: Kit) -> None:
    kit.failing()
    kit.write("own/c.yaml", NEEDS_PAIRING)
    kit.write("own/d.yaml", VECTORS)
    kit.adapter("exits", "exits")
    kit.run("--adapter=exits.yaml", "--junitxml=junit.xml")
    cases = {case.get("name"): case for case in junit(kit).iter("testcase")}
    found = {name: [child.tag for child in case] for name, case in cases.items()}
    assert found == {
        "OWN-001": [],
        "OWN-002": ["failure"],
        "OWN-009": ["skipped"],
        "FAULT-001": ["error"],
        "FAULT-002": [],
    }
    assert kit.outcomes() == {
        "OWN-001": "pass",
        "OWN-002": "fail",
        "OWN-009": "not_run",
        "FAULT-001": "error",
        "FAULT-002": "pass",
    }
    assert "out of cheese" in (cases["FAULT-001"][0].text or "")


def test_results_fit_their_schema_and_are_complete(kit: Kit) -> None:
    kit.failing()
    kit.run("--results=elsewhere/r.json")
    document = json.loads((kit.folder / "elsewhere/r.json").read_text(encoding="utf-8"))
    assert Schema(read("results.json")).explain(document) == ""
    assert document["complete"] is True
    assert document["counts"]["fail"] == document["counts"]["pass"] == 1
    assert [path.name for path in (kit.folder / "elsewhere").iterdir()] == ["r.json"]


def test_a_run_that_stops_at_the_first_failure_is_not_complete(kit: Kit) -> None:
    kit.failing()
    kit.write("own/c.yaml", PASSES.format(id="OWN-003", title="Comes after"))
    result = kit.run("-x")
    assert result.ret == 1
    assert kit.results()["complete"] is False
    assert list(kit.outcomes()) == ["OWN-001", "OWN-002"]
    result.stdout.fnmatch_lines(["1 of the cases have no result: they were deselected, or the run ended early."])


def test_results_that_cannot_be_written_fail_the_run(kit: Kit) -> None:
    kit.write("file", "in the way")
    result = kit.run("--results=file/results.json")
    assert result.ret == 1
    assert re.search(r"file/results\.json cannot be written: .*; name another file with --results", said(result))
    assert "INTERNALERROR" not in said(result)


def test_workers_write_the_same_bytes(kit: Kit) -> None:
    kit.failing()
    for number in range(3, 6):
        kit.write(f"own/{number}.yaml", PASSES.format(id=f"OWN-00{number}", title="Another"))
    assert kit.run("-n0", "--results=alone.json").ret == 1
    result = kit.pytester.run(*kit.command("-n2", "--results=together.json"))
    assert result.ret == 1
    assert (kit.folder / "alone.json").read_bytes() == (kit.folder / "together.json").read_bytes()


def test_what_a_failing_case_says(kit: Kit) -> None:
    kit.failing()
    text = kit.run("--vector=OWN-002").stdout.str()
    for wanted in (
        "OWN-002: An ack comes too early",
        "Broken    DeliverAck for A did not come after deliver: {as: A, from: bob}",
        "Clause    RCV-004: ",
        "Expected  DeliverAck for A",
        "Observed  handler(A, from bob, 1 bytes)",
        "The exchange (time since the start, step, who to whom):",
        "relay → alice",
        "Again     pytest --pyargs conformance --adapter=good.yaml --vectors=own --vector=OWN-002",
    ):
        assert wanted in text
    unwrapped = " ".join(text.split())
    assert re.search(r"Where \S+own/b\.yaml:10, step 3: expect: {deliver_ack: A}", unwrapped)
    assert "conformance/session.py" not in text


def test_the_command_it_prints_fails_the_same_way(kit: Kit) -> None:
    kit.failing()
    first = kit.run()
    again = next(line.partition("Again")[2].strip() for line in first.stdout.lines if line.startswith("Again"))
    program, *arguments = shlex.split(again)
    assert program == "pytest"
    second = kit.pytester.run(sys.executable, "-m", program, *arguments, *QUIET)
    assert second.ret == first.ret == 1
    assert explanation(second) == explanation(first)


def explanation(result: pytest.RunResult) -> list[str]:
    lines = result.stdout.lines
    start = next(number for number, line in enumerate(lines) if line.startswith("OWN-002: "))
    end = next(number for number, line in enumerate(lines) if line.startswith("Again "))
    return lines[start:end]


def test_a_hostile_driver_s_escapes_are_printed_escaped(kit: Kit) -> None:
    kit.write("own/d.yaml", VECTORS)
    kit.adapter("hostile", "prints_escapes")
    result = kit.run("--adapter=hostile.yaml", "-rA", "--color=no", "--junitxml=junit.xml")
    assert r"\x1b[31mred\x1b]0;owned\x07\x00\u202egnp.exe" in result.stdout.str()
    told = (
        result.stdout.str() + (kit.folder / "junit.xml").read_text() + (kit.folder / "reports/results.json").read_text()
    )
    assert not {"\x1b", "\x07", "\x00", "\u202e"} & set(told)


# -- where it does not belong -----------------------------------------------------------------------------------------


def test_another_test_suite_is_not_disturbed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_toy():\n    assert True\n")
    with_kit = pytester.runpytest_inprocess(*QUIET)
    without = pytester.run(sys.executable, "-m", "pytest", *QUIET, "-p", "no:conformance")
    assert with_kit.ret == without.ret == 0
    assert telling(with_kit) == telling(without)
    assert not Path("reports").exists()


def telling(result: pytest.RunResult) -> list[str]:
    """The output without the header, which names the plugins, and the time."""
    return [re.sub(r"in [\d.]+s", "", line) for line in result.stdout.lines if "plugins:" not in line]
