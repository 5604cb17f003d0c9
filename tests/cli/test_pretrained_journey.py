"""Four commands from labeled images to detections in a new one, from a zoo on loopback."""

from __future__ import annotations

import json

import pytest
from tests.checkpoints.bundles import write_bundle
from tests.checkpoints.zoo.loopback import Loopback
from tests.checkpoints.zoo.tiny_archives import packed
from tests.prediction.spread_weights import spread_weights

from holdfast.checkpoints.legacy.detector_names import names_of
from holdfast.config.load import load_config, save_config
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe_table import find_recipe
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.sources.open_source import open_source
from holdfast.models.detectors.build_detector import build_detector

from .commands import holdfast, words

RECIPE = find_recipe("ssdlite_mobilenet_v2")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """What the zoo has of the recipe's network: 90 classes, names of TF1."""
    folder = tmp_path_factory.mktemp("zoo") / RECIPE.zoo
    model = recipe_model(RECIPE, num_classes=90)
    detector = build_detector(model)
    spread_weights(detector)
    values = {each.names[0]: each.variable.value for each in names_of(detector, "tf1", "full", ())}
    write_bundle(folder / "model.ckpt", values)
    save_config(TrainEvalPipelineConfig(model=model), folder / "pipeline.config")
    return packed(folder)


def test_from_labeled_images_to_detections_in_a_new_one(archive, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    with Loopback() as server:
        server.files[f"/{RECIPE.zoo}.tar.gz"] = archive
        server.cuts.append(100_000)
        monkeypatch.setenv("HOLDFAST_MIRROR", server.address)
        data = ("--data", "8@96", "--format", "synthetic", "--batch-size", 2, "--steps", 2)
        made = holdfast("new", RECIPE.name, *data, "--input-size", 96, "--pretrained", "--json")
    assert made.code == 0, made.err
    assert server.ranges == [None, "bytes=100000-"]
    config = load_config(json.loads(made.out)["config"])
    assert config.train_config.fine_tune_checkpoint.endswith(f"{RECIPE.zoo}/model.ckpt")
    assert config.train_config.fine_tune_checkpoint_type == "full"
    trained = holdfast("train", json.loads(made.out)["config"], "--run", "run")
    assert trained.code == 0, trained.err
    assert "392 variables loaded, 12 of another shape" in words(trained.out)
    exported = holdfast("export", "run", "--out", "exported", "--json")
    assert exported.code == 0, exported.err
    photo = next(iter(open_source("1@96", format_name="synthetic", seed=5).images()))
    (tmp_path / "photo.png").write_bytes(photo.image.encoded)
    found = holdfast("predict", "exported", "photo.png", "--score", 0.01, "--json")
    assert found.code == 0, found.err
    (image,) = json.loads(found.out)["images"]
    assert image["detections"]
