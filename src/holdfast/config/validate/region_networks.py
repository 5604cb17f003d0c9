"""Settings of two-stage detectors that can be read, and that Holdfast does not build."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.facts.input_sizes import FASTER_RCNN_FPN_PADDING
from holdfast.config.facts.networks import extractor_of
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.box_predictor import BoxPredictor, MaskRCNNBoxPredictor
from holdfast.config.schema.faster_rcnn import FasterRcnn, FasterRcnnFeatureExtractor
from holdfast.config.schema.hyperparams import Hyperparams
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import Problem

_ROOT = "model.faster_rcnn"
_STRIDES = {  # that a network without a pyramid can have, where there is a choice or a limit
    ("inception_v2", "tf1"): (16,),
    ("resnet50_v1", "tf2"): (16,),
    ("resnet101_v1", "tf2"): (16,),
    ("resnet152_v1", "tf2"): (16,),
}


def check_region_networks(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    """Yield an error for every setting with which no network of two stages can be built."""
    if config.model is not None and config.model.faster_rcnn is not None:
        yield from unbuilt_settings(config.model.faster_rcnn)


def unbuilt_settings(rcnn: FasterRcnn) -> Iterator[Problem]:
    """Yield the settings that no part of the network would obey; building refuses the first."""
    if rcnn.context_config is not None:
        yield _removable(
            "context_config",
            "Holdfast does not build Context R-CNN",
            "the nearest it builds is Faster R-CNN on the same extractor: remove it",
        )
    if rcnn.inplace_batchnorm_update:
        yield _removable(
            "inplace_batchnorm_update", "the OD API refuses it in two stages", "remove it"
        )
    yield from _of_stages(rcnn)
    yield from _of_predictor(rcnn.second_stage_box_predictor or BoxPredictor())
    yield from _of_extractor(rcnn)
    yield from _of_normalizations(rcnn)


def _of_stages(rcnn: FasterRcnn) -> Iterator[Problem]:
    stages = rcnn.number_of_stages
    predictor = rcnn.second_stage_box_predictor or BoxPredictor()
    has_masks = (predictor.mask_rcnn_box_predictor or MaskRCNNBoxPredictor()).predict_instance_masks
    if stages not in (1, 2, 3):
        yield _problem(
            "number_of_stages",
            f"there are no {stages} stages",
            "write 1 for proposals alone, 2 for boxes, 3 for masks",
        )
    if stages == 3 and not has_masks:
        yield _problem(
            "number_of_stages",
            "the third stage predicts masks, and the box predictor predicts none",
            "write 2, or predict_instance_masks: true in mask_rcnn_box_predictor",
        )
    if rcnn.second_stage_batch_size > rcnn.first_stage_max_proposals:
        yield _problem(
            "second_stage_batch_size",
            f"{rcnn.second_stage_batch_size} regions cannot be sampled from "
            f"{rcnn.first_stage_max_proposals} proposals",
            "write at most first_stage_max_proposals",
        )
    generator = rcnn.first_stage_anchor_generator or AnchorGenerator()
    multiscale = generator.multiscale_anchor_generator
    if multiscale is not None and multiscale.normalize_coordinates:
        yield _problem(
            "first_stage_anchor_generator.multiscale_anchor_generator.normalize_coordinates",
            "anchors of two stages are in pixels",
            "write normalize_coordinates: false",
        )


def _of_predictor(predictor: BoxPredictor) -> Iterator[Problem]:
    place = "second_stage_box_predictor"
    match predictor.which("box_predictor_oneof"):
        case "rfcn_box_predictor":
            yield _problem(
                f"{place}.rfcn_box_predictor",
                "Holdfast does not build R-FCN",
                "the nearest it builds is Faster R-CNN on the same extractor: write "
                "mask_rcnn_box_predictor { }, and initial_crop_size, maxpool_kernel_size and "
                "maxpool_stride",
            )
        case "convolutional_box_predictor" | "weight_shared_convolutional_box_predictor" as name:
            yield _problem(
                f"{place}.{name}",
                "it is for a single stage",
                "write mask_rcnn_box_predictor { } in its place",
            )
    chosen = predictor.mask_rcnn_box_predictor or MaskRCNNBoxPredictor()
    if chosen.predict_keypoints:
        yield _removable(
            f"{place}.mask_rcnn_box_predictor.predict_keypoints",
            "nothing obeys it: the OD API never built a keypoint head for two stages",
            "remove it; CenterNet learns keypoints",
        )


def _of_extractor(rcnn: FasterRcnn) -> Iterator[Problem]:
    features = rcnn.feature_extractor or FasterRcnnFeatureExtractor()
    known = extractor_of(rcnn)
    if known is None or known.nearest is not None:
        return
    stride = features.first_stage_features_stride
    strides = _STRIDES.get((known.backbone, known.generation), (8, 16))
    if known.neck is None and stride not in strides:
        yield _problem(
            "feature_extractor.first_stage_features_stride",
            f"{features.type} has no stride {stride}",
            f"write {' or '.join(map(str, strides))}, and the same in the anchor generator",
        )
    multiple = features.pad_to_multiple
    if known.neck == "fpn" and multiple != FASTER_RCNN_FPN_PADDING:
        yield _removable(
            "feature_extractor.pad_to_multiple",
            f"inputs of a pyramid are padded to multiples of {FASTER_RCNN_FPN_PADDING}, as the OD "
            f"API does whatever this says, and not of {multiple}",
            "remove it",
        )
    for name in ("conv_hyperparams", "fpn", "pad_to_multiple"):
        if known.neck is None and features.has(name):
            yield _removable(
                f"feature_extractor.{name}", f"{features.type} does not obey it", "remove it"
            )


def _of_normalizations(rcnn: FasterRcnn) -> Iterator[Problem]:
    predictor = rcnn.second_stage_box_predictor or BoxPredictor()
    second = predictor.mask_rcnn_box_predictor or MaskRCNNBoxPredictor()
    features = rcnn.feature_extractor or FasterRcnnFeatureExtractor()
    below = "second_stage_box_predictor.mask_rcnn_box_predictor"
    blocks = {
        "feature_extractor.conv_hyperparams": features.conv_hyperparams,
        "first_stage_box_predictor_conv_hyperparams": (
            rcnn.first_stage_box_predictor_conv_hyperparams
        ),
        f"{below}.fc_hyperparams": second.fc_hyperparams,
        f"{below}.conv_hyperparams": second.conv_hyperparams,
    }
    for path, block in blocks.items():
        if (block or Hyperparams()).group_norm is not None:
            yield _problem(
                f"{path}.group_norm",
                "Holdfast does not support it",
                "write batch_norm { train: false } in its place",
            )


def _problem(path: str, message: str, fix: str) -> Problem:
    return Problem(path=f"{_ROOT}.{path}", message=message, fix=fix)


def _removable(path: str, message: str, fix: str) -> Problem:
    place = f"{_ROOT}.{path}"
    return Problem(path=place, message=message, fix=fix, remedy=((place, ""),))
