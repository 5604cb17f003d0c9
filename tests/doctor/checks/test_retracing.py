from __future__ import annotations

import numpy as np
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import healthy_steps, run_case


def with_long_steps(*steps: int):
    seconds = np.full(200, 0.4)
    seconds[0] = 15.0
    seconds[list(steps)] = 11.0
    return run_case(healthy_steps(200, step_seconds=seconds))


def test_steps_as_long_as_the_first_are_told():
    finding = found(with_long_steps(20, 60, 90, 130), "retracing")
    assert finding is not None
    assert finding.evidence["long_steps"] == [21, 61, 91, 131]


def test_a_second_trace_is_no_fault():
    assert found(with_long_steps(50, 51), "retracing") is None
