"""A training with `--prune`: the share it asks for, the same after a stop, and a smaller zip."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.training.small_training import config_text, given_plan

from holdfast.checkpoints.own import saved_checkpoints
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.errors import HoldfastError
from holdfast.runs.run import Run
from holdfast.training.loop import train
from holdfast.training.optimization_choice import OptimizationChoice
from holdfast.training.step.pruning import PRUNED
from holdfast.training.training_settings import TrainingSettings

STEPS, HALF = 8, 4
PRUNE = OptimizationChoice(prune="0.5,begin=1,end=3,every=1")
SETTINGS = TrainingSettings(
    steps=STEPS,
    deterministic=True,
    checkpoint_every=HALF,
    evaluate_every=2,
    vitals_every=None,
    optimization=PRUNE,
    plan=given_plan(4, 2),  # in two pieces
    accumulation=2,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("10@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


@pytest.fixture(scope="module")
def run(data, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "pruned"
    train(config(), folder, settings=SETTINGS, folder=data)
    return folder


def config() -> TrainEvalPipelineConfig:
    return decode(config_text(), TrainEvalPipelineConfig).message


def tensors(run: Path, step: int = STEPS) -> dict[str, np.ndarray]:
    (found,) = [
        each
        for each in saved_checkpoints.checkpoints_in(Run.open(run).checkpoints)
        if each.step == step
    ]
    restored = saved_checkpoints.restore(found).tensors
    return {name: np.asarray(restored[name]) for name in restored}


def is_pruned(name: str) -> bool:
    return name.endswith("pointwise/convolution/kernel")


def test_half_of_each_kernel_and_of_its_average_is_zero(run):
    state = tensors(run)
    for group in ("model", "average"):
        kernels = [state[name] for name in state if name.startswith(group) and is_pruned(name)]
        assert len(kernels) > 10
        for kernel in kernels:
            assert np.mean(kernel == 0.0) == pytest.approx(0.5, abs=1.0 / kernel.size)


def test_events_and_manifest_tell_what_is_pruned(run):
    steps = [each.values for each in Run.open(run).read_events() if each.kind == "step"]
    shares = [each["pruned_share"] for each in steps]
    assert shares[0] == 0.0
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(0.5, abs=0.01)
    facts = Run.open(run).manifest.facts
    assert facts[PRUNED]["share"] == pytest.approx(shares[-1])
    assert facts["optimization"]["prune"] == PRUNE.prune


def test_a_stopped_run_goes_on_to_the_same_weights_to_the_last_bit(run, data, tmp_path):
    stopped = tmp_path / "stopped"
    shutil.copytree(run, stopped)
    for each in saved_checkpoints.checkpoints_in(stopped / "checkpoints"):
        if each.step > HALF:
            shutil.rmtree(each.path)
    train(config(), stopped, settings=SETTINGS, folder=data)
    before, after = tensors(run), tensors(stopped)
    assert before.keys() == after.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)


def test_a_run_is_not_resumed_with_another_pruning(run, data):
    with pytest.raises(HoldfastError, match="--prune"):
        train(
            config(),
            run,
            settings=replace(SETTINGS, optimization=OptimizationChoice()),
            folder=data,
        )


def test_no_checkpoint_from_before_the_end_of_pruning_is_the_best(run):
    rated = saved_checkpoints.checkpoints_in(Run.open(run).checkpoints)
    assert min(each.step for each in rated if each.metric is not None) >= 4
    assert any(each.metric is None and each.step < 4 for each in rated)


@pytest.mark.slow
def test_the_weights_are_smaller_once_they_are_zipped(run, data, tmp_path):
    dense = tmp_path / "dense"
    train(
        config(), dense, settings=replace(SETTINGS, optimization=OptimizationChoice()), folder=data
    )

    def zipped(folder: Path) -> int:
        state = tensors(folder)
        kernels = [state[name] for name in state if name.startswith("model") and is_pruned(name)]
        return len(gzip.compress(b"".join(each.tobytes() for each in kernels)))

    assert zipped(run) < 0.7 * zipped(dense)
