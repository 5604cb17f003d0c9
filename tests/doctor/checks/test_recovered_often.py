from __future__ import annotations

import pytest
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import healthy_steps, run_case

from holdfast.runs.events import Event

DIED = {"cause": "SIGKILL", "evidence": None}


@pytest.mark.parametrize(("count", "severity"), [(1, "note"), (3, "warning")])
def test_restarts_are_counted_with_what_they_lost(count: int, severity: str):
    events = [
        Event(100 * at, "restarted", DIED | {"reached": 100 * at + 40}) for at in range(count)
    ]
    finding = found(run_case([*healthy_steps(400), *events]), "recovered-often")
    assert finding is not None
    assert finding.severity == severity
    assert finding.evidence["steps_repeated"] == 40 * count


def test_a_run_that_was_given_up_is_an_error():
    finding = found(run_case([Event(0, "gave_up", DIED | {"reached": 3})]), "recovered-often")
    assert finding is not None
    assert finding.severity == "error"


def test_a_run_without_incidents_is_fine():
    assert found(run_case(healthy_steps(50)), "recovered-often") is None
