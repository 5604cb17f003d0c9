from __future__ import annotations

import numpy as np
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import healthy_steps, run_case


def test_a_few_steps_that_take_most_of_the_time_are_told():
    seconds = np.full(400, 0.4)
    seconds[50::40] = 12.0
    finding = found(run_case(healthy_steps(400, step_seconds=seconds)), "slow-steps")
    assert finding is not None
    assert finding.evidence["slow_steps"][0] == 51


def test_steps_that_get_slower_are_told():
    seconds = np.linspace(0.4, 1.2, 400)
    finding = found(run_case(healthy_steps(400, step_seconds=seconds)), "slow-steps")
    assert finding is not None
    assert finding.severity == "warning"


def test_one_slow_step_is_no_fault():
    seconds = np.full(400, 0.4)
    seconds[200] = 9.0
    assert found(run_case(healthy_steps(400, step_seconds=seconds)), "slow-steps") is None
