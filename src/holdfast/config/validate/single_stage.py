"""Settings of single-stage detectors that can be read, and that Holdfast does not build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from holdfast.config.facts.extractors import extractor
from holdfast.config.schema.box_predictor import (
    BoxPredictor,
    ConvolutionalBoxPredictor,
    WeightSharedConvolutionalBoxPredictor,
)
from holdfast.config.schema.hyperparams import Hyperparams
from holdfast.config.schema.losses import Loss
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.post_processing import PostProcessing, ScoreConverter
from holdfast.config.schema.ssd import Ssd, SsdFeatureExtractor
from holdfast.errors import Problem

_NOT_SUPPORTED = "Holdfast does not support it"
_COMBINE_METHODS = ("fast_attention", "attention", "weighted_sum", "sum")


class _Refusal(NamedTuple):
    """What to say of a setting that is not built."""

    is_set: bool
    fix: str
    message: str = _NOT_SUPPORTED


def check_single_stage(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    """Yield an error for every setting with which a detector of one stage cannot be built."""
    if config.model is None or config.model.ssd is None:
        return
    ssd = config.model.ssd
    refusals = {**_of_detector(ssd), **_of_features(ssd), **_of_predictor(ssd), **_of_loss(ssd)}
    for path, refusal in refusals.items():
        if refusal.is_set:
            yield Problem(path=f"model.ssd.{path}", message=refusal.message, fix=refusal.fix)


def _of_detector(ssd: Ssd) -> Mapping[str, _Refusal]:
    after = ssd.post_processing or PostProcessing()
    calibrator = after.calibration_config and after.calibration_config.which("calibrator")
    return {
        "mask_head_config": _Refusal(ssd.mask_head_config is not None, "remove it"),
        "explicit_background_class": _Refusal(ssd.explicit_background_class, "remove it"),
        "box_coder.keypoint_box_coder": _Refusal(
            ssd.box_coder is not None and ssd.box_coder.keypoint_box_coder is not None,
            "write box_coder { faster_rcnn_box_coder { } }",
        ),
        f"post_processing.calibration_config.{calibrator}": _Refusal(
            "sigmoid" in (calibrator or ""), "write it as function_approximation { x_y_pairs { } }"
        ),
    }


def _of_features(ssd: Ssd) -> Mapping[str, _Refusal]:
    features = ssd.feature_extractor or SsdFeatureExtractor()
    known = extractor(features.type)
    has_bifpn = known is not None and known.neck == "bifpn" and features.bifpn is not None
    method = features.bifpn.combine_method if has_bifpn and features.bifpn else ""
    return {
        "feature_extractor.replace_preprocessor_with_placeholder": _Refusal(
            features.replace_preprocessor_with_placeholder, "remove it"
        ),
        "feature_extractor.use_hardswish": _Refusal(features.use_hardswish, "remove it"),
        "feature_extractor.bifpn.combine_method": _Refusal(
            has_bifpn and method not in _COMBINE_METHODS,
            f"write one of {', '.join(_COMBINE_METHODS)}",
            f"there is no way {method!r} to combine features",
        ),
        "feature_extractor.conv_hyperparams.group_norm": _group_norm(features.conv_hyperparams),
    }


def _of_predictor(ssd: Ssd) -> Mapping[str, _Refusal]:
    name = (ssd.box_predictor or BoxPredictor()).which("box_predictor_oneof")
    predictor = getattr(ssd.box_predictor, name) if name else None
    if not isinstance(predictor, ConvolutionalBoxPredictor | WeightSharedConvolutionalBoxPredictor):
        fix = "write weight_shared_convolutional_box_predictor { depth: 256 } instead"
        message = "it belongs to detectors of two stages"
        return {f"box_predictor.{name}": _Refusal(predictor is not None, fix, message)}
    after = ssd.post_processing or PostProcessing()
    converts_twice = (
        isinstance(predictor, WeightSharedConvolutionalBoxPredictor)
        and bool(predictor.score_converter)
        and after.score_converter is not ScoreConverter.IDENTITY
    )
    return {
        f"box_predictor.{name}.score_converter": _Refusal(
            converts_twice, "remove it", "post_processing converts the scores already"
        ),
        f"box_predictor.{name}.conv_hyperparams.group_norm": _group_norm(
            predictor.conv_hyperparams
        ),
    }


def _of_loss(ssd: Ssd) -> Mapping[str, _Refusal]:
    loss = ssd.loss or Loss()
    name = loss.classification_loss and loss.classification_loss.which("classification_loss")
    return {
        "loss.equalization_loss": _Refusal(
            bool(loss.equalization_loss and loss.equalization_loss.weight), "remove it"
        ),
        "loss.expected_loss_weights": _Refusal(bool(loss.expected_loss_weights), "remove it"),
        f"loss.classification_loss.{name}": _Refusal(
            name in ("penalty_reduced_logistic_focal_loss", "weighted_dice_classification_loss"),
            "write weighted_sigmoid_focal { alpha: 0.25 gamma: 2.0 }",
            "it is a loss of heatmaps and masks, not of anchors",
        ),
    }


def _group_norm(hyperparams: Hyperparams | None) -> _Refusal:
    is_set = hyperparams is not None and hyperparams.group_norm is not None
    return _Refusal(is_set, "write batch_norm { }, with freeze_batchnorm: true for small batches")
