from __future__ import annotations

import numpy as np
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import healthy_steps, run_case


def test_jumps_are_told_with_their_steps():
    norms = np.full(600, 5.0)
    norms[[100, 250, 400, 550]] = 2000.0
    finding = found(run_case(healthy_steps(600, gradient_norm=norms)), "gradients-explode")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.evidence["at_steps"] == [101, 251, 401, 551]


def test_growth_without_end_is_an_error():
    norms = np.geomspace(2.0, 900.0, 600)
    finding = found(run_case(healthy_steps(600, gradient_norm=norms)), "gradients-explode")
    assert finding is not None
    assert finding.severity == "error"


def test_the_first_steps_of_fresh_heads_may_be_large():
    norms = np.concatenate([np.full(15, 3000.0), np.full(585, 5.0)])
    assert found(run_case(healthy_steps(600, gradient_norm=norms)), "gradients-explode") is None
    noisy = healthy_steps(2000, noise=0.5, seed=9)
    assert found(run_case(noisy), "gradients-explode") is None
