"""Hard-example mining: only the anchors that cost most are trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keras import ops

from holdfast.geometry.gather import rows_at
from holdfast.geometry.matching import MatchState
from holdfast.geometry.suppression import greedy_order
from holdfast.geometry.tensor import Tensor

# B images, A anchors, N anchors that the order holds

RankedBy = Literal["BOTH", "CLASSIFICATION", "LOCALIZATION"]


@dataclass(frozen=True, kw_only=True)
class HardMiner:
    """Ranks anchors by their loss, and keeps positives and a few negatives for each of them.

    The num_hard_examples most costly anchors whose predicted boxes do not overlap a more costly one
    by more than iou_threshold are considered (Shrivastava et al. 2016); 0: all. Of these, an image
    keeps every positive, and its max_negatives_per_positive times as many most costly negatives,
    at least min_negatives_per_image (Liu et al. 2016); 0: all negatives.

    BOTH ranks by the two losses weighed by classification_weight and localization_weight.
    """

    num_hard_examples: int = 64
    iou_threshold: float = 0.7
    loss_type: RankedBy = "BOTH"
    max_negatives_per_positive: float = 0
    min_negatives_per_image: int = 0
    classification_weight: float = 1.0
    localization_weight: float = 1.0

    def select(
        self, classification_loss: Tensor, localization_loss: Tensor, boxes: Tensor, state: Tensor
    ) -> Tensor:
        """Say which anchors are trained, float32 (B, A) of 0 and 1; multiply both losses with it.

        The losses are (B, A), boxes the decoded predictions (B, A, 4), state the MatchState (B, A).
        """
        num_anchors = ops.shape(boxes)[1]  # a tensor where the image's size is not known yet
        order = greedy_order(
            boxes,
            self._ranking(classification_loss, localization_loss),
            limit=self._limit(num_anchors),
            iou_threshold=self.iou_threshold,
        )
        is_kept = order.is_kept
        if self.max_negatives_per_positive:
            ordered_state = rows_at(state, order.indices)  # (B, N)
            is_kept = ops.logical_and(is_kept, self._is_balanced(ordered_state, is_kept))
        return _scattered(is_kept, order.indices, num_anchors)

    def _limit(self, num_anchors: int | Tensor) -> int | Tensor:
        """Say how many to consider: more than there are where suppression pads the rest."""
        if not self.num_hard_examples:
            return num_anchors
        if isinstance(num_anchors, int):
            return min(self.num_hard_examples, num_anchors)
        suppresses = self.iou_threshold < 1.0
        return (
            self.num_hard_examples
            if suppresses
            else ops.minimum(self.num_hard_examples, num_anchors)
        )

    def _ranking(self, classification_loss: Tensor, localization_loss: Tensor) -> Tensor:
        match self.loss_type:
            case "CLASSIFICATION":
                return classification_loss
            case "LOCALIZATION":
                return localization_loss
            case "BOTH":
                return (
                    classification_loss * self.classification_weight
                    + localization_loss * self.localization_weight
                )

    def _is_balanced(self, state: Tensor, is_kept: Tensor) -> Tensor:
        """Keep the positives, and the first negatives up to their number; bool (B, N)."""
        is_positive = ops.logical_and(state == int(MatchState.POSITIVE), is_kept)
        is_negative = ops.logical_and(state == int(MatchState.NEGATIVE), is_kept)
        num_positives = ops.sum(ops.cast(is_positive, "float32"), axis=1, keepdims=True)
        max_negatives = ops.maximum(
            ops.floor(self.max_negatives_per_positive * num_positives),
            float(self.min_negatives_per_image),
        )
        num_negatives = ops.cumsum(ops.cast(is_negative, "float32"), axis=1)
        return ops.logical_or(is_positive, num_negatives <= max_negatives)


def _scattered(is_kept: Tensor, indices: Tensor, num_anchors: int | Tensor) -> Tensor:
    """Write is_kept (B, N) at the anchors that indices (B, N) name: float32 (B, num_anchors)."""
    batch = ops.shape(indices)[0]
    first = ops.arange(batch, dtype="int32")[:, None] * num_anchors
    kept = ops.segment_sum(
        ops.reshape(ops.cast(is_kept, "float32"), (-1,)),
        ops.reshape(indices + first, (-1,)),
        num_segments=batch * num_anchors,
    )
    return ops.reshape(kept, (-1, num_anchors))
