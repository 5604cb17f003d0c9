"""Which keypoint on a heatmap belongs to which object: its regressed keypoints look for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from keras import ops

from holdfast.errors import HoldfastError
from holdfast.geometry.boxes import corners
from holdfast.geometry.heatmaps import box_deviations
from holdfast.geometry.highest import highest_index
from holdfast.geometry.tensor import Tensor

# B images, N objects, K keypoints, M candidates of each keypoint; all in cells of the map

Ranking = Literal[
    "min_distance", "score_distance_ratio", "score_scaled_distance_ratio", "gaussian_weighted"
]
RANKINGS: tuple[Ranking, ...] = get_args(Ranking)
_FAR = 1e5  # cells: farther than any candidate
_USUAL_OVERLAP = 0.7  # of the boxes that Gaussians for keypoints stand for


class Keypoints(NamedTuple):
    """The keypoints of objects."""

    points: Tensor  # float32 (B, N, K, 2)  y, x
    scores: Tensor  # float32 (B, N, K)


class KeypointCandidates(NamedTuple):
    """What the heatmaps of keypoints show, whomever it belongs to."""

    points: Tensor  # float32 (B, K, M, 2)
    scores: Tensor  # float32 (B, K, M)


@dataclass(frozen=True, kw_only=True)
class KeypointMatcher:
    """Replaces a regressed keypoint by the candidate that suits it best, if one is near enough.

    deviations (K) are those of the heatmaps' Gaussians, for the ranking gaussian_weighted.
    """

    ranking: Ranking = "min_distance"
    candidate_threshold: float = 0.1  # candidates of a lower score do not count
    unmatched_score: float = 0.1  # of a keypoint that stays where it was regressed
    box_scale: float = 1.2  # candidates lie in the object's box, made larger by this
    search_scale: float = 0.3  # how far from the regressed place, as a part of that box
    distance_offset: float = 1.0
    distance_multiplier: float = 0.1
    deviations: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.ranking not in RANKINGS:
            raise HoldfastError(
                f"There is no candidate_ranking_mode {self.ranking!r}.",
                fix=f"Use one of {', '.join(RANKINGS)}.",
            )

    def match(
        self, regressed: Tensor, candidates: KeypointCandidates, boxes: Tensor | None
    ) -> Keypoints:
        """Place the keypoints (B, N, K, 2) of objects with boxes (B, N, 4); None: without."""
        distances = self._distances(regressed, candidates)  # (B, N, K, M)
        ranks = self._ranks(distances, candidates, boxes)
        chosen = highest_index(ranks)  # (B, N, K)
        is_chosen = ops.one_hot(chosen, ops.shape(ranks)[-1])  # (B, N, K, M)
        points = ops.sum(is_chosen[..., None] * candidates.points[:, None], axis=-2)
        if self.ranking == "gaussian_weighted":
            scores = ops.max(ranks, axis=-1)
        else:
            scores = ops.sum(is_chosen * candidates.scores[:, None], axis=-1)
        is_unmatched = scores < self.candidate_threshold
        if boxes is not None:
            is_far = self._is_far(points, ops.min(distances, axis=-1), boxes)
            is_unmatched = ops.logical_or(is_unmatched, is_far)
        return Keypoints(
            ops.where(is_unmatched[..., None], regressed, points),
            ops.where(is_unmatched, self.unmatched_score, scores),
        )

    def _distances(self, regressed: Tensor, candidates: KeypointCandidates) -> Tensor:
        difference = regressed[..., None, :] - candidates.points[:, None]  # (B, N, K, M, 2)
        distances = ops.sqrt(ops.sum(difference * difference, axis=-1))
        counts = candidates.scores >= self.candidate_threshold  # (B, K, M)
        return ops.where(counts[:, None], distances, _FAR)

    def _ranks(
        self, distances: Tensor, candidates: KeypointCandidates, boxes: Tensor | None
    ) -> Tensor:
        scores = candidates.scores[:, None]
        if self.ranking == "min_distance":
            return -distances
        if self.ranking == "score_distance_ratio":
            return scores / (distances + self.distance_offset)
        if boxes is None:
            raise HoldfastError(
                f"candidate_ranking_mode {self.ranking!r} needs boxes.",
                fix="Add object_detection_task { }, or use score_distance_ratio.",
            )
        y_min, x_min, y_max, x_max = corners(boxes)
        if self.ranking == "score_scaled_distance_ratio":
            side = ops.maximum(y_max - y_min, x_max - x_min)  # (B, N)
            return scores / (distances + (side * self.distance_multiplier)[..., None, None])
        size = box_deviations(y_max - y_min, x_max - x_min, min_overlap=_USUAL_OVERLAP)
        deviation = size[..., None] * np.array(self.deviations, np.float32)  # (B, N, K)
        relative = distances / deviation[..., None]
        return scores * ops.exp(-0.5 * relative * relative)

    def _is_far(self, points: Tensor, nearest: Tensor, boxes: Tensor) -> Tensor:
        """Tell which candidates (B, N, K) are outside of their box, or too far away."""
        y_min, x_min, y_max, x_max = (each[..., None] for each in corners(boxes))  # (B, N, 1)
        y, x = (y_min + y_max) / 2.0, (x_min + x_max) / 2.0
        half_height = (y_max - y_min) / 2.0 * self.box_scale
        half_width = (x_max - x_min) / 2.0 * self.box_scale
        radius = 2.0 * ops.maximum(half_height, half_width) * self.search_scale
        is_outside = ops.logical_or(
            ops.abs(points[..., 0] - y) > half_height, ops.abs(points[..., 1] - x) > half_width
        )
        return ops.logical_or(is_outside, nearest > radius)
