"""Detectors of the OD API's families, assembled from parts: structure only, no anchors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import keras

from holdfast.models.backbones import (
    efficientnet,
    inception_v2,
    mobilenet_v1,
    mobilenet_v2,
    mobilenet_v3,
    resnet_v1,
)
from holdfast.models.backbones.backbone_spec import BACKBONES
from holdfast.models.features import Feature
from holdfast.models.heads.convolutional import ConvolutionalHead
from holdfast.models.heads.weight_shared import WeightSharedHead
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.necks.bifpn import BiFpn
from holdfast.models.necks.fpn import Fpn
from holdfast.models.necks.ssd_layers import SsdLayers
from holdfast.models.part_names import LegacyNames

REGISTERED = (efficientnet, inception_v2, mobilenet_v1, mobilenet_v2, mobilenet_v3, resnet_v1)
COCO_SLOTS = 91  # 90 classes and background
SETTINGS = LayerSettings(kernel_initializer=keras.initializers.Zeros())
WITH_BIAS = replace(SETTINGS, forces_bias=True)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What the transfer needs to know of a detector."""

    backbone: Any
    neck: Any
    head: Any
    legacy: LegacyNames
    clock: Any = None

    def parts(self) -> dict[str, Any]:
        return {"backbone": self.backbone, "neck": self.neck, "head": self.head}


@cache
def network(name: str) -> Parts:
    """Build one of the networks below, once."""
    return NETWORKS[name]()


def ssd(
    backbone: str, endpoints: Sequence[str], *, extra_depthwise: bool = False, **head: Any
) -> Parts:
    """SSD: extra layers, and predictors of each level's own."""
    return assembled(
        backbone,
        endpoints,
        "ssd_layers",
        lambda features: SsdLayers(
            features, settings=SETTINGS, use_depthwise=extra_depthwise, name="neck"
        ),
        "convolutional",
        lambda features: ConvolutionalHead(
            features,
            anchors_per_location=[3, 6, 6, 6, 6, 6],
            num_class_slots=COCO_SLOTS,
            settings=SETTINGS,
            name="head",
            **head,
        ),
    )


def fpn(
    backbone: str, endpoints: Sequence[str], *, depth: int, num_layers: int = 4, is_lite: bool
) -> Parts:
    """RetinaNet, or FPNLite with depthwise convolutions and one tower."""
    return assembled(
        backbone,
        endpoints,
        "fpn",
        lambda features: Fpn(
            features,
            depth=depth,
            num_coarse_levels=2,
            upsamples_smoothed=True,
            settings=SETTINGS,
            use_depthwise=is_lite,
            name="neck",
        ),
        "weight_shared",
        lambda features: WeightSharedHead(
            features,
            anchors_per_location=[6] * 5,
            num_class_slots=COCO_SLOTS,
            depth=depth,
            num_layers_before_predictor=num_layers,
            settings=SETTINGS,
            share_prediction_tower=is_lite,
            use_depthwise=is_lite,
            name="head",
        ),
    )


def efficientdet(version: str, *, depth: int, num_iterations: int, num_layers: int) -> Parts:
    """EfficientDet: BiFPN, and towers with a bias beside the batch norm."""
    return assembled(
        f"efficientnet_{version}",
        ["level_3", "level_4", "level_5"],
        "bifpn",
        lambda features: BiFpn(
            features,
            depth=depth,
            num_coarse_levels=2,
            num_iterations=num_iterations,
            settings=WITH_BIAS,
            name="neck",
        ),
        "weight_shared",
        lambda features: WeightSharedHead(
            features,
            anchors_per_location=[9] * 5,
            num_class_slots=90,
            depth=depth,
            num_layers_before_predictor=num_layers,
            settings=WITH_BIAS,
            use_depthwise=True,
            name="head",
        ),
    )


def assembled(
    backbone: str,
    endpoints: Sequence[str],
    neck: str,
    make_neck: Callable[[tuple[Feature, ...]], Any],
    head: str,
    make_head: Callable[[tuple[Feature, ...]], Any],
) -> Parts:
    """Build the parts symbolically, without running them."""
    network = _backbone(backbone, tuple(endpoints))
    middle = make_neck(network.features)
    middle(_inputs(network.features))
    predictor = make_head(middle.features)
    predictor(_inputs(middle.features))
    return Parts(
        backbone=network,
        neck=middle,
        head=predictor,
        legacy=LegacyNames(backbone=backbone, neck=neck, head=head),
    )


@cache
def _backbone(name: str, endpoints: tuple[str, ...]) -> Any:
    built = BACKBONES[name].factory(endpoints, settings=SETTINGS)
    built(keras.Input((128, 128, 3)))
    return built


def _inputs(features: Sequence[Feature]) -> list[Any]:
    sides = [-(-512 // feature.stride) for feature in features]
    return [
        keras.Input((side, side, feature.channels))
        for side, feature in zip(sides, features, strict=True)
    ]


V1 = ["Conv2d_11_pointwise", "Conv2d_13_pointwise"]
V1_FPN = ["Conv2d_5_pointwise", *V1]
V2 = ["layer_15/expansion_output", "layer_19"]
V2_FPN = ["layer_7", "layer_14", "layer_19"]
NETWORKS: dict[str, Callable[[], Parts]] = {
    "ssd_mobilenet_v1": lambda: ssd("mobilenet_v1", V1),
    "ssd_mobilenet_v1_fpn": lambda: fpn("mobilenet_v1", V1_FPN, depth=256, is_lite=False),
    "ssd_mobilenet_v2": lambda: ssd("mobilenet_v2", V2),
    # The zoo's checkpoint of 2018 is of this one, and not of the config in the OD API's repository.
    "ssd_mobilenet_v2_of_2018": lambda: ssd(
        "mobilenet_v2", V2, extra_depthwise=True, kernel_size=3
    ),
    "ssdlite_mobilenet_v2": lambda: ssd(
        "mobilenet_v2", V2, extra_depthwise=True, use_depthwise=True, kernel_size=3
    ),
    "fpnlite_mobilenet_v2": lambda: fpn("mobilenet_v2", V2_FPN, depth=128, is_lite=True),
    "fpnlite_mobilenet_v2_of_six_layers": lambda: fpn(
        "mobilenet_v2", V2_FPN, depth=128, num_layers=6, is_lite=True
    ),
    "ssdlite_mobilenet_v3_large": lambda: ssd(
        "mobilenet_v3_large",
        ["layer_14/expansion_output", "layer_17"],
        extra_depthwise=True,
        use_depthwise=True,
        kernel_size=3,
    ),
    "ssd_inception_v2": lambda: ssd("inception_v2", ["Mixed_4c", "Mixed_5c"], kernel_size=3),
    "ssd_resnet50_v1_fpn": lambda: fpn(
        "resnet50_v1", ["block2", "block3", "block4"], depth=256, is_lite=False
    ),
    "efficientdet_d0": lambda: efficientdet("b0", depth=64, num_iterations=3, num_layers=3),
    "efficientdet_d4": lambda: efficientdet("b4", depth=224, num_iterations=7, num_layers=4),
}
