from __future__ import annotations

import numpy as np

from holdfast.models.features import Feature
from holdfast.models.heads.region_proposal import RegionProposalHead
from holdfast.models.layers.convolution import LayerSettings

SETTINGS = LayerSettings(activation=None, batch_norm=None)


def head(num_levels: int = 2, **keywords: object) -> RegionProposalHead:
    features = tuple(Feature(8 * 2**level, 3) for level in range(num_levels))
    return RegionProposalHead(
        features,
        anchors_per_location=[2] * num_levels,
        settings=SETTINGS,
        depth=5,
        name="proposal_head",
        **keywords,
    )


def maps(*sides: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(1, side, side, 3)).astype("float32") for side in sides]


def test_every_anchor_of_every_level_has_a_box_and_two_logits():
    output = head()(maps(4, 2))
    assert output.box_encodings.shape == (1, 2 * (16 + 4), 4)
    assert output.objectness_logits.shape == (1, 2 * (16 + 4), 2)
    assert [each.shape for each in output.features] == [(1, 4, 4, 5), (1, 2, 2, 5)]


def test_levels_share_the_convolution_and_not_the_predictors():
    built = head()
    same = maps(4)[0]
    output = built([same, same])
    np.testing.assert_array_equal(*output.features)
    first, second = np.split(np.asarray(output.box_encodings), 2, axis=1)
    assert np.abs(first - second).max() > 1e-6
    assert [variable.path.split("/")[1] for variable in built.weights].count("shared") == 2


def test_the_shared_convolution_ends_in_relu6_whatever_the_settings_say():
    built = head(1)
    (features,) = built([maps(4)[0] * 1000]).features
    assert np.min(features) == 0.0
    assert np.max(features) == 6.0


def test_a_dilated_kernel_sees_every_other_cell():
    built = head(1, dilation=2)
    impulse = np.zeros((1, 9, 9, 3), "float32")
    built([impulse])
    built.shared.convolution.kernel.assign(np.ones((3, 3, 3, 5)))
    impulse[0, 4, 4] = 1.0
    (features,) = built([impulse]).features
    rows = np.flatnonzero(np.asarray(features)[0].any(axis=(1, 2)))
    assert rows.tolist() == [2, 4, 6]
