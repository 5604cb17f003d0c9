"""A matcher that gives each ground-truth box exactly one anchor, the most similar pair first."""

from __future__ import annotations

from dataclasses import dataclass

from keras import ops

from holdfast.geometry.matching import Matches, MatchState
from holdfast.geometry.overlap import Similarity, pairwise
from holdfast.geometry.tensor import Tensor

# B images, G boxes (rows), A anchors (columns)


@dataclass(frozen=True, kw_only=True)
class GreedyMatcher:
    """Matches the most similar pair of all, then the most similar of the rest, and so on."""

    def match(
        self, anchors: Tensor, boxes: Tensor, weights: Tensor, similarity: Similarity
    ) -> Matches:
        """Match anchors (A, 4) or (B, A, 4) with boxes (B, G, 4) of weights (B, G)."""
        values = pairwise(similarity, boxes, anchors)  # (B, G, A)
        values = ops.where((weights > 0.0)[..., None], values, -float("inf"))
        batch, num_rows, num_columns = ops.shape(values)
        rows = ops.arange(num_rows, dtype="int32")
        columns = ops.arange(num_columns, dtype="int32")

        def match_best(step: Tensor, values: Tensor, owners: Tensor) -> tuple[Tensor, ...]:
            flat = ops.reshape(values, (batch, num_rows * num_columns))
            best = ops.cast(ops.argmax(flat, axis=1), "int32")[:, None]  # (B, 1)
            exists = ops.max(flat, axis=1, keepdims=True) > -float("inf")
            is_column = ops.logical_and(best % num_columns == columns, exists)  # (B, A)
            is_row = ops.logical_and(best // num_columns == rows, exists)  # (B, G)
            is_taken = ops.logical_or(is_row[:, :, None], is_column[:, None, :])
            owners = ops.where(is_column, best // num_columns, owners)
            return step + 1, ops.where(is_taken, -float("inf"), values), owners

        steps = ops.max(ops.sum(ops.cast(weights > 0.0, "int32"), axis=1), initial=0)
        nobody = ops.full((batch, num_columns), -1, dtype="int32")
        _, _, owners = ops.while_loop(
            lambda step, *_: step < steps, match_best, (ops.zeros((), "int32"), values, nobody)
        )
        return _matches(owners)


def _matches(owners: Tensor) -> Matches:
    is_owned = owners >= 0
    states = ops.where(is_owned, int(MatchState.POSITIVE), int(MatchState.NEGATIVE))
    return Matches(ops.where(is_owned, owners, 0), states)
