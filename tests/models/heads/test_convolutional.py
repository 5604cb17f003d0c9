from __future__ import annotations

import numpy as np
import pytest

from holdfast.errors import HoldfastError
from holdfast.models.features import Feature

from ..necks.numpy_layers import layer, weights_of
from ..necks.parts import maps
from .parts import FEATURES, SETTINGS, convolutional


@pytest.mark.parametrize("use_depthwise", [False, True])
def test_each_level_is_predicted_by_its_own_convolutions(use_depthwise: bool):
    head = convolutional(
        kernel_size=3, num_layers_before_predictor=2, max_depth=3, use_depthwise=use_depthwise
    )
    inputs = maps(96, 64, FEATURES)
    head(inputs)
    weights = weights_of(head)

    def predicted(level: int, part: str, size: int) -> np.ndarray:
        values = inputs[level]
        for shared in ("shared_0", "shared_1"):
            values = layer(values, weights, f"level_{level}/{shared}")
        if use_depthwise:
            values = layer(values, weights, f"level_{level}/{part}_depthwise")
        values = layer(values, weights, f"level_{level}/{part}", is_active=False)
        return values.reshape(2, -1, size)

    for actual, part, size in zip(head(inputs), ("boxes", "classes"), (4, 5), strict=True):
        expected = np.concatenate([predicted(level, part, size) for level in (0, 1)], axis=1)
        np.testing.assert_allclose(actual, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("min_depth", "max_depth", "expected"), [(0, 0, []), (0, 3, [3]), (6, 8, [6]), (2, 8, [4])]
)
def test_the_depth_before_the_predictor_is_kept_between_bounds(
    min_depth: int, max_depth: int, expected: list[int]
):
    head = convolutional(
        features=(Feature(16, 4),),
        anchors_per_location=(3,),
        num_layers_before_predictor=1,
        min_depth=min_depth,
        max_depth=max_depth,
    )
    assert [shared.convolution.filters for shared in head.levels[0].shared] == expected


@pytest.mark.parametrize("use_depthwise", [False, True])
def test_classes_start_from_their_bias_and_boxes_from_zero(use_depthwise: bool):
    head = convolutional(class_bias=-4.6, kernel_size=3, use_depthwise=use_depthwise)
    output = head([np.zeros_like(feature) for feature in maps(64, 64, FEATURES)])
    np.testing.assert_allclose(output.class_logits, -4.6, rtol=1e-6)
    np.testing.assert_array_equal(output.box_encodings, 0.0)


def test_box_encodings_are_clipped_and_scores_made_if_asked_for():
    plain = convolutional()
    bounded = convolutional(box_clip_range=(-0.1, 0.2), apply_sigmoid_to_scores=True)
    inputs = maps(64, 64, FEATURES)
    plain(inputs), bounded(inputs)
    weights_of(plain), weights_of(bounded)
    boxes, logits = plain(inputs)
    np.testing.assert_allclose(bounded(inputs).box_encodings, np.clip(boxes, -0.1, 0.2), atol=1e-6)
    np.testing.assert_allclose(bounded(inputs).class_logits, 1 / (1 + np.exp(-logits)), atol=1e-6)


def test_a_plain_depthwise_kernel_is_not_penalized():
    head = convolutional(kernel_size=3, use_depthwise=True, plain_depthwise=True)
    head(maps(32, 32, FEATURES))
    weights = weights_of(head)
    kernels = [weights[f"level_{i}/{part}/convolution/kernel"] for i, part in PREDICTORS]
    expected = SETTINGS.l2 / 2 * sum((kernel**2).sum() for kernel in kernels)
    assert float(sum(head.losses)) == pytest.approx(expected, rel=1e-4)


PREDICTORS = [(level, part) for level in (0, 1) for part in ("boxes", "classes")]


def test_a_depthwise_convolution_of_one_cell_is_refused():
    with pytest.raises(HoldfastError, match="kernel_size 1"):
        convolutional(use_depthwise=True)
