# ruff: noqa: E501 - a row of a table is one line
"""The clause catalogue and the limits: permanent ids, complete entries, numbers that the reference shares."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

import pytest

from conformance.catalogue import catalogue, limits, load_catalogue, load_limits
from conformance.strict_yaml import YamlError
from reference_impl.device.limits import Limits
from reference_impl.relay.settings import TTL_CEILING, RelaySettings

# Published with these many clauses. An id is never given up: a number here only grows.
PUBLISHED = {"SND": 32, "RCV": 18, "VER": 12, "DDP": 7, "RPW": 6, "CTL": 15, "CRS": 6, "RLY": 30, "MTA": 3, "CDC": 8}


def test_the_ids_of_each_area_run_without_a_gap() -> None:
    numbers: dict[str, list[int]] = defaultdict(list)
    for clause_id in catalogue().clauses:
        area, number = clause_id.split("-")
        numbers[area].append(int(number))
    assert list(numbers) == list(catalogue().areas)
    assert {area: list(range(1, count + 1)) for area, count in PUBLISHED.items()} == numbers


def test_areas_have_names() -> None:
    assert catalogue().areas["SND"] == "Sending"
    assert catalogue().clauses["SND-001"].area == "SND"


def test_roles_are_told_apart() -> None:
    clauses = catalogue().clauses
    assert {clause.role for clause in clauses.values() if clause.area == "RLY"} == {"relay"}
    assert clauses["SND-001"].binds("device")
    assert not clauses["SND-001"].binds("relay")


def test_open_clauses_say_why() -> None:
    opened = {clause.id: clause.open for clause in catalogue().clauses.values() if clause.open}
    assert opened["RLY-002"] == "power_loss"
    assert opened["MTA-003"] == "sockets"
    assert not {f"RLY-0{number}" for number in range(17, 29)} & set(opened)
    assert all(catalogue().clauses[clause_id].open_reason for clause_id in opened)


def test_limits_name_clauses_that_exist() -> None:
    named = {clause for limit in limits().values() for clause in limit.clauses}
    assert named <= set(catalogue().clauses)


def test_the_reference_device_goes_by_the_limits() -> None:
    own = asdict(Limits())
    chosen = {"push_backoff_factor", "handler_backoff_first", "handler_backoff_factor", "handler_backoff_max"}
    stated = {name: limits()[name].in_kit_units for name in own if name not in chosen}
    assert stated == {name: value for name, value in own.items() if name not in chosen}


def test_the_reference_relay_goes_by_the_limits() -> None:
    names = {"ttl": "relay_ttl_default", "max_sessions_per_device": "receive_sessions_per_device"}
    own = asdict(RelaySettings())
    assert {name: limits()[names.get(name, name)].in_kit_units for name in own} == own
    assert limits()["relay_ttl_ceiling"].in_kit_units == TTL_CEILING


CLAUSE = "spec: delivery\nareas: {SND: Sending}\nclauses:\n  - {id: SND-001, title: t, text: t, level: MUST, role: device, source: s}\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (CLAUSE + CLAUSE.splitlines()[3], "5: the clause id SND-001 stands twice."),
        (CLAUSE.replace("SND:", "RCV:"), "4: the area of SND-001 is not among areas."),
        (CLAUSE.replace("MUST", "SHALL"), "4: clauses.0.level: `SHALL` is not allowed; allowed: MUST, SHOULD or MAY."),
        (CLAUSE.replace(", source: s", ""), "4: clauses.0: source is missing."),
        (CLAUSE.replace("SND-001", "SND-1"), "4: clauses.0.id: `SND-1` must be a clause id such as SND-001."),
        (
            CLAUSE.replace("source: s", "source: s, open: sockets"),
            "4: clauses.0: open needs open_reason beside it.",
        ),
        (CLAUSE + "---\na: 1\n", "6: this file holds one document only."),
    ],
)
def test_a_faulty_catalogue_names_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    with pytest.raises(YamlError) as caught:
        load_catalogue(path)
    assert str(caught.value) == f"{path}:{sentence}"


def test_a_limit_stands_once(tmp_path: Path) -> None:
    path = tmp_path / "limits.yaml"
    row = "  - {name: a, value: 1, unit: s, source: s, clauses: [SND-001]}\n"
    path.write_text("limits:\n" + row + row)
    with pytest.raises(YamlError, match=r":3: the limit a stands twice\.$"):
        load_limits(path)
