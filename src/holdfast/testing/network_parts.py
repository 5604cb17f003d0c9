"""What backbones, necks and heads promise: true shapes, saving, half precision, export."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.models.backbones.backbone import Backbone
from holdfast.models.backbones.backbone_spec import BACKBONES
from holdfast.models.features import Feature
from holdfast.models.heads.head_registry import HEADS
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.necks.neck_registry import NECKS

# Images of a batch of 2; some sizes are odd, one is a single row of pixels.
SIZES = ((64, 96), (65, 33), (1, 50))
HALF_PRECISIONS = ("mixed_bfloat16", "mixed_float16")
_SIZE = (33, 47)
_SETTINGS = LayerSettings(l2=0.5)
_PYRAMID = (Feature(8, 3), Feature(16, 4), Feature(32, 5))

Maps = list[NDArray[np.float32]]


class LayerCase(NamedTuple):
    """A part with what goes in, and what it says will come out, for an image of a size."""

    make: Callable[[], keras.layers.Layer]
    inputs: Callable[[int, int], Any]  # height, width -> an array, or one for each feature map
    declared: Callable[[keras.layers.Layer, int, int], list[tuple[int, ...]]]


def check_backbone(name: str, **keywords: Any) -> None:
    """Check a registered backbone with all its levels; keywords are its factory's.

    AssertionError says which promise it breaks.
    """
    _check(backbone_case(name, **keywords))


def check_neck(name: str, **keywords: Any) -> None:
    """Check a registered neck on small features of strides 8, 16 and 32."""
    options = {"depth": 6, "num_coarse_levels": 2, "settings": _SETTINGS, "name": "neck"}
    _check(neck_case(lambda: NECKS[name](_PYRAMID, **(options | keywords))))


def check_head(name: str, **keywords: Any) -> None:
    """Check a registered head on two feature maps, with 3 anchors a cell and 5 class slots."""
    features = (Feature(16, 4), Feature(32, 4))
    options = {
        "anchors_per_location": (3, 3),
        "num_class_slots": 5,
        "code_size": 4,
        "settings": _SETTINGS,
        "name": "head",
    }
    make = HEADS[name]
    _check(head_case(lambda: make(features, **(options | keywords)), features, (3, 3), 5))


def backbone_case(name: str, **keywords: Any) -> LayerCase:
    """Make the case of a registered backbone."""
    spec = BACKBONES[name]
    level_of = {
        endpoint: level
        for levels in (spec.levels, *spec.levels_of.values())
        for level, endpoint in levels.items()
    }

    def make() -> keras.layers.Layer:
        backbone = spec.factory(tuple(level_of), **keywords)
        _require(isinstance(backbone, Backbone), f"{name} does not make a Backbone")
        levels = [feature.level for feature in backbone.features]
        expected = list(level_of.values())
        _require(levels == expected, f"levels are {expected}, and the features say {levels}")
        return backbone

    return LayerCase(make, lambda height, width: maps(height, width, (Feature(1, 3),))[0], _maps_of)


def neck_case(make: Callable[[], keras.layers.Layer]) -> LayerCase:
    """Make the case of a neck that is built on features of strides 8, 16 and 32."""
    return LayerCase(make, lambda height, width: maps(height, width, _PYRAMID), _maps_of)


def head_case(
    make: Callable[[], keras.layers.Layer],
    features: Sequence[Feature],
    anchors_per_location: Sequence[int],
    num_class_slots: int,
) -> LayerCase:
    """Make the case of a head that is built on these features."""

    def declared(layer: keras.layers.Layer, height: int, width: int) -> list[tuple[int, ...]]:
        anchors = sum(
            count * -(-height // stride) * -(-width // stride)
            for count, (stride, _) in zip(anchors_per_location, features, strict=True)
        )
        return [(2, anchors, 4), (2, anchors, num_class_slots)]

    return LayerCase(make, lambda height, width: maps(height, width, features), declared)


def maps(height: int, width: int, features: Sequence[Feature]) -> Maps:
    """Draw feature maps of two images of a size."""
    random = np.random.default_rng(1)
    return [
        random.normal(size=(2, -(-height // stride), -(-width // stride), channels)).astype(
            np.float32
        )
        for stride, channels in features
    ]


class Alone(keras.Model):
    """A part as a model: Keras saves weights of models only."""

    def __init__(self, part: keras.layers.Layer) -> None:
        super().__init__(name="alone")
        self.part = part

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Run the part."""
        return self.part(inputs, training=training)


def trained(case: LayerCase) -> Alone:
    """Make the part with variables as they could be after training."""
    model = Alone(case.make())
    model(case.inputs(*_SIZE), training=True)
    random = np.random.default_rng(0)
    for weight in model.weights:
        weight.assign(np.asarray(weight.value) * random.uniform(0.9, 1.1, weight.shape))
    return model


def check_shapes(case: LayerCase, model: Alone, height: int, width: int) -> None:
    """Compare what comes out of an image of a size with what the part declares."""
    shapes = [tuple(output.shape) for output in model(case.inputs(height, width))]
    declared = case.declared(model.part, height, width)
    _require(shapes == declared, f"for {height} x {width} it gives {shapes}, declared: {declared}")


def check_saving(case: LayerCase, model: Alone, folder: Path) -> None:
    """Save the weights and load them into the same part, made again."""
    inputs = case.inputs(*_SIZE)
    model.save_weights(folder / "part.weights.h5")
    other = Alone(case.make())
    other(inputs)
    other.load_weights(folder / "part.weights.h5")
    for saved, loaded in zip(model.weights, other.weights, strict=True):
        _require(saved.path == loaded.path, f"{saved.path} is {loaded.path} when made again")
        np.testing.assert_array_equal(saved.value, loaded.value, saved.path)
    _compare(other(inputs), model(inputs), 1e-5)


def check_half_precision(case: LayerCase, model: Alone, policy: str) -> None:
    """Compute in half precision, with variables in single: finite, and near the true values."""
    half = policy.removeprefix("mixed_")
    with _precision(policy):
        other = case.make()
    inputs = keras.tree.map_structure(lambda each: keras.ops.cast(each, half), case.inputs(*_SIZE))
    outputs = other(inputs, training=True)
    _require({output.dtype.name for output in outputs} == {half}, f"outputs are not {half}")
    kept = {variable.dtype for variable in other.trainable_variables}
    _require(kept <= {"float32"}, f"variables are {kept}, not float32")
    for output in outputs:
        _require(np.isfinite(keras.ops.cast(output, "float32")).all(), "outputs are not finite")
    other.set_weights(model.part.get_weights())
    _compare(other(inputs), model(case.inputs(*_SIZE)), 0.1 if half == "bfloat16" else 0.02)


def check_export(case: LayerCase, model: Alone, folder: Path) -> None:
    """Save the part as a SavedModel for inputs of any size, and run that."""
    signature = keras.tree.map_structure(
        lambda each: tf.TensorSpec((None, None, None, each.shape[-1])), case.inputs(*_SIZE)
    )
    exported = tf.Module()
    exported.model = model
    exported.run = tf.function(lambda inputs: list(model(inputs)), [signature], autograph=False)
    tf.saved_model.save(exported, folder)
    loaded = tf.saved_model.load(folder)
    for size in (_SIZE, (64, 32)):
        _compare(loaded.run(case.inputs(*size)), model(case.inputs(*size)), 1e-5)


def _check(case: LayerCase) -> None:
    model = trained(case)
    for height, width in SIZES:
        check_shapes(case, model, height, width)
    for policy in HALF_PRECISIONS:
        check_half_precision(case, model, policy)
    with tempfile.TemporaryDirectory() as folder:
        check_saving(case, model, Path(folder))
        check_export(case, model, Path(folder) / "saved_model")


def _maps_of(layer: keras.layers.Layer, height: int, width: int) -> list[tuple[int, ...]]:
    return [
        (2, -(-height // stride), -(-width // stride), channels)
        for stride, channels in layer.features
    ]


@contextmanager
def _precision(policy: str) -> Iterator[None]:
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def _compare(actual: Any, expected: Any, tolerance: float) -> None:
    """Compare outputs; the tolerance is a share of the largest."""
    for one, other in zip(actual, expected, strict=True):
        bound = tolerance * float(np.abs(other).max())
        np.testing.assert_allclose(keras.ops.cast(one, "float32"), other, atol=bound)


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)
