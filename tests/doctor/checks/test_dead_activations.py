from __future__ import annotations

import pytest
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import run_case, vitals


@pytest.mark.parametrize(("share", "severity"), [(0.7, "warning"), (0.99, "error")])
def test_channels_that_died_are_told(share: float, severity: str):
    looks = [vitals(20), *(vitals(at, dead={"backbone/block2": share}) for at in (100, 200, 300))]
    finding = found(run_case(looks), "dead-activations")
    assert finding is not None
    assert finding.severity == severity
    assert finding.evidence["groups"][0]["group"] == "backbone/block2"


def test_channels_that_were_dead_in_trained_weights_do_no_harm():
    looks = [vitals(at, dead={"backbone/block2": 0.55}) for at in (20, 100, 200, 300)]
    assert found(run_case(looks), "dead-activations") is None
