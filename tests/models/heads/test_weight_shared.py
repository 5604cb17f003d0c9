from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from holdfast.errors import HoldfastError
from holdfast.models.features import Feature
from holdfast.models.layers.convolution import LayerSettings

from ..necks.numpy_layers import layer, normalize, weights_of
from ..necks.parts import maps
from .parts import FEATURES, SETTINGS, weight_shared


@pytest.mark.parametrize(
    ("use_depthwise", "is_shared", "channels"),
    [(False, False, (4, 4, 4)), (True, True, (4, 4, 4)), (True, False, (4, 3, 4))],
)
def test_towers_are_shared_and_batch_norms_are_not(
    use_depthwise: bool, is_shared: bool, channels: tuple[int, ...]
):
    features = tuple(Feature(8 * 2**index, count) for index, count in enumerate(channels))
    head = weight_shared(
        features=features,
        anchors_per_location=(3, 3, 3),
        use_depthwise=use_depthwise,
        share_prediction_tower=is_shared,
    )
    inputs = maps(72, 40, features)
    head(inputs)
    weights = weights_of(head)

    def predicted(level: int, tower: str, part: str, size: int) -> np.ndarray:
        values = inputs[level]
        if len(set(channels)) > 1:
            values = layer(values, weights, f"projection_{level}", is_active=False)
        for index in (0, 1):
            name = f"{'tower' if is_shared else tower}/layer_{index}"
            values = layer(values, weights, f"{name}/shared", is_active=False)
            values = normalize(values, weights, f"{name}/batch_norm_{level}")
            values = np.clip(values, 0, 6)
        return layer(values, weights, part, is_active=False).reshape(2, -1, size)

    parts = (("box_tower", "boxes", 4), ("class_tower", "classes", 5))
    for actual, part in zip(head(inputs), parts, strict=True):
        expected = np.concatenate([predicted(level, *part) for level in range(3)], axis=1)
        np.testing.assert_allclose(actual, expected, atol=1e-4)


def test_a_level_without_loss_keeps_its_batch_norm_and_moves_the_shared_kernels():
    head = weight_shared()
    inputs = maps(64, 64, FEATURES)
    head(inputs)
    fine_anchors = 3 * 4 * 4
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(head(inputs).box_encodings[:, :fine_anchors] ** 2)
    first = head.box_tower.blocks[0]
    fine, coarse, kernel = tape.gradient(
        loss,
        [
            *(batch_norm.gamma.value for batch_norm in first.batch_norms),
            first.shared.convolution.kernel.value,
        ],
        unconnected_gradients="zero",
    )
    assert np.any(fine)
    assert not np.any(coarse)
    assert np.any(kernel)


def test_statistics_of_each_level_follow_that_level():
    head = weight_shared()
    fine, coarse = maps(64, 64, FEATURES)
    head([fine, np.zeros_like(coarse)], training=True)
    of_fine, of_coarse = head.box_tower.blocks[0].batch_norms
    assert np.any(of_fine.moving_mean.numpy())
    np.testing.assert_array_equal(of_coarse.moving_mean.numpy(), 0.0)


def test_all_levels_are_projected_to_the_most_frequent_channels():
    channels = (5, 7, 7)
    head = weight_shared(
        features=tuple(Feature(8, count) for count in channels), anchors_per_location=(3, 3, 3)
    )
    assert [projection.convolution.filters for projection in head.projections] == [7, 7, 7]


@pytest.mark.parametrize(
    ("settings", "num_biases"),
    [
        (LayerSettings(), 2),
        (LayerSettings(forces_bias=True), 6),
        (LayerSettings(batch_norm=None), 6),
    ],
)
def test_towers_have_biases_without_batch_norm_or_by_force(
    settings: LayerSettings, num_biases: int
):
    head = weight_shared(settings=settings)
    head(maps(32, 32, FEATURES))
    assert sum(variable.path.endswith("bias") for variable in head.variables) == num_biases


@pytest.mark.parametrize("use_depthwise", [False, True])
def test_classes_start_from_their_bias_and_boxes_from_zero(use_depthwise: bool):
    head = weight_shared(class_bias=-4.6, use_depthwise=use_depthwise)
    output = head([np.zeros_like(feature) for feature in maps(64, 64, FEATURES)])
    np.testing.assert_allclose(output.class_logits, -4.6, rtol=1e-6)
    np.testing.assert_array_equal(output.box_encodings, 0.0)


def test_box_encodings_are_clipped_if_asked_for():
    plain, bounded = weight_shared(), weight_shared(box_clip_range=(-0.1, 0.2))
    inputs = maps(64, 64, FEATURES)
    plain(inputs), bounded(inputs)
    weights_of(plain), weights_of(bounded)
    expected = np.clip(plain(inputs).box_encodings, -0.1, 0.2)
    np.testing.assert_allclose(bounded(inputs).box_encodings, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("keywords", "penalized"),
    [
        ({}, 2 * (2 + 2) + 2 * 2),
        ({"plain_pointwise": True}, 2 * 2 + 2 * 2),
        ({"plain_predictors": True}, 2 * (2 + 2)),
        ({"plain_pointwise": True, "plain_predictors": True}, 2 * 2),
    ],
)
def test_plain_kernels_are_not_penalized(keywords: dict[str, bool], penalized: int):
    head = weight_shared(use_depthwise=True, **keywords)
    head(maps(32, 32, FEATURES))
    assert len(head.losses) == penalized


def test_unequal_anchors_and_a_depthwise_convolution_of_one_cell_are_refused():
    with pytest.raises(HoldfastError, match=r"\[3, 6\]"):
        weight_shared(anchors_per_location=(3, 6))
    with pytest.raises(HoldfastError, match="kernel_size 1"):
        weight_shared(use_depthwise=True, kernel_size=1)


def test_the_penalty_counts_each_shared_kernel_once():
    head = weight_shared()
    head(maps(32, 32, FEATURES))
    kernels = [value for path, value in weights_of(head).items() if path.endswith("kernel")]
    assert len(kernels) == 2 * 2 + 2
    expected = SETTINGS.l2 / 2 * sum((kernel**2).sum() for kernel in kernels)
    assert float(sum(head.losses)) == pytest.approx(expected, rel=1e-4)
