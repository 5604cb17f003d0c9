"""The keypoints of detections: regressed from their centers, then placed on peaks nearby."""

from __future__ import annotations

import numpy as np
from keras import ops

from holdfast.geometry.boxes import corners
from holdfast.geometry.cells import cell_values
from holdfast.geometry.gather import rows_at
from holdfast.geometry.highest import highest_index
from holdfast.geometry.keypoint_matching import KeypointCandidates, Keypoints
from holdfast.geometry.one_by_one import one_by_one
from holdfast.geometry.peaks import Peaks, find_channel_peaks
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.center_net.prepared import (
    STRIDE,
    CenterNetPredictions,
    KeypointMaps,
)
from holdfast.models.detectors.center_net.tasks import KeypointTask, Tasks
from holdfast.models.inference.detections import Detections

# B images, N detections, K keypoints of a task, M candidates of each; maps of h x w cells


def found_keypoints(
    tasks: Tasks, predictions: CenterNetPredictions, peaks: Peaks, boxes: Tensor | None
) -> Keypoints:
    """Give the keypoints of all tasks, in cells; those of other classes' tasks are 0.

    boxes (B, N, 4) are in cells; None: the config has no task of boxes.
    """
    total = sum(len(task.chosen) for task in tasks.keypoints)
    points, scores = [], []
    for task, maps in zip(tasks.keypoints, predictions.keypoints, strict=True):
        find = _highest_cells if task.takes_highest else _matched
        found = find(task, maps, peaks, boxes)
        is_of_class = ops.cast(peaks.channels == task.class_index, "float32")[..., None]
        # A task of its own may leave out keypoints of the data: then its are all there are.
        places = task.chosen if max(task.chosen) < total else range(total)
        spread = np.eye(total, dtype=np.float32)[list(places)]  # (K, total)
        points.append(ops.einsum("bnkc,kt->bntc", found.points * is_of_class[..., None], spread))
        scores.append(ops.matmul(found.scores * is_of_class, spread))
    return Keypoints(sum(points[1:], start=points[0]), sum(scores[1:], start=scores[0]))


def in_true_image(tasks: Tasks, keypoints: Keypoints, sizes: Tensor) -> Keypoints:
    """Normalize keypoints to the true image; where all tasks say so, clip them to it."""
    sides = ops.cast(sizes[:, None, None, :2], "float32")
    points = keypoints.points * STRIDE / sides
    if not all(task.clips for task in tasks.keypoints):
        return Keypoints(points, keypoints.scores)
    is_inside = ops.all(ops.logical_and(points >= 0.0, points <= 1.0), axis=-1)
    return Keypoints(ops.clip(points, 0.0, 1.0), ops.where(is_inside, keypoints.scores, 0.0))


def rescored(tasks: Tasks, detections: Detections) -> Detections:
    """Multiply the scores of detections by the mean score of their visible keypoints."""
    scores = detections.scores
    keypoint_scores = detections.keypoint_scores  # (B, N, all)
    for task in tasks.keypoints:
        if task.rescores:
            total = keypoint_scores.shape[-1]
            is_own = np.isin(np.arange(total), task.chosen).astype(np.float32)
            is_visible = ops.cast(keypoint_scores > task.rescoring_threshold, "float32")
            keypoint_scores = keypoint_scores * is_visible
            count = ops.maximum(ops.sum(is_visible * is_own, axis=-1), 1.0)
            mean = ops.sum(keypoint_scores * is_own, axis=-1) / count
            is_of_class = detections.classes == task.class_index
            scores = ops.where(is_of_class, scores * mean, scores)
    return detections._replace(scores=scores)


def _matched(
    task: KeypointTask, maps: KeypointMaps, peaks: Peaks, boxes: Tensor | None
) -> Keypoints:
    return task.matcher.match(_regressed(maps, peaks), _candidates(task, maps), boxes)


def _regressed(maps: KeypointMaps, peaks: Peaks) -> Tensor:
    """Give where keypoints are, seen from the centers: (B, N, K, 2) in cells."""
    found = cell_values(maps.regression[-1], peaks.cells)  # (B, N, 2 x K)
    batch, count, channels = ops.shape(found)
    offsets = ops.reshape(found, (batch, count, channels // 2, 2))
    return offsets + _corners(peaks.cells, maps.regression[-1])[:, :, None, :]


def _candidates(task: KeypointTask, maps: KeypointMaps) -> KeypointCandidates:
    """Take the highest peaks of each keypoint's heatmap."""
    heatmap, offset = maps.heatmap[-1], maps.offset[-1]
    peaks = find_channel_peaks(
        ops.sigmoid(heatmap), kernel_size=task.peak_kernel, count=task.num_candidates
    )
    return KeypointCandidates(
        points=_offsets_at(task, offset, peaks.cells) + _corners(peaks.cells, heatmap),
        scores=peaks.scores,
    )


def _offsets_at(task: KeypointTask, offset: Tensor, cells: Tensor) -> Tensor:
    """Give the offsets (B, K, M, 2) of keypoints at cells (B, K, M)."""
    batch, num_keypoints, count = ops.shape(cells)
    rows = cells
    if task.is_offset_per_keypoint:
        rows = rows * num_keypoints + ops.arange(num_keypoints, dtype="int32")[None, :, None]
    pairs = ops.reshape(offset, (batch, -1, 2))
    found = rows_at(pairs, ops.reshape(rows, (batch, num_keypoints * count)))
    return ops.reshape(found, (batch, num_keypoints, count, 2))


def _corners(cells: Tensor, of_map: Tensor) -> Tensor:
    """Give y, x (..., 2) of cells (...) that are counted row by row."""
    width = ops.shape(of_map)[2]
    return ops.cast(ops.stack([cells // width, cells % width], axis=-1), "float32")


def _highest_cells(
    task: KeypointTask, maps: KeypointMaps, peaks: Peaks, boxes: Tensor | None
) -> Keypoints:
    """Take the highest cell in the box, where nearness to the regressed place counts as well.

    A heatmap of all detections is their maximum in each cell: detections are looked at one after
    the other, twice, so that no map of each of them is kept.
    """
    heat = ops.sigmoid(maps.heatmap[-1])  # (B, h, w, K)
    regressed = _regressed(maps, peaks)  # (B, N, K, 2)
    batch, height, width, num_keypoints = ops.shape(heat)

    def weighed(place: Tensor, box: Tensor) -> Tensor:
        return heat * _near(place, box, (height, width), task.nearness)

    def highest_cell(of_detection: tuple[Tensor, Tensor]) -> Tensor:
        flat = ops.reshape(weighed(*of_detection), (batch, height * width, num_keypoints))
        return ops.cast(highest_index(flat, axis=1), "float32")  # (B, K)

    def add_detection(number: Tensor, highest: Tensor) -> tuple[Tensor, Tensor]:
        own = weighed(*(ops.take(each, number, axis=0) for each in by_detection))
        return number + 1, ops.maximum(highest, own)

    by_detection = (ops.swapaxes(regressed, 0, 1), ops.swapaxes(boxes, 0, 1))
    count = ops.shape(regressed)[1]
    start = (ops.zeros((), "int32"), ops.zeros_like(heat))
    _, highest = ops.while_loop(lambda number, _: number < count, add_detection, start)
    cells = one_by_one(highest_cell, by_detection, (batch, num_keypoints))  # (N, B, K)
    cells = ops.cast(ops.transpose(cells, (1, 2, 0)), "int32")  # (B, K, N)
    points = _offsets_at(task, maps.offset[-1], cells) + _corners(cells, heat)
    flat = ops.reshape(highest, (batch, height * width, num_keypoints))
    scores = ops.take_along_axis(ops.transpose(flat, (0, 2, 1)), cells, axis=-1)  # (B, K, N)
    return Keypoints(ops.transpose(points, (0, 2, 1, 3)), ops.transpose(scores, (0, 2, 1)))


def _near(
    regressed: Tensor, boxes: Tensor, shape: tuple[Tensor, Tensor], nearness: float
) -> Tensor:
    """Weigh the cells (B, h, w, K) by their distance from points (B, K, 2), 0 outside of boxes."""
    height, width = shape
    y = ops.arange(height, dtype="float32")[None, :, None]  # (1, h, 1)
    x = ops.arange(width, dtype="float32")[None, :, None]
    spread = ops.cast(ops.minimum(height, width), "float32") * nearness
    rows = ops.exp(-((y - regressed[:, None, :, 0]) ** 2) / spread)  # (B, h, K)
    columns = ops.exp(-((x - regressed[:, None, :, 1]) ** 2) / spread)  # (B, w, K)
    y_min, x_min, y_max, x_max = (each[:, None, None] for each in corners(boxes))
    rows = ops.where(ops.logical_and(y >= y_min, y < y_max), rows, 0.0)
    columns = ops.where(ops.logical_and(x >= x_min, x < x_max), columns, 0.0)
    return rows[:, :, None, :] * columns[:, None, :, :]
