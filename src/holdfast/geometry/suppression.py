"""Non-maximum suppression: of boxes that overlap too much, the one with the best score stays.

Suppression goes in steps: candidates are chosen per class or by their best class, clipped to a
window, and the best of them kept. All shapes are fixed; equal scores keep the order class, box.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf
from keras import ops

from holdfast.geometry.boxes import area, clip_to_window, to_frame
from holdfast.geometry.gather import rows_at
from holdfast.geometry.highest import highest_index
from holdfast.geometry.tensor import Tensor

# B images, A boxes an image (anchors or proposals), C classes, N chosen boxes an image


class Candidates(NamedTuple):
    """Boxes that suppression left over, in fixed numbers."""

    boxes: Tensor  # float32 (B, N, 4)
    scores: Tensor  # float32 (B, N)
    classes: Tensor  # int32 (B, N)
    indices: Tensor  # int32 (B, N)  which of the A boxes
    is_kept: Tensor  # bool (B, N)  False: an empty place


class Selection(NamedTuple):
    """The best boxes of each image by falling score; zeros behind the last."""

    boxes: Tensor  # float32 (B, N, 4)
    scores: Tensor  # float32 (B, N)
    classes: Tensor  # int32 (B, N)
    indices: Tensor  # int32 (B, N)  which of the A boxes
    count: Tensor  # int32 (B,)


def suppress_per_class(
    boxes: Tensor,
    scores: Tensor,
    *,
    score_threshold: float,
    iou_threshold: float,
    max_per_class: int,
    soft_sigma: float = 0.0,
) -> Candidates:
    """Suppress the boxes of each class on their own; a box may stay for several classes.

    boxes are (B, A, 4), or (B, A, C, 4) where each class has its own; scores are (B, A, C). Only
    scores above score_threshold take part. With soft_sigma above 0 an overlapping box is not
    dropped, its score is lowered by exp(-iou**2 / (2 soft_sigma)) (Bodla et al. 2017).
    Gives C * max_per_class places.
    """
    own_boxes = boxes[:, :, None, :] if len(boxes.shape) == 3 else boxes  # (B, A, 1 or C, 4)
    chosen = _suppress(
        ops.transpose(own_boxes, (0, 2, 1, 3)),
        ops.transpose(scores, (0, 2, 1)),
        limit=max_per_class,
        iou_threshold=iou_threshold,
        score_threshold=score_threshold,
        soft_sigma=soft_sigma,
    )
    num_classes = scores.shape[-1]
    classes = ops.repeat(ops.arange(num_classes, dtype="int32"), max_per_class)[None, :]
    indices = ops.reshape(chosen.indices, (-1, num_classes * max_per_class))
    classes = ops.broadcast_to(classes, ops.shape(indices))
    return Candidates(
        boxes=_boxes_at(own_boxes, indices, classes),
        scores=ops.reshape(chosen.scores, (-1, num_classes * max_per_class)),
        classes=classes,
        indices=indices,
        is_kept=ops.reshape(chosen.is_kept, (-1, num_classes * max_per_class)),
    )


def suppress_by_best_class(
    boxes: Tensor,
    scores: Tensor,
    *,
    score_threshold: float,
    iou_threshold: float,
    max_total: int,
    soft_sigma: float = 0.0,
) -> Candidates:
    """Suppress boxes whatever their class; each box has the class of its best score.

    The arguments are those of suppress_per_class. Gives max_total places.
    """
    own_boxes = boxes[:, :, None, :] if len(boxes.shape) == 3 else boxes  # (B, A, 1 or C, 4)
    best_class = highest_index(scores)  # (B, A)
    every_box = ops.broadcast_to(
        ops.arange(ops.shape(scores)[1], dtype="int32")[None, :], ops.shape(best_class)
    )
    boxes = _boxes_at(own_boxes, every_box, best_class)  # (B, A, 4)
    chosen = suppress_per_class(
        boxes,
        ops.max(scores, axis=-1, keepdims=True),
        score_threshold=score_threshold,
        iou_threshold=iou_threshold,
        max_per_class=max_total,
        soft_sigma=soft_sigma,
    )
    return chosen._replace(classes=rows_at(best_class, chosen.indices))


def clip_candidates(candidates: Candidates, window: Tensor, *, change_frame: bool) -> Candidates:
    """Clip boxes to a window (B, 4) and drop those outside; change_frame makes it their frame.

    Negative scores are dropped too: they mean "no detection" to the OD API.
    """
    boxes = clip_to_window(candidates.boxes, window)
    is_detection = ops.logical_and(area(boxes) > 0.0, candidates.scores >= 0.0)
    return candidates._replace(
        boxes=to_frame(boxes, window) if change_frame else boxes,
        is_kept=ops.logical_and(candidates.is_kept, is_detection),
    )


def select_best(candidates: Candidates, max_total: int) -> Selection:
    """Keep the max_total best candidates of each image, by falling score."""
    missing = max(0, max_total - candidates.scores.shape[1])
    # An empty place must sort behind every score; scores may be logits.
    keys = ops.where(candidates.is_kept, candidates.scores, -float("inf"))
    keys = ops.pad(keys, [[0, 0], [0, missing]], constant_values=-float("inf"))
    _, order = ops.top_k(keys, max_total)  # (B, N); equal keys keep their order
    is_kept = rows_at(ops.pad(candidates.is_kept, [[0, 0], [0, missing]]), order)

    def best(values: Tensor) -> Tensor:
        rest = [[0, 0]] * (len(values.shape) - 2)
        rows = rows_at(ops.pad(values, [[0, 0], [0, missing], *rest]), order)
        mask = ops.reshape(is_kept, (-1, max_total, *[1] * len(rest)))
        return ops.where(mask, rows, ops.zeros_like(rows))

    return Selection(
        boxes=best(candidates.boxes),
        scores=best(candidates.scores),
        classes=best(candidates.classes),
        indices=best(candidates.indices),
        count=ops.sum(ops.cast(is_kept, "int32"), axis=1),
    )


class Order(NamedTuple):
    """Boxes that do not overlap too much, by falling score."""

    indices: Tensor  # int32 (..., N)
    scores: Tensor  # float32 (..., N)
    is_kept: Tensor  # bool (..., N)  False: an empty place


def greedy_order(
    boxes: Tensor, scores: Tensor, *, limit: int | Tensor, iou_threshold: float
) -> Order:
    """List boxes (B, A, 4) by falling scores (B, A), without those that overlap a better one.

    Gives (B, limit). An iou_threshold of 1 or more drops none.
    """
    if iou_threshold >= 1.0:
        best_scores, indices = ops.top_k(scores, limit)
        return Order(ops.cast(indices, "int32"), best_scores, ops.ones_like(indices, dtype="bool"))
    found = _suppress(
        boxes[:, None],
        scores[:, None],
        limit=limit,
        iou_threshold=iou_threshold,
        score_threshold=-float("inf"),
        soft_sigma=0.0,
    )
    return Order(*(values[:, 0] for values in found))


def _suppress(
    boxes: Tensor,
    scores: Tensor,
    *,
    limit: int | Tensor,
    iou_threshold: float,
    score_threshold: float,
    soft_sigma: float,
) -> Order:
    """Run the kernel for each image and class: boxes (B, 1 or C, A, 4), scores (B, C, A).

    Gives (B, C, limit). Loops over images and classes, which the kernel does not know.
    """
    num_classes = scores.shape[1]
    has_own_boxes = boxes.shape[1] > 1
    known_limit = limit if isinstance(limit, int) else None
    # The kernel has no gradient; without this, TensorFlow would look for one through the loop.
    boxes, scores = ops.stop_gradient(boxes), ops.stop_gradient(scores)

    def suppress_one(position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        image, column = position // num_classes, position % num_classes
        indices, kept_scores, count = tf.raw_ops.NonMaxSuppressionV5(
            boxes=boxes[image, column if has_own_boxes else 0],
            scores=scores[image, column],
            max_output_size=limit,
            iou_threshold=iou_threshold,
            score_threshold=score_threshold,
            soft_nms_sigma=soft_sigma,
            pad_to_max_output_size=True,
        )
        indices, kept_scores = (
            tf.ensure_shape(each, [known_limit]) for each in (indices, kept_scores)
        )
        return indices, kept_scores, count

    indices, kept_scores, counts = tf.map_fn(
        suppress_one,
        tf.range(tf.shape(scores)[0] * num_classes),
        fn_output_signature=(
            tf.TensorSpec([known_limit], tf.int32),
            tf.TensorSpec([known_limit], tf.float32),
            tf.TensorSpec([], tf.int32),
        ),
    )
    shape = (-1, num_classes, limit)
    is_kept = ops.arange(limit, dtype="int32") < counts[:, None]
    return Order(
        ops.reshape(indices, shape), ops.reshape(kept_scores, shape), ops.reshape(is_kept, shape)
    )


def _boxes_at(boxes: Tensor, indices: Tensor, classes: Tensor) -> Tensor:
    """Pick box and class (B, N) out of boxes (B, A, 1 or C, 4): (B, N, 4)."""
    per_box = boxes.shape[2]
    flat = ops.reshape(boxes, (-1, ops.shape(boxes)[1] * per_box, 4))
    return rows_at(flat, indices if per_box == 1 else indices * per_box + classes)
