"""Turn the config's blocks on the network into backbone, neck and head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import keras
import numpy as np

from holdfast.config.legacy_names import Extractor
from holdfast.config.schema import box_predictor as predictors
from holdfast.config.schema import hyperparams as schema
from holdfast.config.schema.fpn import BidirectionalFeaturePyramidNetworks, FeaturePyramidNetworks
from holdfast.config.schema.ssd import SsdFeatureExtractor
from holdfast.errors import HoldfastError
from holdfast.models.backbones import (  # noqa: F401  each registers its networks
    efficientnet,
    inception_v2,
    mobilenet_v1,
    mobilenet_v2,
    mobilenet_v3,
    resnet_v1,
)
from holdfast.models.backbones.backbone import Backbone
from holdfast.models.backbones.registry import BACKBONES
from holdfast.models.batch_norm import BatchNormSettings
from holdfast.models.convolution import LayerSettings
from holdfast.models.features import Feature
from holdfast.models.heads.convolutional import ConvolutionalHead
from holdfast.models.heads.weight_shared import WeightSharedHead
from holdfast.models.necks.bifpn import BiFpn, CombineMethod
from holdfast.models.necks.fpn import Fpn
from holdfast.models.necks.ssd_layers import SsdLayers

# Where the OD API takes features: of SSD the two finest maps, of a pyramid levels 2, 3, 4 and 5.
_SSD_ENDPOINTS = {
    "mobilenet_v1": ("Conv2d_11_pointwise", "Conv2d_13_pointwise"),
    "mobilenet_v2": ("layer_15/expansion_output", "layer_19"),
    "mobilenet_v3_large": ("layer_14/expansion_output", "layer_17"),
    "mobilenet_v3_small": ("layer_10/expansion_output", "layer_13"),
    "inception_v2": ("Mixed_4c", "Mixed_5c"),
}
_EXTRA_DEPTHS = (512, 256, 256, 128)
_RESNET_BLOCKS = ("block1", "block2", "block3", "block4")
_PYRAMID_ENDPOINTS = {
    "mobilenet_v1": (
        "Conv2d_3_pointwise",
        "Conv2d_5_pointwise",
        "Conv2d_11_pointwise",
        "Conv2d_13_pointwise",
    ),
    "mobilenet_v2": ("layer_4", "layer_7", "layer_14", "layer_19"),
    "resnet50_v1": _RESNET_BLOCKS,
    "resnet101_v1": _RESNET_BLOCKS,
    "resnet152_v1": _RESNET_BLOCKS,
}
_COARSEST_BACKBONE_LEVEL = 5
# The depthwise pyramid of the OD API runs on a network with a narrower end.
_NARROW_END = {"mobilenet_v1": (512, 256), "mobilenet_v2": 256}


@dataclass(frozen=True, kw_only=True)
class Network:
    """A backbone and the neck on it."""

    backbone: Backbone
    neck: keras.layers.Layer


def build_network(config: SsdFeatureExtractor, known: Extractor) -> Network:
    """Make the network under a single-stage detector.

    known: what the config's `type` stands for.
    """
    settings = build_layer_settings(config.conv_hyperparams)
    match known.neck:
        case "ssd_layers":
            return _ssd_network(config, known, settings)
        case "fpn":
            return _fpn_network(config, known, settings)
        case "bifpn":
            return _bifpn_network(config, known, settings)
    raise HoldfastError(
        f"Holdfast does not build {config.type}.", fix=f'Use type: "{known.nearest}".'
    )


def _ssd_network(config: SsdFeatureExtractor, known: Extractor, settings: LayerSettings) -> Network:
    num_own = min(config.num_layers, 2)
    backbone = BACKBONES[known.backbone](
        _SSD_ENDPOINTS[known.backbone][:num_own], **_backbone_keywords(config, known, settings)
    )
    neck = SsdLayers(
        backbone.features,
        settings=settings,
        depths=_EXTRA_DEPTHS[: max(0, config.num_layers - 2)],
        depth_multiplier=_multiplier(config),
        min_depth=config.min_depth,
        use_depthwise=config.use_depthwise,
        plain_depthwise=known.generation == "tf2",
        padding="explicit" if config.use_explicit_padding else "same",
        name="neck",
    )
    return Network(backbone=backbone, neck=neck)


def _fpn_network(config: SsdFeatureExtractor, known: Extractor, settings: LayerSettings) -> Network:
    fpn = config.fpn or FeaturePyramidNetworks()
    is_mobile = known.backbone in _NARROW_END
    use_depthwise = config.use_depthwise and is_mobile
    keywords = _backbone_keywords(config, known, settings)
    has_narrow_end = known.backbone == "mobilenet_v1" or known.generation == "tf1"
    if use_depthwise and has_narrow_end:
        keywords["last_channels"] = _NARROW_END[known.backbone]
    coarsest = min(fpn.max_level, _COARSEST_BACKBONE_LEVEL)
    endpoints = _PYRAMID_ENDPOINTS[known.backbone][fpn.min_level - 2 : coarsest - 1]
    backbone = BACKBONES[known.backbone](endpoints, **keywords)
    neck = Fpn(
        backbone.features,
        depth=_scaled(fpn.additional_layer_depth, config),
        num_coarse_levels=fpn.max_level - coarsest,
        upsamples_smoothed=known.generation == "tf2",
        settings=settings,
        use_depthwise=use_depthwise,
        plain_pointwise=known.generation == "tf2",
        padding="explicit" if config.use_explicit_padding and is_mobile else "same",
        name="neck",
    )
    return Network(backbone=backbone, neck=neck)


def _bifpn_network(
    config: SsdFeatureExtractor, known: Extractor, settings: LayerSettings
) -> Network:
    bifpn = config.bifpn or BidirectionalFeaturePyramidNetworks()
    coarsest = min(bifpn.max_level, _COARSEST_BACKBONE_LEVEL)
    endpoints = [f"level_{level}" for level in range(bifpn.min_level, coarsest + 1)]
    own = settings if config.override_base_feature_extractor_hyperparams else None
    backbone = BACKBONES[known.backbone](endpoints, settings=own)
    neck = BiFpn(
        backbone.features,
        depth=max(bifpn.num_filters, config.min_depth),
        num_coarse_levels=bifpn.max_level - coarsest,
        num_iterations=bifpn.num_iterations,
        combine_method=_combine_method(bifpn.combine_method),
        settings=settings,
        name="neck",
    )
    return Network(backbone=backbone, neck=neck)


def _combine_method(name: str) -> CombineMethod:
    known: tuple[CombineMethod, ...] = get_args(CombineMethod)
    for method in known:
        if method == name:
            return method
    raise HoldfastError(
        f"bifpn has no combine_method {name!r}.", fix=f"Use one of {', '.join(known)}."
    )


def _backbone_keywords(
    config: SsdFeatureExtractor, known: Extractor, settings: LayerSettings
) -> dict[str, Any]:
    """Say how to make a backbone; what the config does not override is the network's own."""
    keywords: dict[str, Any] = {
        "depth_multiplier": _multiplier(config),
        "min_depth": config.min_depth,
    }
    if known.backbone.startswith(("mobilenet_v1", "mobilenet_v2", "resnet")):
        keywords["generation"] = known.generation
    if known.backbone.startswith("mobilenet"):
        keywords["explicit_padding"] = config.use_explicit_padding
    if config.override_base_feature_extractor_hyperparams or known.backbone == "inception_v2":
        keywords["settings"] = settings
    return keywords


def _scaled(depth: int, config: SsdFeatureExtractor) -> int:
    return max(int(depth * _multiplier(config)), config.min_depth)


def _multiplier(config: SsdFeatureExtractor) -> float:
    """Give the multiplier as float32, which rounds some widths down: 160 * 0.7 becomes 111."""
    return float(np.float32(config.depth_multiplier))


def build_head(
    config: predictors.BoxPredictor,
    known: Extractor,
    *,
    features: Sequence[Feature],
    anchors_per_location: Sequence[int],
    num_class_slots: int,
) -> keras.layers.Layer:
    """Make the head; num_class_slots counts the background column, if there is one."""
    shape: dict[str, Any] = {
        "features": features,
        "anchors_per_location": anchors_per_location,
        "num_class_slots": num_class_slots,
        "name": "head",
    }
    is_keras = known.generation == "tf2"
    match config.chosen("box_predictor_oneof"):
        case predictors.ConvolutionalBoxPredictor() as chosen:
            return ConvolutionalHead(
                **shape,
                **_predictor_keywords(chosen),
                min_depth=chosen.min_depth,
                max_depth=chosen.max_depth,
                apply_sigmoid_to_scores=chosen.apply_sigmoid_to_scores,
                plain_depthwise=is_keras,
            )
        case predictors.WeightSharedConvolutionalBoxPredictor() as chosen:
            keywords = _predictor_keywords(chosen)
            if not is_keras:  # the TF1 half's tower has this activation, whatever the config says
                keywords["settings"] = replace(keywords["settings"], activation="relu6")
            return WeightSharedHead(
                **shape,
                **keywords,
                depth=chosen.depth,
                share_prediction_tower=chosen.share_prediction_tower,
                plain_pointwise=is_keras and not chosen.apply_conv_hyperparams_pointwise,
                plain_predictors=is_keras and not chosen.apply_conv_hyperparams_to_heads,
            )
    raise HoldfastError(
        "A single-stage detector needs a convolutional box predictor.",
        fix="Write box_predictor { weight_shared_convolutional_box_predictor { depth: 256 } }",
    )


def _predictor_keywords(
    chosen: predictors.ConvolutionalBoxPredictor | predictors.WeightSharedConvolutionalBoxPredictor,
) -> dict[str, Any]:
    clip = chosen.box_encodings_clip_range
    return {
        "settings": build_layer_settings(chosen.conv_hyperparams),
        "code_size": chosen.box_code_size,
        "kernel_size": chosen.kernel_size,
        "num_layers_before_predictor": chosen.num_layers_before_predictor,
        "use_depthwise": chosen.use_depthwise,
        "dropout_rate": 1.0 - chosen.dropout_keep_probability if chosen.use_dropout else 0.0,
        "class_bias": chosen.class_prediction_bias_init,
        "box_clip_range": None if clip is None else (clip.min, clip.max),
    }


def build_layer_settings(config: schema.Hyperparams | None) -> LayerSettings:
    """Make what convolutions share."""
    config = config or schema.Hyperparams()
    l1, l2 = _penalties(config.regularizer)
    return LayerSettings(
        activation=_ACTIVATIONS[config.activation],
        batch_norm=_batch_norm(config),
        kernel_initializer=_initializer(config.initializer),
        l1=l1,
        l2=l2,
        forces_bias=config.force_use_bias,
    )


_ACTIVATIONS = {
    schema.Activation.NONE: None,
    schema.Activation.RELU: "relu",
    schema.Activation.RELU_6: "relu6",
    schema.Activation.SWISH: "silu",
}


def _batch_norm(config: schema.Hyperparams) -> BatchNormSettings | None:
    match config.chosen("normalizer_oneof"):
        case schema.BatchNorm() as chosen:
            return BatchNormSettings(
                momentum=chosen.decay,
                epsilon=chosen.epsilon,
                center=chosen.center,
                scale=chosen.scale,
                is_frozen=not chosen.train,
            )
        case schema.GroupNorm():
            raise HoldfastError(
                "conv_hyperparams: group_norm is not supported.",
                fix="Use batch_norm { }, with freeze_batchnorm: true for small batches.",
            )
    return None


def _penalties(config: schema.Regularizer | None) -> tuple[float, float]:
    match config and config.chosen("regularizer_oneof"):
        case schema.L1Regularizer(weight=weight):
            return weight, 0.0
        case schema.L2Regularizer(weight=weight):
            return 0.0, weight
    return 0.0, 0.0


def _initializer(config: schema.Initializer | None) -> keras.initializers.Initializer:
    match config and config.chosen("initializer_oneof"):
        case schema.TruncatedNormalInitializer(mean=mean, stddev=stddev):
            return keras.initializers.TruncatedNormal(mean, stddev)
        case schema.RandomNormalInitializer(mean=mean, stddev=stddev):
            return keras.initializers.RandomNormal(mean, stddev)
        case schema.VarianceScalingInitializer(factor=factor, uniform=uniform, mode=mode):
            distribution = "uniform" if uniform else "truncated_normal"
            return keras.initializers.VarianceScaling(factor, mode.name.lower(), distribution)
        case str(name):
            return keras.initializers.get(name)
    return keras.initializers.GlorotUniform()
