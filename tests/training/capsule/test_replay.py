"""A step from its capsule: the same numbers, and what is wrong with them is found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.training.small_training import config_text, given_plan
from typer.testing import CliRunner

from holdfast.cli.main import app
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.errors import HoldfastError
from holdfast.runs.run import Run
from holdfast.training.capsule.capsule_file import Capsule, read_capsule, write_capsule
from holdfast.training.capsule.first_wrong import LAYER, LOSS, TRUTH, WEIGHTS
from holdfast.training.capsule.replay import replay
from holdfast.training.loop import train
from holdfast.training.training_settings import TrainingSettings

SETTINGS = TrainingSettings(
    steps=3,
    deterministic=True,
    evaluate_every=1000,
    vitals_every=None,
    accumulation=2,
    plan=given_plan(4, 2),
)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    convert(open_source("20@64", format_name="synthetic", seed=1), str(folder), val=0.0, seed=0)
    return folder


def trained(data: Path, run: Path, capsule_at: tuple[int, ...] = ()) -> list[dict]:
    config = decode(config_text(deep=True), TrainEvalPipelineConfig).message
    config = config.replace(eval_input_reader=())
    train(config, run, settings=replace(SETTINGS, capsule_at=capsule_at), folder=data)
    return [each.values for each in Run.open(run).read_events() if each.kind == "step"]


@pytest.fixture(scope="module")
def run(data, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "kept"
    trained(data, folder, capsule_at=(2,))
    return folder


@pytest.fixture(scope="module")
def file(run) -> Path:
    return run / "capsules" / "step-00000002-requested.capsule"


def changed(capsule: Capsule, path: Path, **changes) -> Path:
    return write_capsule(path, replace(capsule, **changes))


@pytest.mark.slow
def test_keeping_a_step_changes_no_bit_of_the_training(data, run, tmp_path):
    kept = [each.values for each in Run.open(run).read_events() if each.kind == "step"]
    plain = trained(data, tmp_path / "plain")
    assert [each["losses"] for each in kept] == [each["losses"] for each in plain]
    (event,) = [each for each in Run.open(run).read_events() if each.kind == "capsule"]
    assert event.step == 2
    assert event.values["bytes"] == (run / event.values["file"]).stat().st_size


def test_a_replay_gives_the_recorded_losses_to_the_last_bit(run, file, tmp_path):
    steps = [each.values for each in Run.open(run).read_events() if each.kind == "step"]
    replayed = replay(file)
    assert replayed.is_equal
    assert replayed.losses == steps[1]["losses"]
    assert replayed.gradient_norm == steps[1]["gradient_norm"]
    assert not replayed.wrong
    # What places and images add up to is the loss.
    for name in ("Loss/localization_loss", "Loss/classification_loss"):
        total = sum(terms[name] for terms in replayed.by_image)
        assert total == pytest.approx(replayed.losses[name], rel=1e-4)
    largest = replayed.largest[0]
    assert 0 < largest.loss <= replayed.by_image[largest.image][largest.term] * 1.0001
    assert len(replayed.capsule.records) == len(replayed.capsule.document["images"]) == 8


def test_the_command_shows_images_and_prints_json(file, tmp_path):
    result = CliRunner().invoke(app, ["replay", str(file), "--out", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["is_equal"] is True
    assert len(document["images"]) == 8
    assert len(list(tmp_path.glob("image-*.png"))) == 8


def test_a_weight_that_is_infinite_is_named_with_the_layer_it_reaches_first(file, tmp_path):
    capsule = read_capsule(file)
    name = next(each for each in capsule.weights if "expanded_conv_3" in each and "kernel" in each)
    broken = np.array(capsule.weights[name])
    broken.flat[0] = np.inf
    path = changed(capsule, tmp_path / "inf.capsule", weights={**capsule.weights, name: broken})
    replayed = replay(path)
    assert replayed.is_equal is False
    found = {each.where: each for each in replayed.wrong}
    assert found[WEIGHTS].name.endswith(name.removeprefix("model/"))
    assert "expanded_conv_3" in found[LAYER].name
    assert LOSS in found


@pytest.mark.slow
def test_a_corrupt_box_is_named_with_its_image(file, tmp_path):
    capsule = read_capsule(file)
    boxes = np.array(capsule.batch["boxes"])
    image, box = np.argwhere(capsule.batch["weights"] > 0)[0]
    boxes[image, box, 2] = np.nan
    path = changed(capsule, tmp_path / "box.capsule", batch={**capsule.batch, "boxes": boxes})
    replayed = replay(path)
    first = replayed.wrong[0]
    assert (first.where, first.images, first.name) == (TRUTH, (image,), f"box {box}")


def test_a_damaged_file_is_refused(file, tmp_path):
    (tmp_path / "half.capsule").write_bytes(file.read_bytes()[:1000])
    with pytest.raises(HoldfastError, match="not a capsule, or it is damaged"):
        read_capsule(tmp_path / "half.capsule")
