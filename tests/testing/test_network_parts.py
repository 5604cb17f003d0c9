"""The checks of networks say which promise a part breaks."""

from __future__ import annotations

import keras
import pytest

from holdfast.models.backbones.backbone import Backbone, Endpoint
from holdfast.models.backbones.backbone_spec import BACKBONES, backbone
from holdfast.models.features import Feature
from holdfast.models.layers.block import Block
from holdfast.models.layers.convolution import Convolution, LayerSettings
from holdfast.testing.network_parts import (
    LayerCase,
    check_backbone,
    check_export,
    check_half_precision,
    check_saving,
    check_shapes,
    neck_case,
    trained,
)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch) -> None:
    monkeypatch.setattr(BACKBONES, "_entries", dict(BACKBONES._entries))
    monkeypatch.setattr(BACKBONES, "_makers", dict(BACKBONES._makers))


def register(stride: int = 2, channels: int = 4, level: int = 1) -> None:
    @backbone("single", levels={level: "stem"})
    def single(endpoints, *, name="backbone"):
        stem = Convolution(4, 3, strides=2, settings=LayerSettings(), name="stem")
        known = [Endpoint("stem", "stem", Feature(stride, channels))]
        return Backbone([stem], known, endpoints, name=name)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning:keras")
def test_a_true_backbone_passes():
    register()
    check_backbone("single")


def test_channels_that_are_not_declared_are_found():
    register(channels=5)
    with pytest.raises(AssertionError, match="declared"):
        check_backbone("single")


def test_a_level_of_another_stride_is_found():
    register(level=2)
    with pytest.raises(AssertionError, match=r"levels are \[2\], and the features say \[1\]"):
        check_backbone("single")


def test_what_is_not_a_backbone_is_found():
    backbone("layer", levels={1: "a"})(lambda endpoints, name="x": keras.layers.Conv2D(3, 1))
    with pytest.raises(AssertionError, match="does not make a Backbone"):
        check_backbone("layer")


class Broken(Block):
    """A neck of one 1x1 convolution a map that breaks one promise."""

    made = 0

    def __init__(self, promise: str) -> None:
        super().__init__(name="neck")
        Broken.made += 1
        self.promise = promise
        name = f"layer_{Broken.made}" if promise == "names" else "layer"
        options = {"dtype": "float32"} if promise == "precision" else {}
        self.layers = [keras.layers.Conv2D(2, 1, name=f"{name}_{n}", **options) for n in range(3)]
        self.features = tuple(Feature(stride, 2) for stride in (8, 16, 32))

    def call(self, maps, training=False):
        outputs = [layer(each) for layer, each in zip(self.layers, maps, strict=True)]
        if self.promise == "size":
            outputs = [each[:, :2, :2] for each in outputs]
        if self.promise == "export":
            return [each + float(each.shape[1]) for each in outputs]  # which is not always known
        return outputs


def case(promise: str) -> LayerCase:
    return neck_case(lambda: Broken(promise))


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning:keras")
def test_names_that_change_from_one_making_to_the_next_are_found(tmp_path):
    with pytest.raises((AssertionError, ValueError)):
        check_saving(case("names"), trained(case("names")), tmp_path)


def test_maps_of_a_fixed_size_are_found():
    with pytest.raises(AssertionError, match="declared"):
        check_shapes(case("size"), trained(case("size")), 64, 96)


def test_outputs_in_single_precision_are_found():
    with pytest.raises(AssertionError, match="outputs are not bfloat16"):
        check_half_precision(case("precision"), trained(case("precision")), "mixed_bfloat16")


def test_what_needs_a_known_shape_does_not_export(tmp_path):
    with pytest.raises(TypeError):
        check_export(case("export"), trained(case("export")), tmp_path)
