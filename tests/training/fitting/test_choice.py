"""What real steps need corrects what was predicted."""

from __future__ import annotations

import pytest
from tests.training.small_training import config_text

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.memory.devices.device import Limit
from holdfast.memory.plan import BatchShape, StepSettings
from holdfast.memory.predict.items import LOOP
from holdfast.memory.search.measured import Measured
from holdfast.training.fitting import choice as module
from holdfast.training.fitting.choice import CORRECTION, Fitting, choose_measured
from holdfast.training.fitting.tracing import StepTracer
from holdfast.training.fitting.worst_batch import WorstBatch

WANTED = StepSettings(micro_batch=8)
SHAPE = BatchShape(height=256, width=256, boxes=20)


@pytest.fixture(scope="module")
def fitting():
    """A fitting into 1 % more memory than the step is predicted to need."""
    config = decode(config_text(deep=True), TrainEvalPipelineConfig).message

    worst = WorstBatch(shape=SHAPE, reasons=())

    def with_limit(size: int) -> Fitting:
        return Fitting(
            config=config,
            worst=worst,
            limit=Limit(device="cpu", bytes=size, source="a test"),
            base_bytes=0,
            tracer=StepTracer(config, worst),
        )

    needed = with_limit(2**40).plan(WANTED).predicted_peak_bytes
    return with_limit(int(1.01 * needed))


def measuring(monkeypatch, room: int, *shares: float) -> None:
    """Let the next processes hold these shares of the memory there is for a step."""
    held = iter(shares)

    def measure(command, request):
        return Measured(base_bytes=0, peak_bytes=int(next(held) * room), step_seconds=1.0)

    monkeypatch.setattr(module, "measure", measure)


def room_for_step(fitting: Fitting) -> int:
    """Give what is left of the limit for the step that is measured."""
    return fitting.limit.bytes - fitting.plan(WANTED).items[LOOP]


@pytest.mark.slow
def test_what_needs_too_much_is_searched_for_again(fitting, monkeypatch):
    room = room_for_step(fitting)
    measuring(monkeypatch, room, 1.2, 0.9)
    plan = choose_measured(fitting, WANTED).plan
    assert plan.fits
    assert plan.settings != WANTED
    assert plan.settings.batch_size == WANTED.batch_size
    assert plan.items[CORRECTION] == pytest.approx(0.2 * room, rel=0.5)
    assert plan.measured_peak_bytes == int(0.9 * room)


def test_what_fits_is_left_as_it_is(fitting, monkeypatch):
    measuring(monkeypatch, room_for_step(fitting), 0.99)
    plan = choose_measured(fitting, WANTED).plan
    assert plan.fits
    assert plan.settings == WANTED
    assert CORRECTION not in plan.items
