"""Turn the config's blocks on anchors, box codes and matching into parts."""

from __future__ import annotations

from functools import partial

from holdfast.config.keywords import all_keywords
from holdfast.config.schema import anchor_generator as anchor_schema
from holdfast.config.schema import box_coder as coder_schema
from holdfast.config.schema import matcher as matcher_schema
from holdfast.errors import HoldfastError
from holdfast.geometry import anchors, coding, overlap
from holdfast.geometry.greedy_matching import GreedyMatcher
from holdfast.geometry.matching import AnchorMatcher, ArgmaxMatcher


def build_anchor_generator(config: anchor_schema.AnchorGenerator) -> anchors.AnchorLayer:
    """Make the anchor generator."""
    match config.chosen("anchor_generator_oneof"):
        case anchor_schema.SsdAnchorGenerator() as chosen:
            return anchors.SsdAnchors(**all_keywords(chosen))
        case anchor_schema.MultiscaleAnchorGenerator() as chosen:
            return anchors.MultiscaleAnchors(**all_keywords(chosen))
        case anchor_schema.GridAnchorGenerator() as chosen:
            return anchors.GridAnchors(**all_keywords(chosen))
        case anchor_schema.FlexibleGridAnchorGenerator() as chosen:
            grids = [anchors.GridLevel(**all_keywords(grid)) for grid in chosen.anchor_grid]
            return anchors.FlexibleGridAnchors(
                anchor_grid=grids, normalize_coordinates=chosen.normalize_coordinates
            )
    raise _nothing("anchor_generator", "ssd_anchor_generator { aspect_ratios: 1.0 }")


def build_coder(config: coder_schema.BoxCoder) -> coding.Coder:
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


def build_matcher(config: matcher_schema.Matcher) -> AnchorMatcher:
    """Make the matcher; use_matmul_gather chooses an implementation for TPUs only."""
    match config.chosen("matcher_oneof"):
        case matcher_schema.ArgMaxMatcher() as chosen:
            return ArgmaxMatcher(**all_keywords(chosen, "use_matmul_gather"))
        case matcher_schema.BipartiteMatcher():
            return GreedyMatcher()
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


def _nothing(block: str, example: str) -> HoldfastError:
    return HoldfastError(f"{block} chooses nothing.", fix=f"Write {block} {{ {example} }}")
