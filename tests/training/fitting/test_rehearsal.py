"""The worst batch is tried before the first step, and the training is the same as without."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tensorflow as tf
from tests.training.small_training import config_text, given_plan

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.runs.run import Run
from holdfast.training.loop import train
from holdfast.training.reporter import Reporter
from holdfast.training.step.training_step import TrainingStep
from holdfast.training.training_settings import TrainingSettings

SETTINGS = TrainingSettings(
    steps=2, deterministic=True, evaluate_every=1000, vitals_every=None, plan=given_plan()
)


class Heard(Reporter):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("20@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


def trained(data, run, **changes) -> tuple[list[dict], list[str]]:
    config = decode(config_text(), TrainEvalPipelineConfig).message
    config, reporter = config.replace(eval_input_reader=()), Heard()
    train(config, run, settings=replace(SETTINGS, **changes), folder=data, reporter=reporter)
    steps = [each.values for each in Run.open(run).read_events() if each.kind == "step"]
    return steps, reporter.notes


@pytest.mark.slow
def test_a_rehearsal_changes_no_loss_and_a_worst_batch_too_large_is_met_before_step_1(
    data, tmp_path, monkeypatch
):
    plain, _ = trained(data, tmp_path / "plain")
    rehearsed, notes = trained(data, tmp_path / "rehearsed", rehearses=True)
    assert [each["losses"] for each in rehearsed] == [each["losses"] for each in plain]
    assert any("Rehearsed the worst batch (64 x 64 pixels" in note for note in notes)
    assert all("peak_bytes" in each for each in plain)

    run = TrainingStep._run

    def tight(step: TrainingStep, batch, number):
        if step.accumulation == 1:
            raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating a tensor")
        return run(step, batch, number)

    monkeypatch.setattr(TrainingStep, "_run", tight)
    _, notes = trained(data, tmp_path / "tight", rehearses=True)
    assert any("There is not enough memory for the worst batch" in note for note in notes)
    assert not [
        each for each in Run.open(tmp_path / "tight").read_events() if each.kind == "recovered"
    ]
