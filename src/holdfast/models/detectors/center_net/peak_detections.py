"""From heatmaps to the detections of an image: peaks, and what the other maps say there."""

from __future__ import annotations

from keras import ops

from holdfast.geometry.cells import cell_values
from holdfast.geometry.class_masks import cut_masks
from holdfast.geometry.gather import rows_at
from holdfast.geometry.peaks import Peaks, find_peaks
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.center_net.peak_keypoints import (
    found_keypoints,
    in_true_image,
    rescored,
)
from holdfast.models.detectors.center_net.prepared import STRIDE, CenterNetPredictions
from holdfast.models.detectors.center_net.tasks import MaskTask, Tasks
from holdfast.models.inference.detections import Detections, Suppression

# B images, N detections, C classes; maps of h x w cells


def peak_detections(
    tasks: Tasks,
    predictions: CenterNetPredictions,
    sizes: Tensor,
    suppression: Suppression | None,
) -> Detections:
    """Choose the detections; boxes, keypoints and masks are relative to the true image."""
    scores = ops.sigmoid(predictions.object_center[-1]) * _counted(predictions, sizes)
    peaks = find_peaks(
        scores, kernel_size=tasks.center.peak_kernel, count=tasks.center.max_detections
    )
    is_found = peaks.scores > 0.0  # (B, N)
    boxes = None if tasks.box is None else _boxes(predictions, peaks)  # in cells
    keypoints = None
    if tasks.keypoints:
        found = found_keypoints(tasks, predictions, peaks, boxes)
        keypoints = in_true_image(tasks, found, sizes)
    if boxes is not None:
        normalized = ops.clip(boxes * STRIDE / _true_sides(sizes), 0.0, 1.0)
    else:
        assert keypoints is not None  # a config without boxes has keypoints
        normalized = _around(keypoints.points)
    masks = None
    if tasks.mask is not None:
        masks = _masks(tasks.mask, predictions, peaks, normalized, sizes)
    detections = Detections(
        boxes=_kept(normalized, is_found),
        scores=peaks.scores,
        classes=_kept(peaks.channels, is_found),
        count=ops.sum(ops.cast(is_found, "int32"), axis=1),
        masks=None if masks is None else _kept(masks, is_found),
        keypoints=None if keypoints is None else _kept(keypoints.points, is_found),
        keypoint_scores=None if keypoints is None else _kept(keypoints.scores, is_found),
    )
    if suppression is not None:
        detections = _suppressed(suppression, detections, tasks.num_classes)
    return rescored(tasks, detections)


def _counted(predictions: CenterNetPredictions, sizes: Tensor) -> Tensor:
    """Give 1 in the cells that can be a center, (B, h, w, 1).

    The OD API compares cells with pixels, so that the margin of a padded image counts as well.
    """
    _, height, width, _ = ops.shape(predictions.object_center[-1])
    rows = ops.arange(height)[None, :] < sizes[:, 0, None]
    columns = ops.arange(width)[None, :] < sizes[:, 1, None]
    counted = ops.logical_and(rows[:, :, None], columns[:, None, :])
    return ops.cast(counted, "float32")[..., None]


def _boxes(predictions: CenterNetPredictions, peaks: Peaks) -> Tensor:
    """Give the boxes (B, N, 4) around peaks, in cells, clipped to the map."""
    _, height, width, _ = ops.shape(predictions.object_center[-1])
    size = ops.maximum(cell_values(predictions.box_scale[-1], peaks.cells), 0.0)  # (B, N, 2)
    offset = cell_values(predictions.box_offset[-1], peaks.cells)
    cell = ops.stack([peaks.cells // width, peaks.cells % width], axis=-1)
    center = ops.cast(cell, "float32") + offset
    limit = ops.stack([ops.cast(side, "float32") for side in (height, width)])
    corners = [center - size / 2.0, center + size / 2.0]
    return ops.concatenate([ops.clip(each, 0.0, limit) for each in corners], axis=-1)


def _around(points: Tensor) -> Tensor:
    """Give the boxes (B, N, 4) around keypoints (B, N, K, 2)."""
    return ops.concatenate([ops.min(points, axis=2), ops.max(points, axis=2)], axis=-1)


def _true_sides(sizes: Tensor) -> Tensor:
    """Give height, width, height, width of the images in pixels: (B, 1, 4)."""
    sides = ops.cast(sizes[:, :2], "float32")
    return ops.concatenate([sides, sides], axis=-1)[:, None, :]


def _masks(
    task: MaskTask,
    predictions: CenterNetPredictions,
    peaks: Peaks,
    boxes: Tensor,
    sizes: Tensor,
) -> Tensor:
    """Cut each detection's part out of the mask of its class: (B, N, mask height, width)."""
    logits = predictions.segmentation_heatmap[-1]
    sides = [ops.cast(side * STRIDE, "float32") for side in ops.shape(logits)[1:3]]
    in_input = boxes * _true_sides(sizes) / ops.stack([*sides, *sides])
    crops = cut_masks(ops.sigmoid(logits), in_input, peaks.channels, (task.height, task.width))
    return ops.cast(crops >= task.threshold, "float32")


def _suppressed(suppression: Suppression, detections: Detections, num_classes: int) -> Detections:
    """Leave out what another detection of its class covers."""
    of_class = ops.one_hot(detections.classes, num_classes)
    chosen = suppression.select(detections.boxes, of_class * detections.scores[..., None])
    is_found = ops.arange(suppression.max_total_detections)[None, :] < chosen.count[:, None]

    def of_chosen(values: Tensor | None) -> Tensor | None:
        return None if values is None else _kept(rows_at(values, chosen.indices), is_found)

    return Detections(
        boxes=chosen.boxes,
        scores=chosen.scores,
        classes=chosen.classes,
        count=chosen.count,
        masks=of_chosen(detections.masks),
        keypoints=of_chosen(detections.keypoints),
        keypoint_scores=of_chosen(detections.keypoint_scores),
    )


def _kept(values: Tensor, is_found: Tensor) -> Tensor:
    """Put zeros where nothing was found."""
    shaped = ops.reshape(is_found, (*ops.shape(is_found), *[1] * (len(values.shape) - 2)))
    return ops.where(shaped, values, ops.zeros_like(values))
