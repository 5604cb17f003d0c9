"""What CenterNet has to learn of an image: heatmaps, and numbers at single cells of the map."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from keras import ops

from holdfast.geometry.boxes import to_center_form
from holdfast.geometry.cells import near_cells
from holdfast.geometry.heatmaps import (
    box_deviations,
    center_heatmaps,
    keypoint_heatmaps,
    outside_of_boxes,
)
from holdfast.geometry.tensor import Tensor

# B images, G boxes (padded with weight 0), K keypoints of a task, C classes
# maps of h x w cells; boxes and points are in cells

_USUAL_OVERLAP = 0.7  # of the boxes that the Gaussians of keypoints stand for
_NO_WEIGHT = 1e-3  # below which a keypoint is not labeled
MapShape = tuple[Tensor, Tensor]  # h, w


class BoxTargets(NamedTuple):
    """What is to be predicted in the cell of each box's center."""

    cells: Tensor  # int32 (B, G)  row by row
    sizes: Tensor  # float32 (B, G, 2)  height, width in cells
    offsets: Tensor  # float32 (B, G, 2)  of the center from the cell's corner


class PointTargets(NamedTuple):
    """Where keypoints are, from cells around them or around their object's center."""

    rows: Tensor  # int32 (B, P)  of predictions as (B, h x w x channels, 2)
    offsets: Tensor  # float32 (B, P, 2)  y, x from the cell's corner
    weights: Tensor  # float32 (B, P)


class KeypointTargets(NamedTuple):
    """What a task of keypoints has to learn."""

    heatmaps: Tensor  # float32 (B, h, w, K)
    heatmap_weights: Tensor  # uint8 (B, h, w, K)  0 in objects of which the keypoint is unlabeled
    keypoint_weights: Tensor  # float32 (B, G, K)
    offsets: PointTargets
    regressions: PointTargets


class LabeledKeypoints(NamedTuple):
    """The keypoints of a task."""

    points: Tensor  # float32 (B, G, K, 2)  0 where unlabeled
    weights: Tensor  # float32 (B, G, K)  0 where unlabeled, or of another class


def center_maps(
    boxes: Tensor,
    classes: Tensor,
    weights: Tensor,
    shape: MapShape,
    *,
    num_classes: int,
    min_overlap: float,
) -> Tensor:
    """Draw the centers of boxes (B, G, 4): (B, h, w, C)."""
    center = to_center_form(boxes)
    deviations = box_deviations(center.height, center.width, min_overlap=min_overlap)
    points = ops.stack([center.y, center.x], axis=-1)
    return center_heatmaps(points, deviations, classes, weights, shape, num_classes)


def center_maps_of_keypoints(
    keypoints: LabeledKeypoints,
    classes: Tensor,
    weights: Tensor,
    shape: MapShape,
    *,
    num_classes: int,
    min_overlap: float,
    keypoint_weights: tuple[float, ...],
) -> Tensor:
    """Draw the weighted means of keypoints instead: (B, h, w, C).

    The Gaussian is that of a square box whose half side is the keypoints' mean distance from it.
    """
    shares = keypoints.weights * np.array(keypoint_weights, np.float32)  # (B, G, K)
    total = ops.sum(shares, axis=-1)  # (B, G)
    divisor = ops.where(total > 0.0, total, 1.0)
    mean = ops.sum(keypoints.points * shares[..., None], axis=2) / divisor[..., None]  # (B, G, 2)
    difference = keypoints.points - mean[:, :, None]
    distance = ops.sqrt(ops.sum(difference * difference, axis=-1))  # (B, G, K)
    side = 2.0 * ops.sum(distance * shares, axis=-1) / divisor
    deviations = box_deviations(side, side, min_overlap=min_overlap)
    present = ops.where(total > 0.0, weights, 0.0)
    return center_heatmaps(mean, deviations, classes, present, shape, num_classes)


def box_targets(boxes: Tensor, shape: MapShape) -> BoxTargets:
    """Say what the cells at the centers of boxes (B, G, 4) have to predict."""
    center = to_center_form(boxes)
    height, width = (ops.cast(side, "float32") for side in shape)
    points = ops.stack([center.y, center.x], axis=-1)
    # A box of no size at the very end of the map still has a cell.
    inside = ops.stack(
        [ops.minimum(center.y, height - 0.5), ops.minimum(center.x, width - 0.5)], axis=-1
    )
    around = near_cells(inside, shape)
    return BoxTargets(
        cells=around.cells[:, :, 0],
        sizes=ops.stack([center.height, center.width], axis=-1),
        offsets=points - around.corners[:, :, 0],
    )


def labeled_keypoints(
    keypoints: Tensor,
    classes: Tensor,
    weights: Tensor,
    *,
    scale: Tensor,
    class_index: int,
    chosen: tuple[int, ...],
) -> LabeledKeypoints:
    """Pick the keypoints of one task from all (B, G, all, 2), and write them in cells.

    scale (2): cells of the whole input. chosen: which of all are the task's. Keypoints of other
    classes, and those that are NaN, weigh nothing.
    """
    points = ops.take(keypoints, np.array(chosen, np.int32), axis=2)  # (B, G, K, 2)
    is_labeled = ops.logical_not(ops.isnan(points))
    of_class = ops.cast(classes == class_index, "float32") * weights  # (B, G)
    return LabeledKeypoints(
        points=ops.where(is_labeled, points, 0.0) * scale,
        weights=ops.cast(is_labeled[..., 0], "float32") * of_class[..., None],
    )


def keypoint_targets(
    keypoints: LabeledKeypoints,
    boxes: Tensor,
    shape: MapShape,
    *,
    deviations: tuple[float, ...],
    radius: int,
    is_offset_per_keypoint: bool,
) -> KeypointTargets:
    """Say what a task has to learn from keypoints of objects with boxes (B, G, 4).

    deviations (K): of the Gaussians, relative to that of the box. radius: up to how many cells away
    offsets and regressions are learned.
    """
    center = to_center_form(boxes)
    of_box = box_deviations(center.height, center.width, min_overlap=_USUAL_OVERLAP)  # (B, G)
    spread = of_box[..., None] * np.array(deviations, np.float32)  # (B, G, K)
    points, weights = keypoints
    centers = ops.stack([center.y, center.x], axis=-1)[:, :, None, :]
    return KeypointTargets(
        heatmaps=keypoint_heatmaps(points, spread, weights, shape),
        heatmap_weights=outside_of_boxes(boxes, weights < _NO_WEIGHT, shape),
        keypoint_weights=weights,
        offsets=_points_around(points, keypoints, shape, radius, is_offset_per_keypoint),
        regressions=_points_around(
            ops.broadcast_to(centers, ops.shape(points)), keypoints, shape, radius, True
        ),
    )


def _points_around(
    places: Tensor, keypoints: LabeledKeypoints, shape: MapShape, radius: int, per_keypoint: bool
) -> PointTargets:
    """Say where keypoints are, seen from the cells around places (B, G, K, 2)."""
    batch, num_boxes, num_keypoints, _ = ops.shape(places)
    flat = (batch, num_boxes * num_keypoints)
    around = near_cells(ops.reshape(places, (*flat, 2)), shape, radius)
    offsets = ops.reshape(keypoints.points, (*flat, 1, 2)) - around.corners  # (B, G x K, R, 2)
    weights = ops.reshape(keypoints.weights, (*flat, 1)) * ops.cast(around.is_inside, "float32")
    rows = around.cells
    if per_keypoint:
        which = ops.tile(ops.arange(num_keypoints, dtype="int32"), [num_boxes])
        rows = rows * num_keypoints + which[None, :, None]
    return PointTargets(
        rows=ops.reshape(rows, (batch, -1)),
        offsets=ops.reshape(offsets, (batch, -1, 2)),
        weights=ops.reshape(weights, (batch, -1)),
    )
