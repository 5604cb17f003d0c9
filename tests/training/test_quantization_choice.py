"""What `--quantize` asks for, and that a run keeps it, to the last bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from holdfast.checkpoints.own.own_reader import open_own_checkpoint
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.errors import HoldfastError
from holdfast.runs.run import Run
from holdfast.training.open_journal import open_journal
from holdfast.training.quantization_choice import quantization_overrides
from holdfast.training.training_settings import TrainingSettings

PROGRAM = Path(__file__).parent / "small_training.py"
DELAY = "graph_rewriter.quantization.delay"


def config(more: str = "", steps: int = 100) -> TrainEvalPipelineConfig:
    text = f"model {{ ssd {{ }} }} train_config {{ num_steps: {steps} }} {more}"
    return decode(text, TrainEvalPipelineConfig).message


def rewriter(delay: int) -> str:
    return f"graph_rewriter {{ quantization {{ delay: {delay} }} }}"


def test_ranges_are_observed_in_the_first_half(tmp_path):
    assert quantization_overrides(config(), tmp_path / "run", None) == {DELAY: "50"}
    assert quantization_overrides(config(), tmp_path / "run", 300) == {DELAY: "150"}


def test_a_config_that_asks_by_itself_is_left_alone(tmp_path):
    assert quantization_overrides(config(rewriter(7)), tmp_path / "run", 300) == {}


def test_a_run_keeps_its_delay_however_long_it_is_trained(tmp_path):
    with open_journal(config(rewriter(7)), tmp_path / "run", TrainingSettings(), tmp_path) as made:
        made.has_begun = True
    assert quantization_overrides(config(), tmp_path / "run", 300) == {DELAY: "7"}


def test_a_quantized_run_is_not_resumed_in_floating_point(tmp_path):
    with open_journal(config(rewriter(7)), tmp_path / "run", TrainingSettings(), tmp_path) as made:
        made.has_begun = True
    step = Run.open(tmp_path / "run").checkpoints / "step-00000001"
    step.mkdir(parents=True)
    with (
        pytest.raises(HoldfastError, match=r"quantization\.delay: 7 -> not set"),
        open_journal(config(), tmp_path / "run", TrainingSettings(), tmp_path),
    ):
        pass


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("20@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


def trained(data: Path, run: Path, steps: int) -> dict[str, np.ndarray]:
    command = [sys.executable, PROGRAM, data, run, "--steps", str(steps), "--quantize", "2"]
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    checkpoint = open_own_checkpoint(run)
    names = [*checkpoint.shapes, *checkpoint.other]
    return {name: checkpoint.value(name) for name in names}


@pytest.mark.slow
def test_a_resumed_run_observes_and_rounds_as_if_it_had_never_stopped(data, tmp_path):
    whole = trained(data, tmp_path / "whole", 4)
    trained(data, tmp_path / "run", 2)  # the first step to be rounded is the next one
    resumed = trained(data, tmp_path / "run", 4)
    assert int(whole["model/quantization/step"]) == 4
    assert any(name.endswith("act_quant/max") and value > 0 for name, value in whole.items())
    assert whole.keys() == resumed.keys()
    for name, value in whole.items():
        np.testing.assert_array_equal(resumed[name], value, err_msg=name)
