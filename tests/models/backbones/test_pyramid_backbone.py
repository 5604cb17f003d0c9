from __future__ import annotations

import numpy as np
import pytest

from holdfast.models.backbones.keras_order import keras_order
from holdfast.models.backbones.pyramid_backbone import PyramidBackbone
from holdfast.models.backbones.resnet_v1 import resnet_v1
from holdfast.models.layers.block import outermost_blocks
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.necks.fpn import Fpn


@pytest.fixture(scope="module")
def backbone() -> PyramidBackbone:
    settings = LayerSettings()
    base = resnet_v1(("block1", "block2"), settings=settings, depth_multiplier=0.1, min_depth=4)
    neck = Fpn(
        base.features,
        depth=6,
        num_coarse_levels=1,
        upsamples_smoothed=True,
        settings=settings,
        name="neck",
    )
    return PyramidBackbone(base, neck, name="backbone")


def test_features_are_the_pyramids(backbone):
    maps = backbone(np.zeros((1, 64, 32, 3), "float32"))
    assert [feature.stride for feature in backbone.features] == [4, 8, 16]
    assert [each.shape for each in maps] == [(1, 16, 8, 6), (1, 8, 4, 6), (1, 4, 2, 6)]


def test_every_block_can_be_rematerialized_by_itself(backbone):
    names = [block.name for block in outermost_blocks(backbone)]
    assert names[:2] == ["conv1", "block1_unit_1"]
    assert names[-1] == "neck"


def test_layers_of_the_pyramid_are_not_numbered(backbone):
    backbone(np.zeros((1, 64, 32, 3), "float32"))
    paths = [variable.path for layer in keras_order(backbone) for variable in layer.weights]
    assert paths
    assert not any("/neck/" in path for path in paths)
    assert any("/neck/" in variable.path for variable in backbone.weights)
