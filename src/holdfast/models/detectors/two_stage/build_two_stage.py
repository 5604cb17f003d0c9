"""Turn a config's `faster_rcnn` block into a two-stage detector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from holdfast.config.facts.extractors import Extractor, extractor, nearest_names
from holdfast.config.facts.input_sizes import (
    FASTER_RCNN_FPN_PADDING,
    InputShape,
    input_shape,
)
from holdfast.config.keywords import all_keywords
from holdfast.config.part_choices import chosen_part
from holdfast.config.schema import anchor_generator as anchor_schema
from holdfast.config.schema.box_predictor import BoxPredictor, MaskRCNNBoxPredictor
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.image_resizer import ImageResizer
from holdfast.config.schema.losses import (
    ClassificationLoss,
    WeightedSoftmaxClassificationAgainstLogitsLoss,
)
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.post_processing import PostProcessing
from holdfast.config.validate.region_stages import stage_problems
from holdfast.data.input.build_input import build_resizer
from holdfast.errors import HoldfastError, errors_of
from holdfast.geometry.coding import FasterRcnnCoder
from holdfast.geometry.matching import ArgmaxMatcher
from holdfast.geometry.overlap import iou
from holdfast.geometry.sampling import Sampler, SeededSampler, balanced_sample, filled_sample
from holdfast.geometry.targets import AnchorAssigner
from holdfast.geometry.tensor import Tensor
from holdfast.losses import classification
from holdfast.losses.build_losses import Choices, build_classification_loss
from holdfast.losses.mining import HardMiner
from holdfast.models.backbones.backbone_spec import BACKBONES
from holdfast.models.detectors.build_anchor_parts import build_anchor_generator
from holdfast.models.detectors.two_stage.build_two_stage_network import build_two_stage_network
from holdfast.models.detectors.two_stage.first_stage import FirstStage
from holdfast.models.detectors.two_stage.mask_stage import MaskStage
from holdfast.models.detectors.two_stage.second_stage import SecondStage
from holdfast.models.detectors.two_stage.two_stage_detector import TwoStageDetector
from holdfast.models.detectors.two_stage.two_stage_settings import TwoStageSettings
from holdfast.models.inference.build_post_processing import (
    build_score_converter,
    build_suppression,
)
from holdfast.models.inference.detections import Suppression
from holdfast.models.inference.preprocessing import Preprocessing
from holdfast.models.layers.batch_norm import freeze as freeze_batch_norms
from holdfast.registry import NOT_FOUND_FIX

_UNLIMITED_SIDE = 320  # an input to build by, where the resizer sets no size


def build_two_stage(
    model: DetectionModel,
    config: FasterRcnn,
    freeze: bool,
    sampler: Sampler | None,
    choices: Choices,
) -> TwoStageDetector:
    """Build the detector; freeze: batch norm keeps its moving statistics."""
    refuse_own_parts(choices)
    refuse_unsupported_stages(config)
    known = _known_extractor(config)
    network = build_two_stage_network(config, known)
    detector = TwoStageDetector(
        network, _settings(config, known, sampler, choices), name="detector"
    )
    if freeze:
        freeze_batch_norms(detector)
    shape = input_shape(model) or InputShape(_UNLIMITED_SIDE, _UNLIMITED_SIDE, fixed=False)
    detector.build_parts(shape.height, shape.width)
    return detector


def refuse_own_parts(choices: Choices) -> None:
    """Raise for parts of a user's own that have no place here."""
    for role in ("head", "localization_loss"):
        if chosen_part(choices, role) is not None:
            raise HoldfastError(
                f"A two-stage detector takes no {role} of your own.",
                fix=f"Remove --use {role}=…, or use a single-stage detector.",
            )


def refuse_unsupported_stages(config: FasterRcnn) -> None:
    """Raise for the first mistake that `check` finds in the stages."""
    for problem in errors_of(stage_problems(config)):
        raise HoldfastError(f"{problem.path}: {problem.message}.", fix=f"{problem.fix}.")


def _settings(
    config: FasterRcnn, known: Extractor, sampler: Sampler | None, choices: Choices
) -> TwoStageSettings:
    stages = config.number_of_stages
    return TwoStageSettings(
        num_classes=config.num_classes,
        preprocessing=_preprocessing(config, known),
        first=_first_stage(config, sampler),
        second=_second_stage(config, sampler, choices) if stages > 1 else None,
        masks=_mask_stage(config) if stages > 2 else None,
        crop_size=config.initial_crop_size,
        pool_kernel_size=config.maxpool_kernel_size,
        pool_stride=config.maxpool_stride,
        pad_to_multiple=FASTER_RCNN_FPN_PADDING if known.neck == "fpn" else 1,
    )


def _preprocessing(config: FasterRcnn, known: Extractor) -> Preprocessing:
    """Make the preprocessing; a margin is normalized as the image is, unlike SSD's."""
    resizer = config.image_resizer or ImageResizer()
    chosen = resizer.chosen("image_resizer_oneof")
    color = getattr(chosen, "per_channel_pad_value", ()) or (0.0, 0.0, 0.0)
    normalization = BACKBONES[known.backbone].normalization
    margin = tuple(
        value * scale + offset
        for value, scale, offset in zip(
            color, normalization.scale, normalization.offset, strict=True
        )
    )
    return Preprocessing(
        resize=build_resizer(resizer),
        normalization=normalization,
        padding=None if resizer.fixed_shape_resizer is not None else margin,
    )


# Fixed in the OD API, whatever the config says.
_CODER = FasterRcnnCoder()
_PROPOSAL_MATCHER = ArgmaxMatcher(
    matched_threshold=0.7, unmatched_threshold=0.3, force_match_for_each_row=True
)
_REGION_MATCHER = ArgmaxMatcher(matched_threshold=0.5, unmatched_threshold=0.5)


def _first_stage(config: FasterRcnn, sampler: Sampler | None) -> FirstStage:
    generator = config.first_stage_anchor_generator or anchor_schema.AnchorGenerator()
    limit = config.first_stage_max_proposals
    return FirstStage(
        anchor_generator=build_anchor_generator(generator),
        assigner=AnchorAssigner(similarity=iou, matcher=_PROPOSAL_MATCHER, coder=_CODER),
        suppression=Suppression(
            score_threshold=config.first_stage_nms_score_threshold,
            iou_threshold=config.first_stage_nms_iou_threshold,
            max_detections_per_class=limit,
            max_total_detections=limit,
            use_combined_nms=config.use_combined_nms_in_first_stage,
            change_coordinate_frame=False,
        ),
        sampler=_sampler(config, config.first_stage_positive_balance_fraction, sampler),
        minibatch_size=config.first_stage_minibatch_size,
        clips_anchors=config.clip_anchors_to_image,
        localization_weight=config.first_stage_localization_loss_weight,
        objectness_weight=config.first_stage_objectness_loss_weight,
    )


def _second_stage(config: FasterRcnn, sampler: Sampler | None, choices: Choices) -> SecondStage:
    post_processing = config.second_stage_post_processing or PostProcessing()
    mines = config.hard_example_miner is not None
    return SecondStage(
        assigner=AnchorAssigner(similarity=iou, matcher=_REGION_MATCHER, coder=_CODER),
        classification=_classification_loss(config, choices),
        score_converter=build_score_converter(post_processing),
        # The OD API changes the frame here whatever the config says.
        suppression=replace(build_suppression(post_processing), change_coordinate_frame=True),
        sampler=None if mines else _sampler(config, config.second_stage_balance_fraction, sampler),
        batch_size=config.second_stage_batch_size,
        keeps_size=config.use_static_shapes,
        localization_weight=config.second_stage_localization_loss_weight,
        classification_weight=config.second_stage_classification_loss_weight,
        miner=_miner(config),
    )


def _mask_stage(config: FasterRcnn) -> MaskStage:
    predictor = _predictor(config)
    return MaskStage(
        size=(predictor.mask_height, predictor.mask_width),
        weight=config.second_stage_mask_prediction_loss_weight,
    )


def _classification_loss(
    config: FasterRcnn, choices: Choices
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Make the class loss of regions: softmax, where the config chooses none."""
    loss = config.second_stage_classification_loss or ClassificationLoss()
    chosen = loss.chosen("classification_loss")
    if chosen is None and chosen_part(choices, "classification_loss") is None:
        return classification.softmax
    built = build_classification_loss(loss, choices)
    if isinstance(chosen, WeightedSoftmaxClassificationAgainstLogitsLoss):
        return classification.of_dense_targets(built)
    return built


def _miner(config: FasterRcnn) -> HardMiner | None:
    """Make the miner; the second stage keeps no balance of positives and negatives."""
    if config.hard_example_miner is None:
        return None
    keywords = all_keywords(
        config.hard_example_miner, "max_negatives_per_positive", "min_negatives_per_image"
    )
    return HardMiner(
        **keywords,
        classification_weight=config.second_stage_classification_loss_weight,
        localization_weight=config.second_stage_localization_loss_weight,
    )


def _sampler(config: FasterRcnn, fraction: float, given: Sampler | None) -> SeededSampler:
    if given is not None:
        return lambda seeds: given
    is_static = config.use_static_shapes and config.use_static_balanced_label_sampler
    sample = filled_sample if is_static else balanced_sample
    return lambda seeds: partial(sample, positive_fraction=fraction, seeds=seeds)


def _predictor(config: FasterRcnn) -> MaskRCNNBoxPredictor:
    predictor = config.second_stage_box_predictor or BoxPredictor()
    return predictor.mask_rcnn_box_predictor or MaskRCNNBoxPredictor()


def _known_extractor(config: FasterRcnn) -> Extractor:
    name = config.feature_extractor.type if config.feature_extractor else ""
    known = extractor(name)
    if known is None or known.architecture != "faster_rcnn":
        similar = nearest_names(name, architecture="faster_rcnn")
        fix = f"Did you mean {' or '.join(similar)}?" if similar else "See docs/models.md."
        raise HoldfastError(
            f"There is no two-stage feature extractor {name!r}.", fix=f"{fix} {NOT_FOUND_FIX}."
        )
    return known
