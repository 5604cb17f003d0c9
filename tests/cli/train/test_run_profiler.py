"""Some steps of a run are traced; whatever goes wrong with that, the training goes on."""

from __future__ import annotations

import pytest

from holdfast.cli.train.run_profiler import RunProfiler, run_profiler
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import HoldfastError
from holdfast.profiling.step_profiler import StepProfiler
from holdfast.training.training_settings import TrainingSettings


class Failing(StepProfiler):
    def done(self, steps: int) -> None:
        raise RuntimeError("another profiler is on")


def test_a_step_that_is_done_already_is_not_profiled(tmp_path):
    told: list[str] = []
    with RunProfiler(StepProfiler(tmp_path, first=2, count=3), told.append) as tracer:
        for steps in (5, 6, 7):
            assert tracer.done(steps) is None
    assert told == ["Step 2 is done already, so it is not profiled."]


def test_a_profiler_that_fails_is_told_once_and_left_alone(tmp_path):
    told: list[str] = []
    with RunProfiler(Failing(tmp_path, first=2, count=3), told.append) as tracer:
        assert tracer.done(1) is None
        assert tracer.done(2) is None
    assert told == ["The steps could not be profiled: RuntimeError: another profiler is on"]


def test_without_a_step_nothing_is_traced(tmp_path):
    settings = TrainingSettings(steps=5)
    config = TrainEvalPipelineConfig()
    with run_profiler(None, config, settings, tmp_path, pytest.fail) as tracer:
        assert tracer.done(0) is None
    with pytest.raises(HoldfastError, match="the training has 5 steps"):
        run_profiler(6, config, settings, tmp_path, pytest.fail)
