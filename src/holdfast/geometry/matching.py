"""Matching: which anchor learns which ground-truth box."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

from keras import ops

from holdfast.errors import HoldfastError
from holdfast.geometry.gather import rows_at
from holdfast.geometry.overlap import Similarity, pairwise
from holdfast.geometry.tensor import Tensor

# B images, A anchors, G ground-truth boxes (padded), K boxes compared at a time
# anchors (A, 4) or (B, A, 4), boxes (B, G, 4), weights (B, G)


class MatchState(IntEnum):
    """What an anchor is for the losses."""

    NEGATIVE = 0  # background
    POSITIVE = 1  # it learns the box it is matched with
    IGNORED = 2  # neither: it takes no part


class Matches(NamedTuple):
    """Which box each anchor learns."""

    box_index: Tensor  # int32 (B, A)  which ground-truth box, valid where state is POSITIVE
    state: Tensor  # int32 (B, A)  a MatchState


class AnchorMatcher(Protocol):
    """Matches anchors with ground-truth boxes; a box of weight 0 is never matched."""

    def match(
        self, anchors: Tensor, boxes: Tensor, weights: Tensor, similarity: Similarity
    ) -> Matches:
        """Match anchors (A, 4) or (B, A, 4) with boxes (B, G, 4) of weights (B, G)."""


@dataclass(frozen=True, kw_only=True)
class ArgmaxMatcher:
    """Each anchor takes its most similar box, if that is similar enough.

    Similar enough: at least matched_threshold, or any similarity with ignore_thresholds. Below,
    an anchor is negative under unmatched_threshold and ignored between the two; the other way round
    without negatives_lower_than_unmatched. force_match_for_each_row gives every box the anchor most
    similar to it, however dissimilar; where two boxes want one anchor, the first has it.

    A box of weight 0 with all corners 0 is padding. Any other box of weight 0 is a region nobody
    should learn from: anchors that it is most similar to, and enough, are ignored.
    """

    matched_threshold: float = 0.5
    unmatched_threshold: float = 0.5
    ignore_thresholds: bool = False
    negatives_lower_than_unmatched: bool = True
    force_match_for_each_row: bool = False

    def __post_init__(self) -> None:
        if self.ignore_thresholds:
            return
        if self.unmatched_threshold > self.matched_threshold:
            raise HoldfastError(
                f"unmatched_threshold ({self.unmatched_threshold:g}) is above matched_threshold "
                f"({self.matched_threshold:g}).",
                fix="Set it to at most matched_threshold.",
            )
        if (
            not self.negatives_lower_than_unmatched
            and self.unmatched_threshold == self.matched_threshold
        ):
            raise HoldfastError(
                "Without negatives_lower_than_unmatched, negatives lie between unmatched_threshold "
                f"and matched_threshold, but both are {self.matched_threshold:g}.",
                fix="Lower unmatched_threshold.",
            )

    def match(
        self, anchors: Tensor, boxes: Tensor, weights: Tensor, similarity: Similarity
    ) -> Matches:
        """Match anchors (A, 4) or (B, A, 4) with boxes (B, G, 4) of weights (B, G)."""
        best = _most_similar(anchors, boxes, weights, similarity)
        state = self._state(best.similarity)
        # An image without boxes is all background, whatever the thresholds say.
        state = ops.where(best.similarity == -float("inf"), int(MatchState.NEGATIVE), state)
        matches = _without_weightless(Matches(best.box_index, state), weights)
        if not self.force_match_for_each_row:
            return matches
        is_forced = best.forced_index >= 0
        return Matches(
            box_index=ops.where(is_forced, best.forced_index, matches.box_index),
            state=ops.where(is_forced, int(MatchState.POSITIVE), matches.state),
        )

    def _state(self, similarity: Tensor) -> Tensor:
        if self.ignore_thresholds:
            return ops.full_like(similarity, int(MatchState.POSITIVE), dtype="int32")
        below, between = int(MatchState.NEGATIVE), int(MatchState.IGNORED)
        if not self.negatives_lower_than_unmatched:
            below, between = between, below
        unmatched = ops.where(similarity < self.unmatched_threshold, below, between)
        return ops.where(similarity >= self.matched_threshold, int(MatchState.POSITIVE), unmatched)


def is_present(boxes: Tensor, weights: Tensor) -> Tensor:
    """Tell boxes from padding, bool (B, G): padding has weight 0 and all corners 0."""
    return ops.logical_or(weights > 0.0, ops.any(boxes != 0.0, axis=-1))


# So many boxes are compared with all anchors at once: memory does not grow with the number of
# boxes, and padding at the end costs no time.
BOXES_AT_A_TIME = 8


class _Best(NamedTuple):
    similarity: Tensor  # float32 (B, A)  of the most similar box, -inf without boxes
    box_index: Tensor  # int32 (B, A)  of the most similar box; the first of equals
    forced_index: Tensor  # int32 (B, A)  the first box whose most similar anchor this is, or -1


def _most_similar(anchors: Tensor, boxes: Tensor, weights: Tensor, similarity: Similarity) -> _Best:
    present = is_present(boxes, weights)
    counted = weights > 0.0
    batch, num_boxes = ops.shape(boxes)[0], ops.shape(boxes)[1]
    num_anchors = ops.shape(anchors)[-2]
    positions = ops.arange(num_boxes, dtype="int32")
    in_use = ops.max(ops.where(present, positions + 1, 0), initial=0)

    def look_at_more(start: Tensor, *best: Tensor) -> tuple[Tensor, ...]:
        index = start + ops.arange(BOXES_AT_A_TIME, dtype="int32")  # (K,)
        exists = index < num_boxes
        index = ops.minimum(index, num_boxes - 1)
        some = _compare(
            anchors,
            ops.take(boxes, index, axis=1),
            ops.logical_and(ops.take(present, index, axis=1), exists),
            ops.logical_and(ops.take(counted, index, axis=1), exists),
            similarity,
        )
        return (start + BOXES_AT_A_TIME, *_better(_Best(*best), some, start))

    best = _Best(
        similarity=ops.full((batch, num_anchors), -float("inf"), dtype="float32"),
        box_index=ops.zeros((batch, num_anchors), dtype="int32"),
        forced_index=ops.full((batch, num_anchors), -1, dtype="int32"),
    )
    start = ops.zeros((), dtype="int32")
    _, *found = ops.while_loop(lambda start, *best: start < in_use, look_at_more, (start, *best))
    return _Best(*found)


def _compare(
    anchors: Tensor, boxes: Tensor, present: Tensor, counted: Tensor, similarity: Similarity
) -> _Best:
    values = pairwise(similarity, boxes, anchors)  # (B, K, A)
    values = ops.where(present[..., None], values, -float("inf"))
    anchor_index = _argmax(values, axis=2)  # (B, K)
    columns = ops.arange(ops.shape(anchors)[-2], dtype="int32")
    wants = ops.logical_and(anchor_index[..., None] == columns, counted[..., None])  # (B, K, A)
    return _Best(
        similarity=ops.max(values, axis=1),
        box_index=_argmax(values, axis=1),
        forced_index=ops.where(ops.any(wants, axis=1), _argmax(wants, axis=1), -1),
    )


def _argmax(values: Tensor, axis: int) -> Tensor:
    """Give the first of the largest, int32; ops.argmax of floats would copy them twice."""
    is_largest = values == ops.max(values, axis=axis, keepdims=True)
    return ops.cast(ops.argmax(ops.cast(is_largest, "int8"), axis=axis), "int32")


def _better(best: _Best, some: _Best, start: Tensor) -> _Best:
    """Merge what later boxes give; equals go to the earlier box."""
    is_better = some.similarity > best.similarity
    is_new = ops.logical_and(best.forced_index < 0, some.forced_index >= 0)
    return _Best(
        similarity=ops.maximum(some.similarity, best.similarity),
        box_index=ops.where(is_better, some.box_index + start, best.box_index),
        forced_index=ops.where(is_new, some.forced_index + start, best.forced_index),
    )


def _without_weightless(matches: Matches, weights: Tensor) -> Matches:
    """Ignore anchors whose box has weight 0."""
    padded = ops.pad(weights, [[0, 0], [0, 1]])  # so that there is a row to look at without boxes
    is_weightless = ops.logical_and(
        rows_at(padded, matches.box_index) == 0.0, matches.state == int(MatchState.POSITIVE)
    )
    return matches._replace(state=ops.where(is_weightless, int(MatchState.IGNORED), matches.state))
