"""The promise that nothing is lost: each way to lose a blob on its clause, and each doubt in the relay's favour."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.mutants.relay import (
    AcksBeforeStoring,
    DeletesOnDelivery,
    KeepsInboxesInMemory,
    NeedsAFirstVisit,
    SecondGetsWhatOthersHaveNot,
    TakesAcksAfterTheEnd,
    YoungestDayFirst,
)
from adapters.mutants.relay_refusals import RefusalEndsThePushSession
from adapters.relay_parts import with_inboxes
from conformance.outcome import Outcome
from reference_impl.relay.relay import Relay
from tests.conformance.relay_bench import of_class

ALLOW = "[delivered, push_acked, push_refused, died]"
LOST = "A was accepted for dana and is neither acked nor expired, and the new Receive Session {} is not sent it"

KILLED = "- push: {as: A, to: dana}\n- kill\n- start\n- open_session: {device: dana, as: s1}"
STOPPED = "- push: {as: A, to: dana}\n- restart\n- open_session: {device: dana, as: s1}"
CRASHED = """
- crash_at_write: {write: 1, when: before}
- push: {as: A, to: dana, cut: true}
- start
- open_session: {device: dana, as: s1}
"""
NEW_DEVICE = "- push: {as: A, to: dana}\n- open_session: {device: dana, as: s1}"
SHARED = """
- push: {as: A, to: dana}
- open_session: {device: dana, as: s1}
- open_session: {device: dana, as: s2}
"""
NEXT = """
- push: {as: A, to: dana}
- open_session: {device: dana, as: s1}
- close_session: s1
- open_session: {device: dana, as: s2}
"""
LATE_ACK = """
- push: {as: A, to: dana}
- open_session: {device: dana, as: s1}
- close_session: s1
- deliver_ack: {of: A, session: s1}
- open_session: {device: dana, as: s2}
"""


@pytest.mark.parametrize(
    ("relay_class", "steps", "clause", "session"),
    [
        (KeepsInboxesInMemory, KILLED, "RLY-001", "s1"),
        (AcksBeforeStoring, CRASHED, "RLY-001", "s1"),
        (KeepsInboxesInMemory, STOPPED, "RLY-021", "s1"),
        (NeedsAFirstVisit, NEW_DEVICE, "RLY-029", "s1"),
        (SecondGetsWhatOthersHaveNot, SHARED, "RLY-020", "s2"),
        (DeletesOnDelivery, NEXT, "RLY-005", "s2"),
        (TakesAcksAfterTheEnd, LATE_ACK, "RLY-005", "s2"),
    ],
)
def test_a_lost_blob_is_found_on_the_clause_that_fits(
    tmp_path: Path, relay_class: type[Relay], steps: str, clause: str, session: str
) -> None:
    finding = of_class(tmp_path, relay_class).run(steps, allow=ALLOW)
    assert (finding.outcome, finding.clause, finding.reason) == (Outcome.FAIL, clause, LOST.format(session))


@pytest.mark.parametrize("steps", [KILLED, STOPPED, CRASHED, NEW_DEVICE, SHARED, NEXT, LATE_ACK])
def test_the_reference_loses_nothing(tmp_path: Path, steps: str) -> None:
    assert of_class(tmp_path).run(steps, allow=ALLOW).reason == ""


DOUBTS = {
    "acked": """
        - push: {as: A, to: dana}
        - open_session: {device: dana, as: s1}
        - deliver_ack: {of: A, session: s1}
        - open_session: {device: dana, as: s2}
        """,
    "expired": """
        - push: {as: A, to: dana}
        - advance: 30d
        - open_session: {device: dana, as: s1}
        """,
    "expired under the TTL of another start": """
        - push: {as: A, to: dana}
        - restart: {settings: {ttl: 1h}}
        - restart: {settings: {ttl: 2h}}
        - advance: 90m
        - open_session: {device: dana, as: s1}
        """,
    "the relay died before it was quiet": """
        - push: {as: A, to: dana}
        - kill
        - start
        - open_session: {device: dana, as: s1}
        - kill
        """,
}


@pytest.mark.parametrize("name", DOUBTS)
def test_a_relay_has_the_benefit_of_the_doubt(tmp_path: Path, name: str) -> None:
    assert of_class(tmp_path).run(DOUBTS[name], allow=ALLOW).reason == ""


def test_a_new_session_has_no_excuse_for_another_order(tmp_path: Path) -> None:
    finding = of_class(tmp_path, with_inboxes(YoungestDayFirst)).run(
        """
        - push: {as: A, to: dana}
        - open_session: {device: dana, as: s1}
        - close_session: s1
        - advance: 1d
        - push: {as: B, to: dana}
        - open_session: {device: dana, as: s2}
        """,
        allow=ALLOW,
    )
    assert (finding.clause, finding.reason) == ("RLY-003", "A is delivered on s2 after B, which arrived later")


def test_a_refusal_that_ends_the_push_session_is_told(tmp_path: Path) -> None:
    finding = of_class(tmp_path, RefusalEndsThePushSession).run(
        "- push: {as: A, to: dana}\n- push: {as: short, frame_bytes: 31}", allow=ALLOW
    )
    assert (finding.clause, finding.reason) == ("RLY-012", "the relay refuses short and ends the Push Session with it")
