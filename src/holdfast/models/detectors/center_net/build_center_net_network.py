"""Turn the name of a CenterNet's feature extractor into its network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, get_args

import keras
import numpy as np

from holdfast.config.facts.backbone_sizes import backbone_sizes
from holdfast.config.facts.extractors import Extractor
from holdfast.config.schema.center_net import CenterNetFeatureExtractor
from holdfast.errors import HoldfastError
from holdfast.models.backbones.hourglass import HOURGLASSES, Hourglass
from holdfast.models.backbones.keras_resnet import (
    keras_resnet_basic,
    keras_resnet_v1,
    keras_resnet_v2,
)
from holdfast.models.backbones.mobilenet_v2 import default_settings, mobilenet_v2
from holdfast.models.backbones.normalization import (
    AS_IT_IS,
    BGR_MINUS_MEAN,
    TO_UNIT_RANGE,
    Normalization,
)
from holdfast.models.detectors.center_net.prepared import STRIDE
from holdfast.models.necks.one_map import Interpolation, TopDown, Upsampling

_BLOCKS = ("block1", "block2", "block3", "block4")
_MOBILENET_LEVELS = ("layer_4", "layer_7", "layer_11", "layer_19")
_SEPARABLE = "mobilenet_v2_fpn_sep_conv"  # the older name says what use_separable_conv says now


@dataclass(frozen=True, kw_only=True)
class CenterNetNetwork:
    """What is under the heads."""

    backbone: Any  # with `features`, as what it gives
    neck: keras.layers.Layer | None
    normalization: Normalization
    multiple: int  # of pixels, of which an input must be

    @property
    def num_maps(self) -> int:
        """How many maps of stride 4 come out."""
        return len(self.backbone.features) if self.neck is None else 1


def build_center_net_network(
    config: CenterNetFeatureExtractor, known: Extractor
) -> CenterNetNetwork:
    """Make the network; known: what the config's `type` stands for."""
    backbone, neck, normalization = _NETWORKS[known.backbone](config, known)
    stages = backbone_sizes(known.backbone).hourglass_stages
    return CenterNetNetwork(
        backbone=backbone,
        neck=neck,
        normalization=normalization.after(_given_normalization(config)),
        multiple=STRIDE << stages,
    )


_Parts = tuple[Any, keras.layers.Layer | None, Normalization]


def _resnet_v1(depth: int) -> Callable[[CenterNetFeatureExtractor, Extractor], _Parts]:
    def build(config: CenterNetFeatureExtractor, known: Extractor) -> _Parts:
        factory = keras_resnet_basic if depth < 50 else keras_resnet_v1
        backbone = factory(_BLOCKS, depth=depth)
        neck = TopDown(backbone.features, widths=(256, 128, 64), name="neck")
        return backbone, neck, BGR_MINUS_MEAN

    return build


def _resnet_v2(depth: int) -> Callable[[CenterNetFeatureExtractor, Extractor], _Parts]:
    def build(config: CenterNetFeatureExtractor, known: Extractor) -> _Parts:
        backbone = keras_resnet_v2(_BLOCKS[-1:], depth=depth)
        return backbone, Upsampling(backbone.features, name="neck"), TO_UNIT_RANGE

    return build


def _mobilenet(config: CenterNetFeatureExtractor, known: Extractor) -> _Parts:
    is_pyramid = known.neck == "fpn"
    backbone = mobilenet_v2(
        _MOBILENET_LEVELS if is_pyramid else _MOBILENET_LEVELS[-1:],
        settings=replace(default_settings("tf2"), l2=0.0),  # CenterNet has no penalties
        depth_multiplier=float(np.float32(config.depth_multiplier)),
        min_depth=8,
    )
    neck: keras.layers.Layer
    if is_pyramid:
        neck = TopDown(
            backbone.features,
            widths=(64, 32, 24),
            is_separable=config.use_separable_conv or config.type == _SEPARABLE,
            interpolation=_interpolation(config.upsampling_interpolation),
            name="neck",
        )
    else:
        neck = Upsampling(backbone.features, kernel_size=1, name="neck")
    return backbone, neck, TO_UNIT_RANGE


def _hourglass(size: int) -> Callable[[CenterNetFeatureExtractor, Extractor], _Parts]:
    def build(config: CenterNetFeatureExtractor, known: Extractor) -> _Parts:
        return Hourglass(HOURGLASSES[size], name="backbone"), None, AS_IT_IS

    return build


_NETWORKS = {
    **{f"resnet{depth}_v1": _resnet_v1(depth) for depth in (18, 34, 50, 101)},
    **{f"resnet{depth}_v2": _resnet_v2(depth) for depth in (50, 101)},
    **{f"hourglass_{size}": _hourglass(size) for size in HOURGLASSES},
    "mobilenet_v2": _mobilenet,
}


def _interpolation(name: str) -> Interpolation:
    known: tuple[Interpolation, ...] = get_args(Interpolation)
    for each in known:
        if each == name:
            return each
    raise HoldfastError(
        f"There is no upsampling_interpolation {name!r}.", fix=f"Use one of {', '.join(known)}."
    )


def _given_normalization(config: CenterNetFeatureExtractor) -> Normalization:
    """Give what channel_means, channel_stds and bgr_ordering do, before the network's own."""
    means = config.channel_means or (0.0, 0.0, 0.0)
    deviations = config.channel_stds or (1.0, 1.0, 1.0)
    for name, values in (("channel_means", means), ("channel_stds", deviations)):
        if len(values) != 3:
            raise HoldfastError(
                f"{name} has {len(values)} values, and an image three channels.",
                fix=f"Write {name} three times, or not at all.",
            )
    if 0.0 in deviations:
        raise HoldfastError("channel_stds holds a 0.", fix="Write what channels are divided by.")
    return Normalization(
        scale=tuple(1.0 / deviation for deviation in deviations),
        offset=tuple(-mean / each for mean, each in zip(means, deviations, strict=True)),
        is_reversed=config.bgr_ordering,
    )
