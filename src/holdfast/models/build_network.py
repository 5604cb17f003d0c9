"""Turn the config's blocks on the network into backbone, neck and head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args

import keras
import numpy as np

from holdfast.config.facts.extractors import OD_API_EXTRACTORS, Extractor
from holdfast.config.facts.networks import ignored_settings, ssd_levels, taken_levels
from holdfast.config.part_choices import PartChoice
from holdfast.config.schema import box_predictor as predictors
from holdfast.config.schema import hyperparams as schema
from holdfast.config.schema.feature_pyramid import (
    BidirectionalFeaturePyramidNetworks,
    FeaturePyramidNetworks,
)
from holdfast.config.schema.ssd import SsdFeatureExtractor
from holdfast.errors import HoldfastError
from holdfast.models.backbones.backbone import Backbone
from holdfast.models.backbones.backbone_spec import BACKBONES, BackboneSpec
from holdfast.models.features import Feature
from holdfast.models.heads.convolutional import ConvolutionalHead
from holdfast.models.heads.head_registry import HEADS
from holdfast.models.heads.weight_shared import WeightSharedHead
from holdfast.models.layers.batch_norm import BatchNormSettings
from holdfast.models.layers.convolution import LayerSettings
from holdfast.models.necks.bifpn import BiFpn, CombineMethod
from holdfast.models.necks.fpn import Fpn
from holdfast.models.necks.neck_registry import NECKS
from holdfast.models.necks.ssd_layers import SsdLayers

_EXTRA_DEPTHS = (512, 256, 256, 128)


@dataclass(frozen=True, kw_only=True)
class BuiltNetwork:
    """A backbone and the neck on it."""

    backbone: Backbone
    neck: keras.layers.Layer


def build_network(config: SsdFeatureExtractor, known: Extractor) -> BuiltNetwork:
    """Make the network under a single-stage detector.

    known: what the config's `type` stands for.
    """
    if known.nearest is not None:
        raise HoldfastError(
            f"Holdfast does not build {config.type}.", fix=f'Use type: "{known.nearest}".'
        )
    frame = _frame(config, known)
    match known.neck:
        case "ssd_layers":
            return _ssd_network(config, known, frame)
        case "fpn":
            return _fpn_network(config, known, frame)
        case "bifpn":
            return _bifpn_network(config, frame)
    return _network_of_own_neck(config, known, frame)


class _Frame(NamedTuple):
    """What every network is built from."""

    spec: BackboneSpec
    settings: LayerSettings
    endpoints: tuple[str, ...]  # of the levels that the backbone gives
    num_added: int  # coarser levels, which the neck adds
    keywords: dict[str, Any]  # of the config for the backbone, which takes what it knows

    def backbone(self, **more: Any) -> Backbone:
        return self.spec.build(self.endpoints, **self.keywords, **more)


def _frame(config: SsdFeatureExtractor, known: Extractor) -> _Frame:
    spec = BACKBONES[known.backbone]
    if config.type not in OD_API_EXTRACTORS:
        _refuse_ignored(config, known, spec)
    settings = build_layer_settings(config.conv_hyperparams)
    levels = ssd_levels(config, known)
    taken = taken_levels(levels)
    keywords: dict[str, Any] = {
        "depth_multiplier": _multiplier(config),
        "min_depth": config.min_depth,
        "generation": known.generation,
        "explicit_padding": config.use_explicit_padding,
    }
    if config.override_base_feature_extractor_hyperparams or not spec.has_own_settings:
        keywords["settings"] = settings
    return _Frame(
        spec=spec,
        settings=settings,
        endpoints=spec.endpoints(known.neck or "", taken),
        num_added=len(levels) - len(taken),
        keywords=keywords,
    )


def _refuse_ignored(config: SsdFeatureExtractor, known: Extractor, spec: BackboneSpec) -> None:
    for name in ignored_settings(config, takes=spec.takes, has_own_neck=known.neck in NECKS):
        raise HoldfastError(
            f"feature_extractor.{name} is not obeyed by {config.type}.",
            fix="Remove it, or let the factory take the keyword (docs/extend.md).",
        )


def _ssd_network(config: SsdFeatureExtractor, known: Extractor, frame: _Frame) -> BuiltNetwork:
    backbone = frame.backbone()
    neck = SsdLayers(
        backbone.features,
        settings=frame.settings,
        depths=_EXTRA_DEPTHS[: frame.num_added],
        depth_multiplier=_multiplier(config),
        min_depth=config.min_depth,
        use_depthwise=config.use_depthwise,
        plain_depthwise=known.generation == "tf2",
        padding="explicit" if config.use_explicit_padding else "same",
        name="neck",
    )
    return BuiltNetwork(backbone=backbone, neck=neck)


def _fpn_network(config: SsdFeatureExtractor, known: Extractor, frame: _Frame) -> BuiltNetwork:
    spec, is_keras = frame.spec, known.generation == "tf2"
    use_depthwise = config.use_depthwise and spec.has_light_pyramid
    narrow_end = spec.narrow_end.get(known.generation) if use_depthwise else None
    backbone = frame.backbone(**{} if narrow_end is None else {"last_channels": narrow_end})
    explicit_padding = config.use_explicit_padding and spec.has_light_pyramid
    neck = Fpn(
        backbone.features,
        depth=_pyramid_depth(config),
        num_coarse_levels=frame.num_added,
        upsamples_smoothed=is_keras,
        settings=frame.settings,
        use_depthwise=use_depthwise,
        plain_pointwise=is_keras,
        padding="explicit" if explicit_padding else "same",
        name="neck",
    )
    return BuiltNetwork(backbone=backbone, neck=neck)


def _bifpn_network(config: SsdFeatureExtractor, frame: _Frame) -> BuiltNetwork:
    bifpn = config.bifpn or BidirectionalFeaturePyramidNetworks()
    backbone = frame.backbone()
    neck = BiFpn(
        backbone.features,
        depth=max(bifpn.num_filters, config.min_depth),
        num_coarse_levels=frame.num_added,
        num_iterations=bifpn.num_iterations,
        combine_method=_combine_method(bifpn.combine_method),
        settings=frame.settings,
        name="neck",
    )
    return BuiltNetwork(backbone=backbone, neck=neck)


def _network_of_own_neck(
    config: SsdFeatureExtractor, known: Extractor, frame: _Frame
) -> BuiltNetwork:
    backbone = frame.backbone()
    neck = NECKS[known.neck or ""](
        backbone.features,
        depth=_pyramid_depth(config),
        num_coarse_levels=frame.num_added,
        settings=frame.settings,
        name="neck",
    )
    return BuiltNetwork(backbone=backbone, neck=neck)


def _combine_method(name: str) -> CombineMethod:
    known: tuple[CombineMethod, ...] = get_args(CombineMethod)
    for method in known:
        if method == name:
            return method
    raise HoldfastError(
        f"bifpn has no combine_method {name!r}.", fix=f"Use one of {', '.join(known)}."
    )


def _pyramid_depth(config: SsdFeatureExtractor) -> int:
    fpn = config.fpn or FeaturePyramidNetworks()
    return max(int(fpn.additional_layer_depth * _multiplier(config)), config.min_depth)


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
    own: PartChoice | None = None,
) -> keras.layers.Layer:
    """Make the head, or a user's own in its place.

    num_class_slots counts the background column, if there is one.
    """
    shape: dict[str, Any] = {
        "features": features,
        "anchors_per_location": anchors_per_location,
        "num_class_slots": num_class_slots,
        "name": "head",
    }
    is_keras = known.generation == "tf2"
    if own is not None:
        return _own_head(config, own, shape)
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


def _own_head(
    config: predictors.BoxPredictor, own: PartChoice, shape: dict[str, Any]
) -> keras.layers.Layer:
    chosen = config.chosen("box_predictor_oneof")
    return HEADS[own.name](
        shape.pop("features"),
        **shape,
        code_size=getattr(chosen, "box_code_size", 4),
        settings=build_layer_settings(getattr(chosen, "conv_hyperparams", None)),
        **dict(own.keywords),
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
