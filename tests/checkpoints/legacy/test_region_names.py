"""Every variable of the OD API's detectors of two stages has its place, in both generations."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from holdfast.checkpoints.legacy.detector_names import names_of
from holdfast.checkpoints.legacy.legacy_reader import LegacyCheckpoint, open_checkpoint
from holdfast.checkpoints.legacy.legacy_sorting import VALUE_SUFFIX, generation_of, sort_names
from holdfast.checkpoints.legacy.region_names import two_stages_tf1
from holdfast.checkpoints.variable_matching import match
from holdfast.config.load import load_config
from holdfast.models.backbones.backbone import Backbone, Endpoint
from holdfast.models.backbones.backbone_spec import SlimNames
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.features import Feature
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.convolution import Convolution, LayerSettings

RESNET50 = "faster_rcnn_resnet50_v1_640x640_coco17_tpu-8"
INCEPTION_V2 = "faster_rcnn_inception_v2_coco"
GOLDENS = [
    RESNET50,
    INCEPTION_V2,
    pytest.param("mask_rcnn_inception_resnet_v2_256x256", marks=pytest.mark.slow),
    pytest.param("mask_rcnn_resnet101_atrous_256x256", marks=pytest.mark.slow),
]
PYRAMID = "zoo_configs/tf2/faster_rcnn_resnet50_v1_fpn_640x640_coco17_tpu-8.config"
MASKS = "zoo_configs/tf1/mask_rcnn_inception_v2_coco.config"


@cache
def detector(path: Path, num_classes: int | None = None):
    config = load_config(path)
    model = config.model
    if num_classes is not None:
        model = replace(model, faster_rcnn=replace(model.faster_rcnn, num_classes=num_classes))
    return build_detector(replace(config, model=model))


def of_golden(shared: Path, folder: str):
    return detector(shared / "goldens" / folder / "pipeline.config")


def checkpoint_of(shapes: dict[str, tuple[int, ...]]) -> LegacyCheckpoint:
    model = sort_names(shapes).model
    return LegacyCheckpoint(
        prefix="golden",
        generation=generation_of(shapes),
        shapes={name: shapes[name] for name in model},
        averages={},
        other=(),
        reader=None,
    )


def index(corpus: Path, number: int) -> LegacyCheckpoint:
    return open_checkpoint(corpus / f"checkpoint_indexes/checkpoint{number:02d}")


@pytest.mark.parametrize("folder", GOLDENS)
def test_every_variable_of_a_golden_has_its_place(shared, folder):
    variables = json.loads((shared / "goldens" / folder / "variables.json").read_text())
    checkpoint = checkpoint_of({name: tuple(shape) for name, shape, _ in variables})
    report = match(of_golden(shared, folder), checkpoint, "full")
    assert report.is_whole
    assert set(report.loaded) == set(checkpoint.shapes)


def test_the_last_block_of_a_tf1_resnet_is_idle_in_the_first_stage():
    names = ["FirstStageFeatureExtractor/resnet_v1_50/block4/unit_1/bottleneck_v1/conv1/weights"]
    assert sort_names(names).other == tuple(names)
    assert sort_names([name.replace("First", "Second") for name in names]).other == ()


def test_a_published_resnet_50_of_tf2_fits_whole(shared, corpus):
    report = match(of_golden(shared, RESNET50), index(corpus, 2), "full")
    assert report.is_whole
    assert report.unused == ()


@pytest.mark.slow
def test_a_published_resnet_101_of_tf2_fits_whole(corpus):
    path = corpus / "zoo_configs/tf2/faster_rcnn_resnet101_v1_640x640_coco17_tpu-8.config"
    report = match(detector(path), index(corpus, 1), "full")
    assert report.is_whole
    assert report.unused == ()


@pytest.mark.parametrize("number", [10, 11, 12, 22, 42, 44])
def test_real_checkpoints_of_inception_v2_differ_in_classes_only(shared, corpus, number):
    report = match(of_golden(shared, INCEPTION_V2), index(corpus, number), "full")
    assert report.missing == ()
    assert report.unused == ()
    assert all(name.startswith("SecondStageBoxPredictor/") for name in report.mismatched)


@pytest.mark.slow
def test_a_published_mask_rcnn_fits_whole(corpus):
    report = match(detector(corpus / MASKS), index(corpus, 62), "full")
    assert report.is_whole
    assert report.unused == ()


@pytest.mark.slow
@pytest.mark.parametrize("number", [61, 63])
def test_a_first_stage_with_biases_in_place_of_batch_norm_fits_whole(corpus, number):
    report = match(detector(corpus / MASKS, num_classes=1), index(corpus, number), "full")
    assert report.is_whole
    assert "in place of some batch norms" in str(report)
    assert all(each.name.startswith("FirstStageFeatureExtractor/") for each in report.implied)
    every = [each for each in report.loaded if each.startswith("FirstStageFeatureExtractor/")]
    biases = [name for name in every if name.endswith("/biases")]
    assert len(report.implied) == 3 * len(biases)


def test_batch_norm_made_of_a_bias_adds_it_and_changes_nothing_else():
    settings = LayerSettings(batch_norm=BatchNormSettings(epsilon=0.1), activation=None)
    layer = Convolution(3, 1, settings=settings, name="Conv2d_2b_1x1")
    inputs = tf.random.stateless_normal((2, 4, 4, 5), (1, 2))
    backbone = Backbone([layer], [Endpoint("end", "Conv2d_2b_1x1", Feature(1, 3))], ["end"])
    backbone(inputs)
    scope = "FirstStageFeatureExtractor/InceptionV2/Conv2d_2b_1x1"
    held = {f"{scope}/weights": (1, 1, 5, 3), f"{scope}/biases": (3,)}
    sought = [
        *two_stages_tf1({"backbone": backbone}, SlimNames(scope="InceptionV2"), False)["backbone"]
    ]
    values = {name: np.random.default_rng(0).normal(size=shape) for name, shape in held.items()}
    for each in sought:
        name = next((name for name in each.names if name in held), None)
        implied = each.implied.value if each.implied else None
        value = implied if name is None else values[name]
        each.variable.assign(np.broadcast_to(value, each.variable.shape))
    expected = inputs @ values[f"{scope}/weights"][0, 0].astype(np.float32)
    expected += values[f"{scope}/biases"].astype(np.float32)
    np.testing.assert_allclose(backbone(inputs)[0], expected, atol=1e-5)


def test_detection_fills_what_sees_images_and_regions(shared, corpus):
    report = match(of_golden(shared, RESNET50), index(corpus, 2), "detection")
    assert len(report.loaded) == 265
    assert all("/_feature_extractor_for_" in name for name in report.loaded)
    assert report.missing == ()


def test_a_classifier_of_tf2_is_numbered_through_both_halves(shared):
    network = of_golden(shared, RESNET50)
    sought = names_of(network, "tf2", "classification", [])
    numbers = [int(each.names[0].split("-")[1].split("/")[0]) for each in sought]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(106))  # 53 convolutions and their normalizations
    assert "/region_extractor/block4_unit_3/" in sought[-1].variable.path


def test_a_classifier_of_tf1_has_no_stages(shared):
    network = of_golden(shared, INCEPTION_V2)
    names = {each.names[0] for each in names_of(network, "tf1", "classification", [])}
    assert "InceptionV2/Conv2d_1a_7x7/depthwise_weights" in names
    assert "InceptionV2/Mixed_5c/Branch_3/Conv2d_0b_1x1/weights" in names


@pytest.mark.slow
def test_repeats_are_counted_afresh_in_the_second_stage(shared):
    network = of_golden(shared, "mask_rcnn_inception_resnet_v2_256x256")

    def first_names(kind):
        return {each.names[0] for each in names_of(network, "tf1", kind, [])}

    below = "InceptionResnetV2/{}/block8_9/Branch_0/Conv2d_1x1/weights"
    assert f"SecondStageFeatureExtractor/{below.format('Repeat')}" in first_names("detection")
    assert below.format("Repeat_2") in first_names("classification")


@pytest.mark.slow
def test_a_pyramid_is_named_by_its_attributes(corpus):
    network = detector(corpus / PYRAMID)
    names = {
        each.names[0].removesuffix(VALUE_SUFFIX) for each in names_of(network, "tf2", "full", [])
    }
    images = "model/_feature_extractor_for_proposal_features/"
    regions = "model/_feature_extractor_for_box_classifier_features/"
    assert {
        f"{images}classification_backbone/layer_with_weights-0/kernel",
        f"{images}fpn_features_generator/top_layers/0/kernel",
        f"{images}coarse_feature_layers/0/1/moving_variance",
        f"{regions}layer_with_weights-1/gamma",
        f"{regions}layer_with_weights-2/kernel",
        "model/_first_stage_box_predictor/_prediction_heads/box_encodings/4/_box_encoder_layers/0/bias",
    } <= names
    backbone_alone = names_of(network, "tf2", "classification", [])
    assert all(not each.variable.path.startswith("region_extractor") for each in backbone_alone)
