"""Turn a config's model into a detector."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import keras

from holdfast.config.input_sizes import InputShape, input_shape
from holdfast.config.keywords import all_keywords
from holdfast.config.legacy_names import Extractor, extractor, nearest_names
from holdfast.config.network import detector_of
from holdfast.config.schema import anchor_generator as anchor_schema
from holdfast.config.schema import box_coder as coder_schema
from holdfast.config.schema import calibration as calibration_schema
from holdfast.config.schema import matcher as matcher_schema
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.box_predictor import (
    BoxPredictor,
    WeightSharedConvolutionalBoxPredictor,
)
from holdfast.config.schema.image_resizer import ImageResizer
from holdfast.config.schema.losses import ClassificationLoss, LocalizationLoss, Loss
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline import TrainEvalPipelineConfig
from holdfast.config.schema.post_processing import BatchNonMaxSuppression, PostProcessing
from holdfast.config.schema.ssd import Ssd, SsdFeatureExtractor
from holdfast.data.build import build_resizer
from holdfast.errors import HoldfastError
from holdfast.geometry import anchors, coding, overlap
from holdfast.geometry.matching import ArgmaxMatcher, Matcher
from holdfast.geometry.one_to_one import BipartiteMatcher
from holdfast.geometry.sampling import Sampler, balanced_sample
from holdfast.geometry.targets import TargetAssigner
from holdfast.losses.build import (
    build_classification_loss,
    build_localization_loss,
    build_miner,
    compares_boxes,
)
from holdfast.models.batch_norm import freeze as freeze_batch_norms
from holdfast.models.build import build_head, build_network
from holdfast.models.detectors.single_stage import SingleStageDetector, SingleStageSettings
from holdfast.models.detectors.single_stage_loss import SingleStageLoss
from holdfast.models.legacy_names import LegacyNames
from holdfast.models.post_processing import Suppression
from holdfast.models.preprocessing import (
    BY_DEVIATION,
    MINUS_MEAN,
    TO_UNIT_RANGE,
    Preprocessing,
)
from holdfast.models.score_conversion import (
    Calibration,
    Conversion,
    InterpolatedColumns,
    InterpolatedScores,
    Knots,
    ScoreConverter,
)

_PRECISIONS = ("float32", "mixed_float16", "mixed_bfloat16")


def build_detector(
    config: TrainEvalPipelineConfig | DetectionModel,
    *,
    precision: str = "float32",
    freeze_batch_norm: bool = False,
    sampler: Sampler | None = None,
) -> SingleStageDetector:
    """Build the detector that a config describes, with fresh weights.

    freeze_batch_norm: batch norm keeps its moving statistics in training, whatever the config says.
    sampler: chooses the anchors that are trained where the config samples them; default: random.
    """
    if precision not in _PRECISIONS:
        raise HoldfastError(
            f"There is no precision {precision!r}.", fix=f"Use one of {', '.join(_PRECISIONS)}."
        )
    model = config.model if isinstance(config, TrainEvalPipelineConfig) else config
    detector = detector_of(model) if model is not None else None
    if model is None or not isinstance(detector, Ssd):
        raise HoldfastError(
            "The config has no single-stage detector.", fix="Write model { ssd { … } }."
        )
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(precision)
    try:
        return _single_stage(model, detector, freeze_batch_norm, sampler)
    finally:
        keras.config.set_dtype_policy(before)


def _single_stage(
    model: DetectionModel, config: Ssd, freeze: bool, sampler: Sampler | None
) -> SingleStageDetector:
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
    )
    shape = input_shape(model) or InputShape(_UNLIMITED_SIDE, _UNLIMITED_SIDE, fixed=False)
    settings = _settings(config, known, anchor_generator, shape, sampler)
    detector = SingleStageDetector(network.backbone, network.neck, head, settings, name="detector")
    if freeze or config.freeze_batchnorm:
        freeze_batch_norms(detector)
    detector(keras.KerasTensor((1, shape.height, shape.width, 3), "float32"))
    return detector


def _settings(
    config: Ssd,
    known: Extractor,
    anchor_generator: anchors.AnchorGenerator,
    shape: InputShape,
    sampler: Sampler | None,
) -> SingleStageSettings:
    coder = build_coder(config.box_coder or coder_schema.BoxCoder())
    post_processing = config.post_processing or PostProcessing()
    seed = keras.random.SeedGenerator(name="sampler") if _samples(config) else None
    return SingleStageSettings(
        num_classes=config.num_classes,
        preprocessing=_preprocessing(config, known),
        anchor_generator=anchor_generator,
        assigner=TargetAssigner(
            similarity=build_similarity(
                config.similarity_calculator or matcher_schema.RegionSimilarityCalculator()
            ),
            matcher=build_matcher(config.matcher or matcher_schema.Matcher()),
            coder=coder,
            negative_class_weight=config.negative_class_weight,
        ),
        loss=_loss(config, coder),
        score_converter=_score_converter(config, post_processing),
        suppression=build_suppression(post_processing),
        legacy=LegacyNames(backbone=known.backbone, neck=known.neck or "", head=_head_name(config)),
        input_shape=(shape.height, shape.width),
        pad_to_multiple=(config.feature_extractor or SsdFeatureExtractor()).pad_to_multiple,
        uses_confidences=config.use_confidences_as_targets,
        implicit_class_weight=config.implicit_example_weight,
        sampler=_sampler(config, sampler, seed),
        sampler_seed=seed,
    )


_UNLIMITED_SIDE = 320  # an input to build by, where the resizer sets no size
_NORMALISATIONS = {"resnet": MINUS_MEAN, "efficientnet": BY_DEVIATION}


def _preprocessing(config: Ssd, known: Extractor) -> Preprocessing:
    resizer = config.image_resizer or ImageResizer()
    family = known.backbone.rstrip("0123456789_bv").split("_")[0].rstrip("0123456789")
    chosen = resizer.chosen("image_resizer_oneof")
    color = getattr(chosen, "per_channel_pad_value", ()) or (0.0, 0.0, 0.0)
    return Preprocessing(
        resize=build_resizer(resizer),
        normalisation=_NORMALISATIONS.get(family, TO_UNIT_RANGE),
        padding=None if resizer.fixed_shape_resizer is not None else color,
    )


def _loss(config: Ssd, coder: coding.BoxCoder) -> SingleStageLoss:
    loss = config.loss or Loss()
    localization = loss.localization_loss or LocalizationLoss()
    return SingleStageLoss(
        classification=build_classification_loss(loss.classification_loss or ClassificationLoss()),
        localization=build_localization_loss(localization),
        compares_boxes=compares_boxes(localization),
        coder=coder,
        has_background_column=config.add_background_class,
        background_as_zeros=config.encode_background_as_zeros or not config.add_background_class,
        classification_weight=loss.classification_weight,
        localization_weight=loss.localization_weight,
        miner=build_miner(loss),
        normalizes_by_matches=config.normalize_loss_by_num_matches,
        normalizes_by_code_size=config.normalize_loc_loss_by_codesize,
    )


def _samples(config: Ssd) -> bool:
    return config.loss is not None and config.loss.random_example_sampler is not None


def _sampler(
    config: Ssd, given: Sampler | None, seed: keras.random.SeedGenerator | None
) -> Sampler | None:
    sampling = config.loss.random_example_sampler if config.loss else None
    if sampling is None or seed is None:
        return None
    return given or partial(
        balanced_sample, positive_fraction=sampling.positive_sample_fraction, seed=seed
    )


def _score_converter(config: Ssd, post_processing: PostProcessing) -> ScoreConverter:
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


def _head_name(config: Ssd) -> str:
    predictor = config.box_predictor
    is_shared = predictor and predictor.weight_shared_convolutional_box_predictor is not None
    return "weight_shared" if is_shared else "convolutional"


def _known_extractor(config: Ssd) -> Extractor:
    name = config.feature_extractor.type if config.feature_extractor else ""
    known = extractor(name)
    if known is None or known.architecture != "ssd":
        similar = nearest_names(name, architecture="ssd")
        raise HoldfastError(
            f"There is no single-stage feature extractor {name!r}.",
            fix=f"Did you mean {' or '.join(similar)}?" if similar else "See docs/models.md.",
        )
    if known.nearest is not None:
        raise HoldfastError(f"Holdfast does not build {name}.", fix=f'Use type: "{known.nearest}".')
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


def build_anchor_generator(config: anchor_schema.AnchorGenerator) -> anchors.AnchorGenerator:
    """Make the anchor generator."""
    match config.chosen("anchor_generator_oneof"):
        case anchor_schema.SsdAnchorGenerator() as chosen:
            return anchors.SsdAnchors(**all_keywords(chosen))
        case anchor_schema.MultiscaleAnchorGenerator() as chosen:
            return anchors.MultiscaleAnchors(**all_keywords(chosen))
        case anchor_schema.GridAnchorGenerator() as chosen:
            return anchors.GridAnchors(**all_keywords(chosen))
        case anchor_schema.FlexibleGridAnchorGenerator() as chosen:
            grids = [anchors.AnchorGrid(**all_keywords(grid)) for grid in chosen.anchor_grid]
            return anchors.FlexibleGridAnchors(
                anchor_grid=grids, normalize_coordinates=chosen.normalize_coordinates
            )
    raise _nothing("anchor_generator", "ssd_anchor_generator { aspect_ratios: 1.0 }")


def build_coder(config: coder_schema.BoxCoder) -> coding.BoxCoder:
    """Make the box coder."""
    match config.chosen("box_coder_oneof"):
        case coder_schema.FasterRcnnBoxCoder() as chosen:
            return coding.FasterRcnnCoder(**all_keywords(chosen))
        case coder_schema.MeanStddevBoxCoder() as chosen:
            return coding.MeanStddevCoder(**all_keywords(chosen))
        case coder_schema.SquareBoxCoder() as chosen:
            return coding.SquareCoder(**all_keywords(chosen))
        case coder_schema.KeypointBoxCoder():
            raise HoldfastError(
                "Single-stage detectors with a keypoint_box_coder are not supported.",
                fix="Use box_coder { faster_rcnn_box_coder { } }, or CenterNet for keypoints.",
            )
    raise _nothing("box_coder", "faster_rcnn_box_coder { }")


def build_matcher(config: matcher_schema.Matcher) -> Matcher:
    """Make the matcher; use_matmul_gather chooses an implementation for TPUs only."""
    match config.chosen("matcher_oneof"):
        case matcher_schema.ArgMaxMatcher() as chosen:
            return ArgmaxMatcher(**all_keywords(chosen, "use_matmul_gather"))
        case matcher_schema.BipartiteMatcher():
            return BipartiteMatcher()
    raise _nothing("matcher", "argmax_matcher { }")


def build_similarity(config: matcher_schema.RegionSimilarityCalculator) -> overlap.Similarity:
    """Make the function that says how alike two boxes are."""
    match config.chosen("region_similarity"):
        case matcher_schema.NegSqDistSimilarity():
            return overlap.negative_squared_distance
        case matcher_schema.IouSimilarity():
            return overlap.iou
        case matcher_schema.IoaSimilarity():
            return overlap.ioa
        case matcher_schema.ThresholdedIouSimilarity(iou_threshold=threshold):
            return partial(overlap.thresholded_iou, iou_threshold=threshold)
    raise _nothing("similarity_calculator", "iou_similarity { }")


def build_suppression(config: PostProcessing) -> Suppression:
    """Make the non-maximum suppression."""
    return Suppression(**all_keywords(config.batch_non_max_suppression or BatchNonMaxSuppression()))


def build_score_converter(config: PostProcessing) -> ScoreConverter:
    """Make the conversion of logits to scores."""
    chosen = config.calibration_config and config.calibration_config.chosen("calibrator")
    scale = config.logit_scale
    calibration: Calibration | None = None
    match chosen:
        case calibration_schema.TemperatureScalingCalibration(scaler=scaler):
            scale *= scaler
        case calibration_schema.FunctionApproximation(x_y_pairs=pairs) if pairs:
            calibration = InterpolatedScores(knots=_knots(pairs))
        case calibration_schema.ClassIdFunctionApproximations(class_id_xy_pairs_map=pairs):
            by_column = {column: _knots(each) for column, each in dict(pairs).items()}
            calibration = InterpolatedColumns(knots=by_column)
        case None:
            pass
        case _:
            raise HoldfastError(
                "calibration_config: sigmoid calibration is not supported.",
                fix="Write it as function_approximation { x_y_pairs { … } }.",
            )
    conversion: Conversion = config.score_converter.name  # type: ignore[assignment]
    return ScoreConverter(conversion=conversion, logit_scale=scale, calibration=calibration)


def _knots(pairs: calibration_schema.XYPairs) -> Knots:
    return tuple((pair.x, pair.y) for pair in pairs.x_y_pair)


def _nothing(block: str, example: str) -> HoldfastError:
    return HoldfastError(f"{block} chooses nothing.", fix=f"Write {block} {{ {example} }}")
