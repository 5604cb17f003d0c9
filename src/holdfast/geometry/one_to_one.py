"""Matchers that give each ground-truth box exactly one anchor: greedy, and optimal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from keras import ops

from holdfast.errors import HoldfastError
from holdfast.geometry.matching import Matches, MatchState
from holdfast.geometry.overlap import Similarity, pairwise
from holdfast.geometry.tensor import Tensor

# B images, G boxes (rows), A anchors (columns); both matchers hold a matrix (B, G, A)


@dataclass(frozen=True, kw_only=True)
class BipartiteMatcher:
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


@dataclass(frozen=True, kw_only=True)
class HungarianMatcher:
    """Matches so that the sum of the similarities is the largest possible."""

    def match(
        self, anchors: Tensor, boxes: Tensor, weights: Tensor, similarity: Similarity
    ) -> Matches:
        """Match anchors (A, 4) or (B, A, 4) with boxes (B, G, 4) of weights (B, G)."""
        num_boxes, num_anchors = boxes.shape[1], anchors.shape[-2]
        if None not in (num_boxes, num_anchors) and num_boxes > num_anchors:
            raise HoldfastError(
                f"Optimal matching needs an anchor for each box, but there are {num_boxes} boxes "
                f"(padding included) and {num_anchors} anchors.",
                fix="Lower max_number_of_boxes.",
            )
        costs = -pairwise(similarity, boxes, anchors)  # (B, G, A)
        return _matches(ops.map(lambda image: _assign(*image), (costs, weights > 0.0)))


def _matches(owners: Tensor) -> Matches:
    is_owned = owners >= 0
    states = ops.where(is_owned, int(MatchState.POSITIVE), int(MatchState.NEGATIVE))
    return Matches(ops.where(is_owned, owners, 0), states)


class _Assignment(NamedTuple):
    """An optimal assignment of some rows; u + v <= cost everywhere, = where assigned."""

    u: Tensor  # float32 (G,)  the rows' part of the costs
    v: Tensor  # float32 (A,)  the columns' part of the costs
    owners: Tensor  # int32 (A,)  row of each column, or -1
    columns: Tensor  # int32 (G,)  column of each row, or -1


class _Tree(NamedTuple):
    """The cheapest ways from a new row to columns."""

    row: Tensor  # int32 ()  whose columns are looked at next
    distance: Tensor  # float32 ()  to that row
    distances: Tensor  # float32 (A,)
    path: Tensor  # int32 (A,)  the row from which each column was reached
    is_done: Tensor  # bool (A,)
    free_column: Tensor  # int32 ()  the nearest column without an owner, or -1


def _assign(costs: Tensor, is_row: Tensor) -> Tensor:
    """Give each row of costs (G, A) a column, at least total cost: owners int32 (A,).

    Shortest augmenting paths (Jonker and Volgenant 1987): rows enter one after the other.
    """
    num_rows, num_columns = ops.shape(costs)

    def enter(row: Tensor, *assigned: Tensor) -> tuple[Tensor, ...]:
        assignment = _Assignment(*assigned)
        entered = ops.cond(
            is_row[row],
            lambda: tuple(_enter(costs, row, assignment)),
            lambda: tuple(assignment),
        )
        return (row + 1, *entered)

    nothing = _Assignment(
        u=ops.zeros((num_rows,)),
        v=ops.zeros((num_columns,)),
        owners=ops.full((num_columns,), -1, dtype="int32"),
        columns=ops.full((num_rows,), -1, dtype="int32"),
    )
    _, *result = ops.while_loop(
        lambda row, *_: row < num_rows, enter, (ops.zeros((), "int32"), *nothing)
    )
    return _Assignment(*result).owners


def _enter(costs: Tensor, row: Tensor, assignment: _Assignment) -> _Assignment:
    """Assign one more row, moving others to new columns where that is cheaper."""
    num_rows, num_columns = ops.shape(costs)
    tree = _Tree(
        row=row,
        distance=ops.zeros(()),
        distances=ops.full((num_columns,), float("inf")),
        path=ops.full((num_columns,), -1, dtype="int32"),
        is_done=ops.zeros((num_columns,), dtype="bool"),
        free_column=ops.full((), -1, dtype="int32"),
    )
    tree = _Tree(
        *ops.while_loop(
            lambda *tree: _Tree(*tree).free_column < 0,
            lambda *tree: tuple(_grow(costs, assignment, _Tree(*tree))),
            tuple(tree),
        )
    )
    gain = ops.where(tree.is_done, tree.distance - tree.distances, 0.0)  # (A,)
    # A column without an owner gains nothing, so it may add to any row.
    rows = ops.maximum(assignment.owners, 0)
    new_row = ops.cast(ops.arange(num_rows, dtype="int32") == row, "float32")
    u = assignment.u + ops.segment_sum(gain, rows, num_segments=num_rows) + new_row * tree.distance
    return _augment(row, tree, assignment._replace(u=u, v=assignment.v - gain))


def _grow(costs: Tensor, assignment: _Assignment, tree: _Tree) -> _Tree:
    """Look at the columns of one row, and go on to the nearest column."""
    reduced = costs[tree.row] - assignment.u[tree.row] - assignment.v  # (A,) at least 0
    reached = tree.distance + reduced
    is_nearer = ops.logical_and(reached < tree.distances, ops.logical_not(tree.is_done))
    distances = ops.where(is_nearer, reached, tree.distances)
    column = ops.argmin(ops.where(tree.is_done, float("inf"), distances))
    column = ops.cast(column, "int32")
    owner = assignment.owners[column]
    positions = ops.arange(ops.shape(costs)[1], dtype="int32")
    return _Tree(
        row=ops.maximum(owner, 0),
        distance=distances[column],
        distances=distances,
        path=ops.where(is_nearer, tree.row, tree.path),
        is_done=ops.logical_or(tree.is_done, positions == column),
        free_column=ops.where(owner < 0, column, -1),
    )


def _augment(row: Tensor, tree: _Tree, assignment: _Assignment) -> _Assignment:
    """Walk back from the free column; each row on the way takes the column it was reached from."""
    row_positions = ops.arange(ops.shape(assignment.columns)[0], dtype="int32")
    column_positions = ops.arange(ops.shape(assignment.owners)[0], dtype="int32")

    def step(column: Tensor, owners: Tensor, columns: Tensor) -> tuple[Tensor, ...]:
        owner = tree.path[column]
        previous = columns[owner]
        owners = ops.where(column_positions == column, owner, owners)
        columns = ops.where(row_positions == owner, column, columns)
        return ops.where(owner == row, -1, previous), owners, columns

    _, owners, columns = ops.while_loop(
        lambda column, *_: column >= 0,
        step,
        (tree.free_column, assignment.owners, assignment.columns),
    )
    return assignment._replace(owners=owners, columns=columns)
