from __future__ import annotations

import numpy as np
from tests.doctor.cases import found
from tests.doctor.synthetic_runs import healthy_steps, run_case

from holdfast.runs.events import Event


def test_memory_that_never_stops_growing_is_told():
    held = np.linspace(1.8e9, 2.6e9, 1000)
    finding = found(run_case(healthy_steps(1000, resident_bytes=held)), "memory-grows")
    assert finding is not None
    assert 0.7e6 < finding.evidence["bytes_per_step"] < 0.9e6


def test_what_the_watch_noted_is_told_with_its_cause():
    cause = {"name": "retracing", "detail": "4 new traces"}
    values = {"what": "host memory", "per_step": 1e6, "held": 2e9, "limit": 4e9, "limit_step": 800}
    growth = Event(300, "growth", values | {"cause": cause})
    finding = found(run_case([*healthy_steps(1000), growth]), "memory-grows")
    assert finding is not None
    assert finding.severity == "error"
    assert "retracing" in finding.why


def test_a_jump_and_a_plateau_are_no_growth():
    held = np.concatenate([np.full(500, 1.8e9), np.full(500, 2.4e9)])
    assert found(run_case(healthy_steps(1000, resident_bytes=held)), "memory-grows") is None
