"""What every backbone, neck and head promises: true shapes, saving, half precision, export."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf

import holdfast.models.build  # noqa: F401  registers all backbones
from holdfast.models.backbones.registry import BACKBONES
from holdfast.models.detectors.build import build_detector
from holdfast.models.features import Feature

from .detectors.small_configs import NAMES, small_config
from .heads import parts as heads
from .necks import parts as necks

ENDPOINTS = {
    "mobilenet_v1": ["Conv2d_3_pointwise", "Conv2d_11_pointwise", "Conv2d_13_pointwise"],
    "mobilenet_v2": ["layer_4", "layer_15/expansion_output", "layer_19"],
    "mobilenet_v3_large": ["layer_4", "layer_14/expansion_output", "layer_17"],
    "mobilenet_v3_small": ["layer_3", "layer_10/expansion_output", "layer_13"],
    "inception_v2": ["Mixed_3c", "Mixed_4c", "Mixed_5c"],
    **{f"resnet{depth}_v1": ["block1", "block2", "block4"] for depth in (50, 101, 152)},
    **{f"efficientnet_b{number}": ["level_2", "level_3", "level_5"] for number in range(8)},
}
QUICK = ("mobilenet_v1", "mobilenet_v3_small", "resnet50_v1")


class Part(NamedTuple):
    """A part with what goes in and what it says will come out, for an image of a size."""

    make: Callable[[], keras.layers.Layer]
    inputs: Callable[[int, int], list[np.ndarray] | np.ndarray]
    declared: Callable[[keras.layers.Layer, int, int], list[tuple[int, ...]]]


def features(layer: keras.layers.Layer, height: int, width: int) -> list[tuple[int, ...]]:
    return [
        (2, -(-height // stride), -(-width // stride), channels)
        for stride, channels in layer.features
    ]


def per_anchor(layer: keras.layers.Layer, height: int, width: int) -> list[tuple[int, ...]]:
    per_location = (3, 3) if isinstance(layer, heads.WeightSharedHead) else (3, 6)
    anchors = sum(
        count * -(-height // stride) * -(-width // stride)
        for count, (stride, _) in zip(per_location, heads.FEATURES, strict=True)
    )
    return [(2, anchors, 4), (2, anchors, 5)]


def backbone(name: str) -> Part:
    is_narrow = not name.startswith("efficientnet")
    keywords = {"depth_multiplier": 0.25, "min_depth": 8} if is_narrow else {}
    return Part(
        lambda: BACKBONES[name](ENDPOINTS[name], **keywords),
        lambda height, width: necks.maps(height, width, (Feature(1, 3),))[0],
        features,
    )


PARTS = {
    **{f"backbone-{name}": backbone(name) for name in ENDPOINTS},
    **{f"neck-{name}": Part(make, necks.maps, features) for name, make in necks.NECKS.items()},
    **{
        f"head-{name}": Part(
            make, lambda height, width: necks.maps(height, width, heads.FEATURES), per_anchor
        )
        for name, make in heads.HEADS.items()
    },
}


class Alone(keras.Model):
    """A part as a model: Keras saves weights of models only."""

    def __init__(self, part: keras.layers.Layer) -> None:
        super().__init__(name="alone")
        self.part = part

    def call(self, inputs, training=False):
        return self.part(inputs, training=training)


def is_quick(name: str) -> bool:
    kind, _, network = name.partition("-")
    return kind != "backbone" or network in QUICK


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=() if is_quick(name) else pytest.mark.slow) for name in PARTS],
)
def part(request: pytest.FixtureRequest) -> Part:
    return PARTS[request.param]


@pytest.fixture(scope="module")
def model(part: Part) -> Iterator[Alone]:
    """The part, its variables as they could be after training."""
    model = Alone(part.make())
    model(part.inputs(33, 47), training=True)
    random = np.random.default_rng(0)
    for weight in model.weights:
        weight.assign(np.asarray(weight.value) * random.uniform(0.9, 1.1, weight.shape))
    yield model
    gc.collect()


def test_every_backbone_is_here():
    assert set(ENDPOINTS) == set(BACKBONES)


@pytest.mark.parametrize(("height", "width"), [(64, 96), (65, 33), (1, 50)])
def test_declared_strides_and_channels_are_true(part, model, height, width):
    outputs = model(part.inputs(height, width))
    shapes = [tuple(output.shape) for output in outputs]
    assert shapes == part.declared(model.part, height, width)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning:keras")
def test_weights_save_and_load(part, model, tmp_path):
    inputs = part.inputs(33, 47)
    model.save_weights(tmp_path / "part.weights.h5")
    other = Alone(part.make())
    other(inputs)
    other.load_weights(tmp_path / "part.weights.h5")
    for saved, loaded in zip(model.weights, other.weights, strict=True):
        assert saved.path == loaded.path
        np.testing.assert_array_equal(saved.value, loaded.value)
    assert_close(other(inputs), model(inputs), 1e-5)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_runs_in_half_precision_with_whole_variables(part, model, policy):
    half = policy.removeprefix("mixed_")
    with precision(policy):
        other = part.make()
    inputs = keras.tree.map_structure(lambda each: keras.ops.cast(each, half), part.inputs(33, 47))
    trained = other(inputs, training=True)
    assert {output.dtype.name for output in trained} == {half}
    assert {variable.dtype for variable in other.trainable_variables} == {"float32"}
    assert all(np.isfinite(keras.ops.cast(output, "float32")).all() for output in trained)
    other.set_weights(model.part.get_weights())
    assert_close(other(inputs), model(part.inputs(33, 47)), 0.1 if half == "bfloat16" else 0.02)


@contextmanager
def precision(policy: str) -> Iterator[None]:
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy("float32")


def assert_close(actual, expected, tolerance: float) -> None:
    """Compare outputs; the tolerance is a share of the largest."""
    for one, other in zip(actual, expected, strict=True):
        bound = tolerance * float(np.abs(other).max())
        np.testing.assert_allclose(keras.ops.cast(one, "float32"), other, atol=bound)


def test_exports_to_a_saved_model_for_any_size(part, model, tmp_path):
    signature = keras.tree.map_structure(
        lambda each: tf.TensorSpec((None, None, None, each.shape[-1])), part.inputs(33, 47)
    )
    exported = tf.Module()
    exported.model = model
    exported.run = tf.function(lambda inputs: list(model(inputs)), [signature], autograph=False)
    tf.saved_model.save(exported, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    for size in ((33, 47), (64, 32)):
        assert_close(loaded.run(part.inputs(*size)), model(part.inputs(*size)), 1e-5)


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
