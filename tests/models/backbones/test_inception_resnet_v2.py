from __future__ import annotations

import numpy as np

from holdfast.models.backbones.inception_resnet_v2 import (
    BLOCK8,
    InceptionResidual,
    default_settings,
)
from holdfast.models.backbones.inception_v2 import Step, keras_order_of, parallel_branches

INPUTS = np.random.default_rng(0).normal(size=(1, 5, 5, 8)).astype("float32")


def residual(**keywords: object) -> InceptionResidual:
    options = {"channels": 8, "scale": 0.2, "settings": default_settings(), "name": "block8_1"}
    return InceptionResidual(BLOCK8, **(options | keywords))


def test_a_share_of_the_joined_branches_is_added_to_the_input():
    block = residual()
    block(INPUTS)
    for branch in block.branches:
        np.testing.assert_array_equal(branch(INPUTS).shape[1:3], (5, 5))
    joined = np.concatenate([branch(INPUTS) for branch in block.branches], axis=-1)
    kernel = block.joined.convolution.kernel.numpy()[0, 0]
    expected = np.maximum(INPUTS + 0.2 * (joined @ kernel), 0.0)
    np.testing.assert_allclose(block(INPUTS), expected, atol=1e-5)


def test_the_last_one_has_no_activation():
    block = residual(has_activation=False, scale=0.0)
    np.testing.assert_array_equal(block(INPUTS), INPUTS)


def test_batch_norm_has_no_scale_and_the_joining_convolution_no_batch_norm():
    block = residual()
    block(INPUTS)
    names = [variable.path.rpartition("/")[2] for variable in block.weights]
    assert "gamma" not in names
    assert names.count("bias") == 1


def test_keras_counts_layers_by_their_distance_from_where_branches_meet():
    branches = parallel_branches(
        (
            (Step("Conv2d_1x1", 2),),
            (Step("Conv2d_0a_1x1", 3), Step("Conv2d_0b_1x3", 4)),
            (Step("AvgPool_0a_3x3"), Step("Conv2d_0b_1x1", 5)),
        ),
        default_settings(),
    )
    for branch in branches:
        branch(INPUTS)
    widths = [layer.weights[0].shape[-1] for layer in keras_order_of(branches)]
    assert widths == [3, 3, 2, 4, 5, 2, 4, 5]
