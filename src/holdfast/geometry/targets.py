"""What each anchor of a single-stage detector has to learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from keras import ops

from holdfast.geometry.coding import Coder
from holdfast.geometry.gather import rows_at
from holdfast.geometry.matching import AnchorMatcher, Matches, MatchState
from holdfast.geometry.overlap import Similarity
from holdfast.geometry.tensor import Tensor

# B images, A anchors, G ground-truth boxes (padded with weight 0), C classes, D numbers in a code

# The class of an anchor without a box, and the column of a target that is all zeros.
BACKGROUND = -1


class Targets(NamedTuple):
    """Class and box that each anchor learns, and how much each counts."""

    matches: Matches
    classes: Tensor  # int32 (B, A)  0-based; BACKGROUND where state is not POSITIVE
    class_weights: Tensor  # float32 (B, A)  0 where ignored
    box_targets: Tensor  # float32 (B, A, D)  0 where state is not POSITIVE
    box_weights: Tensor  # float32 (B, A)  0 where state is not POSITIVE


class ConfidenceTargets(NamedTuple):
    """What anchors learn from boxes that are sure to some degree to show their class, or not to."""

    matches: Matches
    class_targets: Tensor  # float32 (B, A, columns)
    class_weights: Tensor  # float32 (B, A, columns)
    box_targets: Tensor  # float32 (B, A, D)
    box_weights: Tensor  # float32 (B, A)


@dataclass(frozen=True, kw_only=True)
class AnchorAssigner:
    """Matches anchors with the ground truth and says what each learns.

    boxes are (B, G, 4), classes int32 (B, G) and weights (B, G); G may be 0. An anchor counts as
    much as its box, a background anchor negative_class_weight, an ignored anchor nothing.
    """

    similarity: Similarity
    matcher: AnchorMatcher
    coder: Coder
    negative_class_weight: float = 1.0

    def assign(
        self,
        anchors: Tensor,
        boxes: Tensor,
        classes: Tensor,
        weights: Tensor,
    ) -> Targets:
        """Assign targets to anchors (A, 4), or (B, A, 4)."""
        anchors = ops.stop_gradient(ops.convert_to_tensor(anchors, "float32"))
        matches = self.matcher.match(anchors, boxes, weights, self.similarity)
        is_positive = matches.state == int(MatchState.POSITIVE)
        is_negative = matches.state == int(MatchState.NEGATIVE)
        box_weights = _of_matched(weights, matches)
        codes = self.coder.encode(_of_matched(boxes, matches), anchors)
        return Targets(
            matches=matches,
            classes=ops.where(is_positive, _of_matched(classes, matches), BACKGROUND),
            class_weights=ops.where(is_negative, self.negative_class_weight, box_weights),
            box_targets=ops.where(is_positive[..., None], codes, 0.0),
            box_weights=box_weights,
        )

    def assign_confidences(
        self,
        anchors: Tensor,
        boxes: Tensor,
        classes: Tensor,
        weights: Tensor,
        confidences: Tensor,
        *,
        num_classes: int,
        has_background_column: bool = True,
        implicit_class_weight: float = 1.0,
    ) -> ConfidenceTargets:
        """Assign targets to anchors, with the confidences (B, G) of the boxes as class targets.

        A positive confidence says that the box shows its class, a negative one that it does not:
        both count 1. All other classes of all anchors count implicit_class_weight, also where an
        anchor is ignored. Boxes are learned where the confidence is positive; their weights only
        decide what is matched.
        """
        learned = self.assign(anchors, boxes, classes, weights)
        confidence = _of_matched(confidences, learned.matches)  # (B, A)
        is_sure = ops.cast(confidence > 0.0, "float32")
        one_hot = ops.one_hot(learned.classes, num_classes, dtype="float32")  # (B, A, C)
        class_targets = one_hot * ops.maximum(confidence, 0.0)[..., None]
        is_explicit = one_hot * ops.cast(confidence != 0.0, "float32")[..., None]
        if has_background_column:
            class_targets = ops.concatenate([1.0 - is_sure[..., None], class_targets], axis=-1)
            is_explicit = ops.concatenate([is_sure[..., None], is_explicit], axis=-1)
        return ConfidenceTargets(
            matches=learned.matches,
            class_targets=class_targets,
            class_weights=implicit_class_weight + (1.0 - implicit_class_weight) * is_explicit,
            box_targets=learned.box_targets * is_sure[..., None],
            box_weights=is_sure,
        )


def target_columns(
    classes: Tensor, *, has_background_column: bool, background_as_zeros: bool
) -> Tensor:
    """Say which column of the class predictions should be 1, int32 (B, A); BACKGROUND for none.

    A network with a background column has it in front. Background is that column, or no column at
    all when it is encoded as zeros.

    >>> columns = target_columns(
    ...     ops.array([BACKGROUND, 0, 4]), has_background_column=True, background_as_zeros=False
    ... )
    >>> columns.numpy().tolist()
    [0, 1, 5]
    """
    columns = classes + 1 if has_background_column else classes
    background = BACKGROUND if background_as_zeros else 0
    return ops.where(classes == BACKGROUND, background, columns)


def _of_matched(rows: Tensor, matches: Matches) -> Tensor:
    """Pick the row of each positive anchor's box out of rows (B, G, ...); zeros for the others."""
    # Row 0 stands for "no box", so that there is a row to pick even when G is 0.
    padded = ops.pad(rows, [[0, 0], [1, 0], *[[0, 0]] * (len(rows.shape) - 2)])
    is_positive = matches.state == int(MatchState.POSITIVE)
    return rows_at(padded, ops.where(is_positive, matches.box_index + 1, 0))
