"""Turn a config's `ssd` block into a single-stage detector."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import keras

from holdfast.config.facts.extractors import Extractor, extractor, nearest_names
from holdfast.config.facts.input_sizes import InputShape, input_shape
from holdfast.config.part_choices import chosen_part
from holdfast.config.schema import box_coder as coder_schema
from holdfast.config.schema import matcher as matcher_schema
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.box_predictor import (
    BoxPredictor,
    WeightSharedConvolutionalBoxPredictor,
)
from holdfast.config.schema.image_resizer import ImageResizer
from holdfast.config.schema.losses import ClassificationLoss, LocalizationLoss, Loss
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.post_processing import PostProcessing
from holdfast.config.schema.ssd import Ssd, SsdFeatureExtractor
from holdfast.data.input.build_input import build_resizer
from holdfast.errors import HoldfastError
from holdfast.geometry import anchors, coding
from holdfast.geometry.sampling import Sampler, SeededSampler, balanced_sample
from holdfast.geometry.targets import AnchorAssigner
from holdfast.losses.build_losses import (
    Choices,
    build_classification_loss,
    build_localization_loss,
    build_miner,
    compares_boxes,
)
from holdfast.models.backbones.backbone_spec import BACKBONES
from holdfast.models.build_network import build_head, build_network
from holdfast.models.detectors.build_anchor_parts import (
    build_anchor_generator,
    build_coder,
    build_matcher,
    build_similarity,
)
from holdfast.models.detectors.single_stage.detector import (
    SingleStageDetector,
    SingleStageSettings,
)
from holdfast.models.detectors.single_stage.loss_terms import SingleStageLoss
from holdfast.models.inference.build_post_processing import (
    build_score_converter,
    build_suppression,
)
from holdfast.models.inference.preprocessing import Preprocessing
from holdfast.models.inference.scores import ScoreConversion
from holdfast.models.layers.batch_norm import freeze as freeze_batch_norms
from holdfast.models.part_names import LegacyNames
from holdfast.registry import NOT_FOUND_FIX


def build_single_stage(
    model: DetectionModel,
    config: Ssd,
    freeze: bool,
    sampler: Sampler | None,
    choices: Choices,
) -> SingleStageDetector:
    """Build the detector; freeze: batch norm keeps its moving statistics."""
    refuse_unsupported(config)
    known = _known_extractor(config)
    network = build_network(config.feature_extractor or SsdFeatureExtractor(), known)
    anchor_generator = build_anchor_generator(config.anchor_generator or AnchorGenerator())
    per_location = anchor_generator.anchors_per_location
    if len(per_location) != len(network.neck.features):
        raise HoldfastError(
            f"The anchor generator lays anchors on {len(per_location)} feature maps, and the "
            f"network has {len(network.neck.features)}.",
            fix="Make num_layers, or min_level and max_level, of the two agree.",
        )
    head = build_head(
        config.box_predictor or BoxPredictor(),
        known,
        features=network.neck.features,
        anchors_per_location=per_location,
        num_class_slots=config.num_classes + config.add_background_class,
        own=chosen_part(choices, "head"),
    )
    shape = input_shape(model) or InputShape(_UNLIMITED_SIDE, _UNLIMITED_SIDE, fixed=False)
    settings = _settings(config, known, anchor_generator, shape, sampler, choices)
    detector = SingleStageDetector(network.backbone, network.neck, head, settings, name="detector")
    if freeze or config.freeze_batchnorm:
        freeze_batch_norms(detector)
    detector(keras.KerasTensor((1, shape.height, shape.width, 3), "float32"))
    return detector


def _settings(
    config: Ssd,
    known: Extractor,
    anchor_generator: anchors.AnchorLayer,
    shape: InputShape,
    sampler: Sampler | None,
    choices: Choices,
) -> SingleStageSettings:
    coder = build_coder(config.box_coder or coder_schema.BoxCoder())
    post_processing = config.post_processing or PostProcessing()
    return SingleStageSettings(
        num_classes=config.num_classes,
        preprocessing=_preprocessing(config, known),
        anchor_generator=anchor_generator,
        assigner=AnchorAssigner(
            similarity=build_similarity(
                config.similarity_calculator or matcher_schema.RegionSimilarityCalculator()
            ),
            matcher=build_matcher(config.matcher or matcher_schema.Matcher()),
            coder=coder,
            negative_class_weight=config.negative_class_weight,
        ),
        loss=_loss(config, coder, choices),
        score_converter=_score_converter(config, post_processing),
        suppression=build_suppression(post_processing),
        legacy=LegacyNames(
            backbone=known.backbone, neck=known.neck or "", head=_head_name(config, choices)
        ),
        input_shape=(shape.height, shape.width),
        pad_to_multiple=(config.feature_extractor or SsdFeatureExtractor()).pad_to_multiple,
        uses_confidences=config.use_confidences_as_targets,
        implicit_class_weight=config.implicit_example_weight,
        sampler=_sampler(config, sampler),
    )


_UNLIMITED_SIDE = 320  # an input to build by, where the resizer sets no size


def _preprocessing(config: Ssd, known: Extractor) -> Preprocessing:
    resizer = config.image_resizer or ImageResizer()
    chosen = resizer.chosen("image_resizer_oneof")
    color = getattr(chosen, "per_channel_pad_value", ()) or (0.0, 0.0, 0.0)
    return Preprocessing(
        resize=build_resizer(resizer),
        normalization=BACKBONES[known.backbone].normalization,
        padding=None if resizer.fixed_shape_resizer is not None else color,
    )


def _loss(config: Ssd, coder: coding.Coder, choices: Choices) -> SingleStageLoss:
    loss = config.loss or Loss()
    localization = loss.localization_loss or LocalizationLoss()
    return SingleStageLoss(
        classification=build_classification_loss(
            loss.classification_loss or ClassificationLoss(), choices
        ),
        localization=build_localization_loss(localization, choices),
        compares_boxes=compares_boxes(localization, choices),
        coder=coder,
        has_background_column=config.add_background_class,
        background_as_zeros=config.encode_background_as_zeros or not config.add_background_class,
        classification_weight=loss.classification_weight,
        localization_weight=loss.localization_weight,
        miner=build_miner(loss),
        normalizes_by_matches=config.normalize_loss_by_num_matches,
        normalizes_by_code_size=config.normalize_loc_loss_by_codesize,
    )


def _sampler(config: Ssd, given: Sampler | None) -> SeededSampler | None:
    sampling = config.loss.random_example_sampler if config.loss else None
    if sampling is None:
        return None
    if given is not None:
        return lambda seeds: given
    fraction = sampling.positive_sample_fraction
    return lambda seeds: partial(balanced_sample, positive_fraction=fraction, seeds=seeds)


def _score_converter(config: Ssd, post_processing: PostProcessing) -> ScoreConversion:
    """Make the conversion; a weight-shared predictor can have one too, but not a second."""
    converter = build_score_converter(post_processing)
    predictor = config.box_predictor and config.box_predictor.chosen("box_predictor_oneof")
    converts = isinstance(predictor, WeightSharedConvolutionalBoxPredictor) and bool(
        predictor.score_converter
    )
    if not converts:
        return converter
    if converter.conversion != "IDENTITY":
        raise HoldfastError(
            "Both the box predictor and post_processing convert scores.",
            fix="Remove score_converter from the box predictor.",
        )
    return replace(converter, conversion="SIGMOID")


def _head_name(config: Ssd, choices: Choices) -> str:
    if (own := chosen_part(choices, "head")) is not None:
        return own.name
    predictor = config.box_predictor
    is_shared = predictor and predictor.weight_shared_convolutional_box_predictor is not None
    return "weight_shared" if is_shared else "convolutional"


def _known_extractor(config: Ssd) -> Extractor:
    name = config.feature_extractor.type if config.feature_extractor else ""
    known = extractor(name)
    if known is None or known.architecture != "ssd":
        similar = nearest_names(name, architecture="ssd")
        fix = f"Did you mean {' or '.join(similar)}?" if similar else "See docs/models.md."
        raise HoldfastError(
            f"There is no single-stage feature extractor {name!r}.", fix=f"{fix} {NOT_FOUND_FIX}."
        )
    return known


def refuse_unsupported(config: Ssd) -> None:
    """Raise for settings that change the numbers and that no part here obeys."""
    loss = config.loss or Loss()
    features = config.feature_extractor or SsdFeatureExtractor()
    for name, is_set in {
        "mask_head_config": config.mask_head_config is not None,
        "explicit_background_class": config.explicit_background_class,
        "loss.equalization_loss": bool(loss.equalization_loss and loss.equalization_loss.weight),
        "loss.expected_loss_weights": bool(loss.expected_loss_weights),
        "feature_extractor.replace_preprocessor_with_placeholder": (
            features.replace_preprocessor_with_placeholder
        ),
        "feature_extractor.use_hardswish": features.use_hardswish,
    }.items():
        if is_set:
            raise HoldfastError(f"ssd.{name} is not supported.", fix="Remove it.")
