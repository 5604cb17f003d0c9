"""Turn the config's blocks on anchors, matching, coding and post-processing into parts."""

from __future__ import annotations

from functools import partial

from holdfast.config.keywords import all_keywords
from holdfast.config.schema import anchor_generator as anchor_schema
from holdfast.config.schema import box_coder as coder_schema
from holdfast.config.schema import calibration as calibration_schema
from holdfast.config.schema import matcher as matcher_schema
from holdfast.config.schema.post_processing import BatchNonMaxSuppression, PostProcessing
from holdfast.errors import HoldfastError
from holdfast.geometry import anchors, coding, overlap
from holdfast.geometry.matching import ArgmaxMatcher, Matcher
from holdfast.geometry.one_to_one import BipartiteMatcher
from holdfast.models.post_processing import Suppression
from holdfast.models.score_conversion import (
    Calibration,
    Conversion,
    InterpolatedColumns,
    InterpolatedScores,
    Knots,
    ScoreConverter,
)


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
