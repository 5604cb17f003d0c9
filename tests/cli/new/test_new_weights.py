"""What `new` says of the weights to start from."""

from __future__ import annotations

import pytest

from holdfast.config.check_config import check_config
from holdfast.config.load import load_config
from holdfast.config.recipes.recipe_table import find_recipe
from holdfast.projects.start_weights import choose_start

from .new_runs import made, refusal


@pytest.mark.parametrize(
    ("name", "index", "num_classes", "kind", "version"),
    [
        ("fpnlite_320", "16", 4, "full", "V2"),
        ("fpnlite_320", "16", 90, "full", "V2"),
        ("efficientdet_d0", "08", 90, "full", "V2"),  # which has no background class
        ("efficientdet_d0", "08", 89, "full", "V2"),
        ("ssd_mobilenet_v2_320", "47", 90, "full", "V2"),
        ("ssdlite_mobilenet_v2", "03", 4, "full", "V1"),
    ],
)
def test_as_much_of_a_checkpoint_is_loaded_as_fits(
    name, index, num_classes, kind, version, corpus, tmp_path
):
    prefix = corpus / "checkpoint_indexes" / f"checkpoint{index}"
    start = choose_start(str(prefix), find_recipe(name), num_classes, tmp_path)
    assert (start.kind, start.version.name) == (kind, version)


def test_a_checkpoint_is_named_in_the_config(shapes, corpus, tmp_path):
    archive = tmp_path / "zoo" / "checkpoint"
    archive.mkdir(parents=True)
    index = corpus / "checkpoint_indexes" / "checkpoint16.index"
    (archive / "ckpt-0.index").write_bytes(index.read_bytes())
    document = made("fpnlite_320", "--data", shapes, "--out", "shapes", "--checkpoint", "zoo")
    assert document["start"]["checkpoint"] == "../zoo/checkpoint/ckpt-0"
    train = load_config(document["config"]).train_config
    assert train.fine_tune_checkpoint == "../zoo/checkpoint/ckpt-0"
    assert train.fine_tune_checkpoint_type == "full"
    assert check_config(document["config"]).errors == ()


def test_weights_of_a_classifier_fill_the_backbone(shared, tmp_path):
    name = "mobilenet_v2_1.0_224_no_top.weights.h5"
    weights = shared / "weights" / "imagenet_mobilenet_v2" / name
    start = choose_start(str(weights), find_recipe("fpnlite_320"), 4, tmp_path)
    assert (start.checkpoint, start.kind) == (str(weights), "classification")


def test_a_checkpoint_that_is_not_there_is_refused_before_anything_is_written(shapes, tmp_path):
    for name in ("zoo/ckpt-0", "zoo/model.h5"):
        error = refusal("fpnlite_320", "--data", shapes, "--checkpoint", name)
        assert name in error.message
    assert not (tmp_path / "fpnlite_320").exists()
