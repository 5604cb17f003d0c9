"""A training with `--teacher`: what is learned, planned, remembered, resumed and refused."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tests.training.small_training import config_text, given_plan

from holdfast.checkpoints.own import saved_checkpoints
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.overrides import apply_overrides
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.errors import HoldfastError
from holdfast.memory.predict.items import TEACHER_WEIGHTS
from holdfast.runs.run import Run
from holdfast.training.fitting.plan_training import plan_training
from holdfast.training.loop import train
from holdfast.training.open_journal import TEACHER
from holdfast.training.reporter import Reporter
from holdfast.training.session import Session
from holdfast.training.teaching.teaching import CLASSES
from holdfast.training.training_settings import TrainingSettings

STEPS, HALF = 4, 2
WIDE = {"model.ssd.feature_extractor.depth_multiplier": 0.2}
OTHER_ANCHORS = WIDE | {"model.ssd.anchor_generator.ssd_anchor_generator.max_scale": 0.8}
LARGER = WIDE | {"model.ssd.image_resizer.fixed_shape_resizer.height": 96}
SETTINGS = TrainingSettings(
    steps=STEPS,
    deterministic=True,
    checkpoint_every=HALF,
    evaluate_every=1000,
    vitals_every=None,
    plan=given_plan(),
)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("10@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


@pytest.fixture(scope="module")
def teacher(data, tmp_path_factory) -> Path:
    return trained_teacher(data, tmp_path_factory.mktemp("runs") / "teacher", WIDE)


@pytest.fixture(scope="module")
def student(data, teacher, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "student"
    train(config(), folder, settings=replace(SETTINGS, teacher=str(teacher)), folder=data)
    return folder


def config(overrides: dict | None = None) -> TrainEvalPipelineConfig:
    plain = decode(config_text(evaluates=False), TrainEvalPipelineConfig).message
    changed, problems = apply_overrides(plain, overrides or {})
    assert not problems
    return changed


def trained_teacher(data: Path, run: Path, overrides: dict) -> Path:
    train(config(overrides), run, settings=replace(SETTINGS, steps=1), folder=data)
    return run


def tensors(run: Path) -> dict[str, np.ndarray]:
    found = saved_checkpoints.checkpoints_in(Run.open(run).checkpoints)[-1]
    assert found.step == STEPS
    restored = saved_checkpoints.restore(found).tensors
    return {name: np.asarray(restored[name]) for name in restored}


def losses(run: Path) -> list[dict[str, float]]:
    return [each.values["losses"] for each in Run.open(run).read_events() if each.kind == "step"]


def test_events_name_what_the_teacher_adds_and_the_manifest_names_the_teacher(student, teacher):
    assert all(CLASSES in each for each in losses(student))
    known = Run.open(student).manifest.facts[TEACHER]
    assert known["path"] == str(teacher)
    assert len(known["sha256"]) == 64


def test_no_variable_of_the_teacher_is_in_the_checkpoint(student, teacher):
    own, theirs = tensors(student), saved_checkpoints.checkpoints_in(teacher / "checkpoints")[-1]
    widths = {len(value) for name, value in own.items() if name.endswith("gamma")}
    restored = saved_checkpoints.restore(theirs).tensors
    wide = {len(restored[name]) for name in restored if name.endswith("gamma")}
    assert wide - widths
    assert own.keys() == dict.fromkeys(restored).keys()


@pytest.mark.slow
def test_a_stopped_student_goes_on_to_the_same_weights(student, teacher, data, tmp_path):
    stopped = tmp_path / "stopped"
    shutil.copytree(student, stopped)
    shutil.rmtree(saved_checkpoints.checkpoints_in(stopped / "checkpoints")[-1].path)
    moved = tmp_path / "moved"  # the same teacher at another place
    shutil.copytree(teacher, moved)
    train(config(), stopped, settings=replace(SETTINGS, teacher=str(moved)), folder=data)
    before, after = tensors(student), tensors(stopped)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)


def test_a_student_is_not_resumed_without_its_teacher_or_with_another(student, data, tmp_path):
    with pytest.raises(HoldfastError, match="--teacher"):
        train(config(), student, settings=SETTINGS, folder=data)
    missing = replace(SETTINGS, teacher=str(tmp_path / "gone"))
    with pytest.raises(HoldfastError, match="no detector at"):
        train(config(), student, settings=missing, folder=data)


def session(data: Path, teacher: Path) -> Session:
    settings = replace(SETTINGS, teacher=str(teacher), plan=None)
    return Session(config(), settings, data, tf.distribute.get_strategy())


def test_the_plan_counts_the_teacher(data, teacher):
    taught = session(data, teacher)
    plan = plan_training(taught, taught.settings, Reporter())
    expected = sum(
        4 * int(np.prod(each.shape)) for each in taught.step.loss.teaching.teacher.variables
    )
    assert plan.items[TEACHER_WEIGHTS] == pytest.approx(expected, rel=0.05)
    assert sum(plan.items.values()) == plan.predicted_peak_bytes


@pytest.mark.slow
@pytest.mark.parametrize("overrides", [OTHER_ANCHORS, LARGER])
def test_a_teacher_with_other_anchors_or_another_size_teaches_too(data, tmp_path, overrides):
    run = trained_teacher(data, tmp_path / "teacher", overrides)
    train(config(), tmp_path / "run", settings=replace(SETTINGS, teacher=str(run)), folder=data)
    terms = losses(tmp_path / "run")[-1]
    assert "Loss/distillation_classification_loss" in terms
    assert np.isfinite(list(terms.values())).all()


def test_a_teacher_with_other_classes_is_refused_by_their_names(data, teacher, tmp_path):
    other = tmp_path / "data"
    shutil.copytree(data, other)
    label_map = other / "label_map.pbtxt"
    label_map.write_text(label_map.read_text().replace("star", "comet"))
    with pytest.raises(HoldfastError, match="comet here, star there"):
        session(other, teacher)


def test_a_teacher_whose_label_map_is_gone_is_refused(data, teacher, tmp_path):
    lonely = tmp_path / "deep" / "teacher"
    shutil.copytree(teacher, lonely)
    with pytest.raises(HoldfastError, match="no label map"):
        session(data, lonely)
