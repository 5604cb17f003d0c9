"""Models are measured apart, on the same data, and what is said of them is true."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from PIL import Image
from tests.cli.commands import holdfast as command
from tests.cli.commands import words
from tests.prediction.spread_weights import save_project
from tests.training.small_training import config_text

import holdfast
from holdfast.prediction.bubble_chart import draw_bubbles
from holdfast.prediction.compare_models import ComparedModel, ComparisonSettings, compare_models


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    _, detector = save_project(folder, config_text(chance=False))
    return folder, detector


@pytest.fixture(scope="module")
def compared(project):
    """The same detector twice, by the command."""
    folder, _ = project
    config = folder / "pipeline.config"
    model = f"{config}@{folder / 'checkpoints'}"
    options = ("--rounds", 2, "--images", 3, "--batch-size", 2, "--cores", 1)
    picture = folder / "compared.png"
    finished = command(
        "compare", model, model, "--data", config, *options, "--picture", picture, "--json"
    )
    assert finished.code == 0, finished.err
    return json.loads(finished.out), picture


def test_accuracy_is_that_of_an_evaluation(project, compared):
    folder, _ = project
    config = holdfast.load_config(folder / "pipeline.config")
    expected = holdfast.evaluate(config, folder / "checkpoints").metrics
    for model in compared[0]["models"]:
        assert model["map"] == pytest.approx(expected["DetectionBoxes_Precision/mAP"], abs=1e-3)
        at_half = expected["DetectionBoxes_Precision/mAP@.50IOU"]
        assert model["map_50"] == pytest.approx(at_half, abs=1e-3)
        assert model["note"] == ""


def test_size_is_that_of_the_weights(project, compared):
    _, detector = project
    weights = sum(np.asarray(each).nbytes for each in detector.weights)
    for model in compared[0]["models"]:
        assert model["bytes"] == pytest.approx(weights, rel=0.02)
        assert 0 < model["zipped_bytes"] < model["bytes"]


def test_times_memory_cores_and_runtime_are_said(compared):
    for model in compared[0]["models"]:
        assert 0 < model["latency_ms_median"] <= model["latency_ms_p90"]
        assert model["images_per_second"] > 0
        assert model["memory_bytes"] > 0
        assert model["cores"] == (1 if hasattr(os, "sched_setaffinity") else model["cores"])
        assert model["runtime"].startswith("TensorFlow 2.")


def test_the_picture_shows_a_bubble_for_each(compared):
    with Image.open(compared[1]) as picture:
        assert len(np.unique(np.asarray(picture).reshape(-1, 3), axis=0)) > 4


def test_a_model_that_cannot_be_loaded_is_named_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finished = command("compare", "gone", "--rounds", 1)
    assert finished.code == 2
    assert "gone: There is no gone" in words(finished.err)
    assert os.listdir(tmp_path) == []
    assert command("compare", "gone", "--picture", "a.jpg").code == 2


def test_a_bubble_is_larger_where_the_model_is():
    def model(name, size, latency, score):
        return ComparedModel(
            model=name,
            runtime="",
            cores=1,
            bytes=size,
            zipped_bytes=size,
            latency_ms_median=latency,
            latency_ms_p90=latency,
            images_per_second=1.0,
            memory_bytes=0,
            map=score,
            map_50=score,
        )

    large, small = model("large", 4_000_000, 40.0, 0.8), model("small", 1_000_000, 10.0, 0.6)
    chart = draw_bubbles([small, large]).astype(int)
    fast_half, slow_half = np.array_split(chart[80:420], 2, axis=1)
    drawn = [np.count_nonzero(np.ptp(half, axis=-1) > 60) for half in (fast_half, slow_half)]
    assert drawn[1] > 2 * drawn[0] > 0
    assert draw_bubbles([small]).shape == chart.shape


def test_without_data_there_is_no_accuracy(project):
    folder, _ = project
    model = f"{folder / 'pipeline.config'}@{folder / 'checkpoints'}"
    settings = ComparisonSettings(rounds=1, images=1, batch_size=1)
    (found,) = compare_models([model], settings)
    assert found.map is None
    assert found.latency_ms_median > 0
