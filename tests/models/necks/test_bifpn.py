from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from holdfast.models.features import Feature
from holdfast.models.necks.bifpn import BiFpn, Fusion

from .numpy_layers import layer, weights_of
from .parts import SETTINGS, bifpn, maps
from .test_fpn import enlarged


@pytest.mark.parametrize("combine_method", ["sum", "fast_attention"])
@pytest.mark.parametrize("size", [128, 97])
def test_features_go_down_and_up(combine_method: str, size: int):
    neck = bifpn(combine_method=combine_method)
    inputs = maps(size, size)
    neck(inputs)
    expected = one_iteration(inputs, weights_of(neck))
    for actual, value in zip(neck(inputs), expected, strict=True):
        np.testing.assert_allclose(actual, value, atol=1e-4)


def one_iteration(
    inputs: list[np.ndarray], weights: dict[str, np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Figure 2d of EfficientDet, for levels 3 to 6."""

    def projected(name: str, feature: np.ndarray) -> np.ndarray:
        return layer(feature, weights, f"{name}/projection_0", is_active=False)

    def node(name: str, *sources: np.ndarray) -> np.ndarray:
        factors = weights.get(f"{name}/fusion/combine_weights")
        if factors is not None:
            sources = [
                factor * source / (factors.sum() + 1e-4)
                for factor, source in zip(factors, sources, strict=True)
            ]
        return layer(np.clip(sum(sources), 0, 6), weights, f"{name}/convolution", is_active=False)

    p3, p4, p5 = inputs
    p6 = pooled(projected("up_0_level_6", p5))
    p5_down = projected("down_1_level_5", p5)
    d5 = node("down_1_level_5", p5_down, enlarged(p6, p5_down))
    p4_down = projected("down_1_level_4", p4)
    d4 = node("down_1_level_4", p4_down, enlarged(d5, p4_down))
    p3_down = projected("down_1_level_3", p3)
    d3 = node("down_1_level_3", p3_down, enlarged(d4, p3_down))
    u4 = node("up_1_level_4", projected("up_1_level_4", p4), d4, pooled(d3))
    u5 = node("up_1_level_5", projected("up_1_level_5", p5), d5, pooled(u4))
    return d3, u4, u5, node("up_1_level_6", p6, pooled(u5))


def pooled(feature: np.ndarray) -> np.ndarray:
    """Take the largest of 3 x 3 cells at every second place, as TensorFlow's "same" pads."""
    _, height, width, _ = feature.shape
    before_y, before_x = 1 - (height + 1) % 2, 1 - (width + 1) % 2
    outputs = np.empty((feature.shape[0], -(-height // 2), -(-width // 2), feature.shape[3]))
    for y in range(outputs.shape[1]):
        for x in range(outputs.shape[2]):
            top, left = 2 * y - before_y, 2 * x - before_x
            cells = feature[:, max(top, 0) : top + 3, max(left, 0) : left + 3]
            outputs[:, y, x] = cells.max(axis=(1, 2))
    return outputs


def test_each_iteration_starts_from_the_one_before():
    neck = bifpn(num_coarse_levels=2, num_iterations=2)
    sources = {plan.name: plan.sources for plan in neck.plans}
    assert sources["up_0_level_7"] == ("up_0_level_6",)
    assert sources["down_1_level_6"] == ("up_0_level_6", "up_0_level_7")
    assert sources["down_2_level_3"] == ("down_1_level_3", "down_2_level_4")
    assert sources["down_2_level_6"] == ("up_1_level_6", "up_1_level_7")
    assert sources["up_2_level_4"] == ("up_1_level_4", "down_2_level_4", "down_2_level_3")
    assert sources["up_2_level_7"] == ("up_1_level_7", "up_2_level_6")


def test_a_pyramid_no_higher_than_the_backbone_needs_no_pooled_levels():
    neck = bifpn(num_coarse_levels=0)
    outputs = neck(maps(64, 64))
    assert [output.shape[1] for output in outputs] == [8, 4, 2]


def test_backbone_features_are_projected_even_if_their_channels_fit():
    neck = BiFpn(
        (Feature(8, 6),), depth=6, num_coarse_levels=1, num_iterations=1, settings=SETTINGS
    )
    neck(maps(32, 32, (Feature(8, 6),)))
    assert sum("projection" in variable.path for variable in neck.variables) == 2 * 5


@pytest.mark.parametrize(
    ("combine_method", "expected"),
    [
        ("sum", 1.0 + 10.0 + 100.0),
        ("weighted_sum", 1.0 - 30.0 + 100.0),
        ("fast_attention", (1.0 + 100.0) / 2.0001),
        ("attention", 1.0 + 10.0 + 100.0),  # a softmax over one number is 1
    ],
)
def test_maps_are_added_by_their_weights(combine_method: str, expected: float):
    fusion = Fusion(combine_method)
    inputs = [np.full((1, 2, 2, 1), value, np.float32) for value in (1.0, 10.0, 100.0)]
    fusion(inputs)
    if fusion.weights:
        fusion.set_weights([np.array([[1.0], [-3.0], [1.0]])])
    np.testing.assert_allclose(fusion(inputs), np.full((1, 2, 2, 1), expected), rtol=1e-6)


@pytest.mark.parametrize("combine_method", ["attention", "fast_attention"])
def test_every_trained_weight_has_a_gradient(combine_method: str):
    neck = bifpn(combine_method=combine_method)
    inputs = maps(64, 64)
    neck(inputs)
    with tf.GradientTape() as tape:
        loss = sum(keras.ops.sum(output**2) for output in neck(inputs, training=True))
    gradients = tape.gradient(loss, [v.value for v in neck.trainable_variables])
    assert None not in gradients
