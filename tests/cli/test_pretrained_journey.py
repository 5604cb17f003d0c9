"""Four commands from labeled images to detections in a new one, from a zoo on loopback."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PIL import Image
from tests.checkpoints.bundles import write_bundle
from tests.checkpoints.zoo.loopback import Loopback
from tests.checkpoints.zoo.tiny_archives import packed
from tests.prediction.spread_weights import noise, spread_weights

from holdfast.checkpoints.legacy.detector_names import names_of
from holdfast.config.load import load_config, save_config
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe_table import RECIPES, find_recipe
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.models.detectors.build_detector import build_detector

from .commands import CONFIG, holdfast

WHOLE = find_recipe("ssdlite_mobilenet_v2")


@pytest.fixture
def tiny_recipe(tmp_path, monkeypatch):
    """A recipe whose network learns in seconds, and which is otherwise as the others."""
    model = CONFIG[: CONFIG.index("train_config")].replace(
        "num_classes: 4", "num_classes: $num_classes"
    )
    model = model.replace("height: 96 width: 96", "height: $input_size width: $input_size")
    template = tmp_path / "tiny.config"
    template.write_text(model)
    recipe = replace(WHOLE, name="tiny", template=str(template), input_size=96, anchors="")
    monkeypatch.setitem(RECIPES, "tiny", recipe)
    return recipe


def archive_of(recipe, folder) -> bytes:
    """Pack what the zoo would have of a recipe's network: 90 classes, names of TF1."""
    model = recipe_model(recipe, num_classes=90)
    detector = build_detector(model)
    spread_weights(detector)
    values = {each.names[0]: each.variable.value for each in names_of(detector, "tf1", "full", ())}
    write_bundle(folder / recipe.zoo / "model.ckpt", values)
    save_config(TrainEvalPipelineConfig(model=model), folder / recipe.zoo / "pipeline.config")
    return packed(folder / recipe.zoo)


def journey(recipe, folder, monkeypatch, *, cut: int, format_name: str):
    """Make, train, export and predict; nothing but the first command has a network."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOLDFAST_CACHE", str(folder / "cache"))
    with Loopback() as server:
        server.files[f"/{recipe.zoo}.tar.gz"] = archive_of(recipe, folder / "zoo")
        server.cuts.append(cut)
        monkeypatch.setenv("HOLDFAST_MIRROR", server.address)
        data = ("--data", "8@96", "--format", "synthetic", "--batch-size", 2, "--steps", 2)
        size = ("--input-size", 96, "--out", "project")
        made = holdfast("new", recipe.name, *data, *size, "--pretrained", "--json")
    assert made.code == 0, made.err
    assert server.ranges == [None, f"bytes={cut}-"]
    config = load_config(folder / "project" / "pipeline.config")
    assert config.train_config.fine_tune_checkpoint.endswith(f"{recipe.zoo}/model.ckpt")
    assert config.train_config.fine_tune_checkpoint_type == "full"
    trained = holdfast("train", "project/pipeline.config", "--run", "run", "--json")
    assert trained.code == 0, trained.err
    exported = holdfast("export", "run", "--format", format_name, "--out", "exported", "--json")
    assert exported.code == 0, exported.err
    Image.fromarray(noise(80, 100)).save(folder / "photo.png")
    found = holdfast("predict", "exported", "photo.png", "--score", 0.001, "--json")
    assert found.code == 0, found.err
    (image,) = json.loads(found.out)["images"]
    assert image["detections"]
    assert {each["name"] for each in image["detections"]} <= set(json.loads(made.out)["classes"])


def test_from_labeled_images_to_detections_in_a_new_one(tiny_recipe, tmp_path, monkeypatch):
    journey(tiny_recipe, tmp_path, monkeypatch, cut=5000, format_name="tflite")


@pytest.mark.slow
def test_the_same_with_a_whole_network(tmp_path, monkeypatch):
    journey(WHOLE, tmp_path, monkeypatch, cut=100_000, format_name="tflite")
