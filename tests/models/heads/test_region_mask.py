from __future__ import annotations

import numpy as np
import pytest

from holdfast.models.heads.region_mask import RegionMaskHead, mask_depth
from holdfast.models.layers.convolution import LayerSettings

SETTINGS = LayerSettings(activation="relu", batch_norm=None)


def head(**keywords: object) -> RegionMaskHead:
    options = {
        "channels": 4,
        "height": 6,
        "width": 8,
        "depth": 5,
        "settings": SETTINGS,
        "name": "mask_head",
    }
    return RegionMaskHead(3, **(options | keywords))


@pytest.fixture
def regions() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(2, 3, 4, 4)).astype("float32")


def test_each_class_has_a_mask_unless_all_share_one(regions):
    assert head()(regions).shape == (2, 3, 6, 8)
    assert head(are_class_agnostic=True)(regions).shape == (2, 1, 6, 8)
    assert head(convolve_then_upsample=True)(regions).shape == (2, 3, 6, 8)


def test_the_number_of_convolutions_counts_the_last_one(regions):
    built = head(num_layers=4)
    built(regions)
    assert [len(each.weights) for each in built.convolutions] == [2, 2, 2]
    assert head(num_layers=1).convolutions == []


def test_the_corners_of_region_and_mask_coincide():
    built = head(num_layers=1, depth=1, height=3, width=5)
    ramp = np.zeros((1, 2, 2, 4), "float32")
    ramp[0, :, :, 0] = [[0.0, 4.0], [8.0, 12.0]]
    built(ramp)
    kernel = np.zeros((3, 3, 4, 3))
    kernel[1, 1, 0, 0] = 1.0
    built.masks.convolution.kernel.assign(kernel)
    expected = 8.0 * np.linspace(0, 1, 3)[:, None] + 4.0 * np.linspace(0, 1, 5)[None, :]
    np.testing.assert_allclose(built(ramp)[0, 0], expected, atol=1e-6)


def test_upsampling_repeats_cells(regions):
    built = head(num_layers=1, convolve_then_upsample=True)
    repeated = np.asarray(built._repeated(regions))
    np.testing.assert_array_equal(repeated, regions.repeat(2, axis=1).repeat(2, axis=2))
    built(regions)
    assert [each.path.split("/")[1] for each in built.weights] == [
        *["after_upsampling"] * 2,
        *["masks"] * 2,
    ]


@pytest.mark.parametrize(
    ("channels", "num_classes", "depth"), [(1536, 90, 256), (1024, 1, 16), (2048, 90, 256)]
)
def test_the_depth_lies_between_those_of_regions_and_classes(channels, num_classes, depth):
    assert mask_depth(channels, num_classes) == depth
