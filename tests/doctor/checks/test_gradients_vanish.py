from __future__ import annotations

import pytest
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import GROUPS, healthy_steps, run_case, vitals


def with_norms(norms: dict[str, float]):
    events = healthy_steps(300)
    for event in events[49::50]:
        event.values["group_norms"] = {group: norms.get(group, 2.0) for group in GROUPS}
    return events


def test_a_group_that_nothing_reaches_is_named():
    finding = found(run_case(with_norms({"backbone/conv1": 0.0})), "gradients-vanish")
    assert finding is not None
    assert finding.severity == "warning"
    assert [row["group"] for row in finding.evidence["groups"]] == ["backbone/conv1"]


def test_gradients_beside_their_weights_are_looked_at_too():
    looks = [vitals(step, gradient=dict.fromkeys(GROUPS, 1e-9)) for step in (100, 200, 300)]
    finding = found(run_case([*healthy_steps(300), *looks]), "gradients-vanish")
    assert finding is not None
    assert finding.severity == "error"


@pytest.mark.parametrize("small", [1e-4, 2.0])
def test_gradients_that_are_only_small_are_no_fault(small: float):
    assert found(run_case(with_norms({"backbone/conv1": small})), "gradients-vanish") is None
