"""What every backbone, neck and head promises: true shapes, saving, half precision, export."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import keras
import numpy as np
import pytest
import tensorflow as tf

from holdfast.models.backbones.backbone_spec import BACKBONES
from holdfast.models.detectors.build_detector import build_detector
from holdfast.testing.network_parts import (
    HALF_PRECISIONS,
    SIZES,
    Alone,
    LayerCase,
    backbone_case,
    check_export,
    check_half_precision,
    check_saving,
    check_shapes,
    head_case,
    neck_case,
    trained,
)

from .detectors.small_configs import NAMES, small_config
from .heads import parts as heads
from .necks import parts as necks

QUICK = ("mobilenet_v1", "mobilenet_v3_small", "resnet50_v1")
NARROW = {"depth_multiplier": 0.25, "min_depth": 8}


def backbone(name: str) -> LayerCase:
    keywords = {key: value for key, value in NARROW.items() if key in BACKBONES[name].takes}
    return backbone_case(name, **keywords)


def head(make: Callable[[], keras.layers.Layer]) -> LayerCase:
    per_location = (3, 3) if isinstance(make(), heads.WeightSharedHead) else (3, 6)
    return head_case(make, heads.FEATURES, per_location, 5)


PARTS = {
    **{f"backbone-{name}": backbone(name) for name in BACKBONES},
    **{f"neck-{name}": neck_case(make) for name, make in necks.NECKS.items()},
    **{f"head-{name}": head(make) for name, make in heads.HEADS.items()},
}


def is_quick(name: str) -> bool:
    kind, _, network = name.partition("-")
    return kind != "backbone" or network in QUICK


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=() if is_quick(name) else pytest.mark.slow) for name in PARTS],
)
def part(request: pytest.FixtureRequest) -> LayerCase:
    return PARTS[request.param]


@pytest.fixture(scope="module")
def model(part: LayerCase) -> Iterator[Alone]:
    yield trained(part)
    gc.collect()


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_declared_strides_and_channels_are_true(part, model, height, width):
    check_shapes(part, model, height, width)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning:keras")
def test_weights_save_and_load(part, model, tmp_path):
    check_saving(part, model, tmp_path)


@pytest.mark.parametrize("policy", HALF_PRECISIONS)
def test_runs_in_half_precision_with_whole_variables(part, model, policy):
    check_half_precision(part, model, policy)


def test_exports_to_a_saved_model_for_any_size(part, model, tmp_path):
    check_export(part, model, tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("ssd", "fpn") else pytest.mark.slow)
        for name in NAMES
    ],
)
def test_a_whole_detector_exports_from_pixels_to_detections(name, tmp_path):
    detector = build_detector(small_config(name, 96, 64))

    def detect(images):
        inputs, sizes = detector.preprocess(images)
        return detector.detections(detector(inputs, sizes=sizes), sizes)._asdict()

    exported = tf.Module()
    exported.detector = detector
    pixels = tf.TensorSpec((None, 50, 70, 3), tf.uint8)
    exported.detect = tf.function(lambda images: present(detect(images)), [pixels], autograph=False)
    tf.saved_model.save(exported, tmp_path)
    images = np.random.default_rng(0).integers(0, 256, (2, 50, 70, 3), np.uint8)
    loaded = tf.saved_model.load(tmp_path)  # it must outlive its function
    found, wanted = loaded.detect(images), present(detect(images))
    assert set(found) == {"boxes", "scores", "classes", "count"}
    for field, values in wanted.items():
        np.testing.assert_allclose(found[field], values, atol=1e-4, err_msg=field)


def present(detections: dict) -> dict:
    return {name: value for name, value in detections.items() if value is not None}


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("name", ["ssd", pytest.param("fpnlite", marks=pytest.mark.slow)])
def test_a_whole_detector_in_half_precision_finds_boxes_in_single(name, policy):
    detector = build_detector(small_config(name, 96, 64), precision=policy)
    inputs, sizes = detector.preprocess(np.zeros((1, 50, 70, 3), np.uint8))
    predictions = detector(inputs, sizes=sizes)
    assert {predictions.box_encodings.dtype.name, predictions.anchors.dtype.name} == {"float32"}
    found = detector.detections(predictions, sizes)
    assert np.isfinite(found.scores).all()
    assert {found.boxes.dtype.name, found.scores.dtype.name} == {"float32"}
