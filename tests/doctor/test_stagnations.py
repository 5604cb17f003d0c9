"""Six small trainings of an SSD MobileNet-V2 that stagnate, each for another reason: told apart.

Every one is trained for real, on shapes that are drawn on the spot. Minutes each.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from tests.doctor.test_planted_faults import first_two

from holdfast.cli.doctor.doctor_trial import run_arms, verdict_of
from holdfast.config.load import load_config
from holdfast.data.conversion.to_records import convert
from holdfast.data.records.record_files import read_records
from holdfast.data.sources.open_source import open_source
from holdfast.doctor.diagnose import open_case
from holdfast.doctor.trial_plan import fix_of, start_of
from holdfast.training.api import train
from holdfast.training.training_settings import TrainingSettings

pytestmark = pytest.mark.slow

RATE = "train_config.optimizer.adam_optimizer.learning_rate.cosine_decay_learning_rate"
STEPS = 600
LENGTH = {"train_config.num_steps": str(STEPS), f"{RATE}.total_steps": str(STEPS)}
MAP_50 = "DetectionBoxes_Precision/mAP@.50IOU"
RARE, COMMON = 4, 1  # classes, by id
FAULTS: Mapping[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "rate high": (
        {f"{RATE}.learning_rate_base": "0.4", f"{RATE}.warmup_learning_rate": "0.05"},
        ("learning-rate-high",),
    ),
    "rate low": (
        {f"{RATE}.learning_rate_base": "0.00004", f"{RATE}.warmup_learning_rate": "0.000005"},
        ("learning-rate-low", "learning-too-slow"),
    ),
    "decay over": (
        {f"{RATE}.total_steps": str(STEPS // 20), f"{RATE}.warmup_steps": "5"},
        ("schedule-ends-early",),
    ),
    "label map shifted": (
        {"eval_input_reader[0].label_map_path": "data/shifted.pbtxt"},
        ("label-shift",),
    ),
    "imbalance": ({}, ("class-imbalance", "class-starved")),
    "labels shuffled": ({}, ("label-noise", "plateau")),
}
MENDED = ("rate high", "rate low", "decay over", "label map shifted")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stagnating")
    convert(open_source("600@160", format_name="synthetic", seed=3), str(folder / "data"), val=0.15)
    names = ("ellipse", "rectangle", "star", "triangle")
    turned = enumerate((*names[-1:], *names[:-1]), 1)
    shifted = (f'item {{ id: {number} name: "{name}" }}' for number, name in turned)
    (folder / "data" / "shifted.pbtxt").write_text("\n".join(shifted))
    text = files("holdfast.config.recipes").joinpath("demo.config").read_text()
    (folder / "pipeline.config").write_text(text)
    _relabel(folder, "imbalance", _make_rare)
    _relabel(folder, "labels shuffled", lambda ids, chance: chance.integers(1, 5, len(ids)))
    return folder


def _make_rare(ids: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    keeps = chance.random(len(ids)) < 0.02
    return np.where((ids == RARE) & ~keeps, COMMON, ids)


def _relabel(
    folder: Path, name: str, change: Callable[[np.ndarray, np.random.Generator], np.ndarray]
) -> None:
    """Copy the training records with other classes."""
    import tensorflow as tf

    chance = np.random.default_rng(0)
    target = folder / name.replace(" ", "_")
    shutil.copytree(folder / "data", target)
    for path in target.glob("train.record-*"):
        records = [tf.train.Example.FromString(bytes(each)) for each in read_records(str(path))]
        with tf.io.TFRecordWriter(str(path)) as writer:
            for record in records:
                features = record.features.feature
                labels = features["image/object/class/label"].int64_list.value
                labels[:] = change(np.array(labels, np.int64), chance).tolist()
                features["image/object/class/text"].bytes_list.value[:] = []
                writer.write(record.SerializeToString())


def overrides_of(name: str, settings: Mapping[str, str]) -> dict[str, str]:
    pattern = f'["{name.replace(" ", "_")}/train.record-*"]'
    path = "train_input_reader.tf_record_input_reader.input_path"
    data = {path: pattern} if name in ("imbalance", "labels shuffled") else {}
    return LENGTH | dict(settings) | data


def trained(place: Path, name: str, settings: Mapping[str, str]) -> tuple[Path, float]:
    run = place / "runs" / name.replace(" ", "_")
    config = load_config(place / "pipeline.config", overrides_of(name, settings))
    length = TrainingSettings(evaluate_every=STEPS // 3, checkpoint_every=STEPS // 3)
    result = train(config, run, settings=length, folder=place)
    return run, result.metrics[MAP_50]


@pytest.fixture(scope="module")
def healthy(place: Path) -> float:
    return trained(place, "healthy", {})[1]


@pytest.mark.parametrize("name", FAULTS)
def test_the_reason_is_named(place: Path, name: str):
    settings, codes = FAULTS[name]
    run, _ = trained(place, name, settings)
    named = first_two(open_case(run))
    assert set(codes) & set(named), named


@pytest.mark.parametrize("name", MENDED)
def test_the_fix_reaches_the_healthy_training(place: Path, healthy: float, name: str):
    settings, codes = FAULTS[name]
    run, _ = trained(place, name, settings)  # is there already
    case = open_case(run)
    fix = fix_of(case, codes[0])
    outcomes = run_arms(case, fix, STEPS, start_of(case, fix))
    assert verdict_of(outcomes, fix).is_offered
    fixed = outcomes[1].evaluation
    assert fixed is not None
    assert fixed.metrics[MAP_50] >= 0.8 * healthy


def test_class_weights_help_the_rare_class(place: Path):
    run, _ = trained(place, "imbalance", {})
    case = open_case(run)
    fix = fix_of(case, "class-imbalance")
    as_it_is, fixed, _ = (
        each.evaluation for each in run_arms(case, fix, STEPS, start_of(case, fix))
    )
    assert as_it_is is not None
    assert fixed is not None
    rare = "triangle"
    assert (fixed.per_class[rare].ap50 or 0) > (as_it_is.per_class[rare].ap50 or 0)
