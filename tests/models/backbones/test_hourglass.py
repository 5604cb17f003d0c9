"""Hourglass networks: their shapes, and what the OD API calls their variables."""

from __future__ import annotations

import keras
import pytest

from holdfast.models.backbones.hourglass import HOURGLASSES, Hourglass

# How many convolutions the longest way through a network passes: what it is named after.
DEPTHS = {10: 10, 20: 20, 32: 32, 52: 52, 104: 104}


def built(size: int) -> Hourglass:
    backbone = Hourglass(HOURGLASSES[size], name="backbone")
    side = 4 << (len(HOURGLASSES[size].channels) - 1)  # halved by every stage
    outputs = backbone(keras.KerasTensor((1, side, 2 * side, 3), "float32"))
    channels = HOURGLASSES[size].channels[0]
    assert [tuple(each.shape) for each in outputs] == [
        (1, side // 4, side // 2, channels)
    ] * HOURGLASSES[size].num_hourglasses
    assert len(backbone.features) == len(outputs)
    return backbone


def depth(names: list[str]) -> int:
    """Count the convolutions that are not beside the longest way."""
    beside = ("encoder_block1", "intermediate_conv1", "/skip/")
    return sum(not any(each in name for each in beside) for name in names)


@pytest.mark.parametrize("size", [10, 20, 32])
def test_a_network_is_as_deep_as_its_name_says(size):
    kernels = [each.path for each in built(size).weights if each.path.endswith("kernel")]
    assert depth(kernels) == DEPTHS[size]


@pytest.mark.slow
@pytest.mark.parametrize("size", [52, 104])
def test_so_are_the_large_ones(size):
    kernels = [each.path for each in built(size).weights if each.path.endswith("kernel")]
    assert depth(kernels) == DEPTHS[size]


def test_every_unit_can_be_rematerialized_by_itself():
    backbone = built(20)
    names = [unit.name for unit in backbone.units]
    assert "hourglass_network.0.inner_block.0.decoder_block.1" in names
    assert len(names) == len(set(names))
