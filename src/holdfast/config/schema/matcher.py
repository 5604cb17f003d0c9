"""Matching: which anchor learns which ground-truth box, and how likeness is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from holdfast.config.schema.message import Message, OneOfs


@dataclass(frozen=True, kw_only=True, repr=False)
class Matcher(Message):
    """Exactly one matcher."""

    oneofs: ClassVar[OneOfs] = {
        "matcher_oneof": (
            "argmax_matcher",
            "bipartite_matcher",
        ),
    }

    argmax_matcher: ArgMaxMatcher | None = None
    bipartite_matcher: BipartiteMatcher | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class ArgMaxMatcher(Message):
    """Each anchor takes its most similar box, if similar enough."""

    matched_threshold: float = 0.5
    unmatched_threshold: float = 0.5
    ignore_thresholds: bool = False
    negatives_lower_than_unmatched: bool = True
    force_match_for_each_row: bool = False
    use_matmul_gather: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class BipartiteMatcher(Message):
    """Greedy one-to-one matching."""

    use_matmul_gather: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class RegionSimilarityCalculator(Message):
    """Exactly one similarity of two boxes."""

    oneofs: ClassVar[OneOfs] = {
        "region_similarity": (
            "neg_sq_dist_similarity",
            "iou_similarity",
            "ioa_similarity",
            "thresholded_iou_similarity",
        ),
    }

    neg_sq_dist_similarity: NegSqDistSimilarity | None = None
    iou_similarity: IouSimilarity | None = None
    ioa_similarity: IoaSimilarity | None = None
    thresholded_iou_similarity: ThresholdedIouSimilarity | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class NegSqDistSimilarity(Message):
    """Minus the squared distance of the corners."""


@dataclass(frozen=True, kw_only=True, repr=False)
class IouSimilarity(Message):
    """Intersection over union."""


@dataclass(frozen=True, kw_only=True, repr=False)
class IoaSimilarity(Message):
    """Intersection over the area of the second box."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ThresholdedIouSimilarity(Message):
    """Intersection over union above a threshold; the score of the second box."""

    iou_threshold: float = 0.5
