"""Compare what an export finds with what its detector finds, as sets of objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.geometry.overlap import iou, pairwise

# N, M objects of one image

_SURE = 0.5  # least score of an object that is sure
_SAME_PLACE = 1e-4  # of the image's side

Found = Mapping[str, NDArray[Any]]  # outputs of one image by the OD API's names, without batch


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """How far an export may be from its detector."""

    score: float = 1e-3
    iou: float = 0.99
    sure_iou: float = 0.99  # of objects at anchors that the detector is sure of
    mask_iou: float = 0.98
    keypoint: float = 1e-3  # of the image's side
    least_keypoint_score: float = 0.0  # keypoints below it are guesses, and are not compared
    least_score: float = 0.0  # what the detector does not give below
    # An object that one of the two finds alone is not missed if the other has one of its class that
    # overlaps it by more than this: of boxes as good as each other, suppression keeps either.
    covered_iou: float = 1.0
    # Scores of two objects at anchors are compared where their boxes overlap by this. Less, and
    # suppression kept another box of the object: the scores before it say how far they are off.
    same_box_iou: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ExportComparison:
    """How far an export is from its detector, over all images."""

    images: int
    objects: int  # that the detector finds
    largest_score_difference: float = 0.0
    smallest_iou: float = 1.0
    # Of objects whose score is above 0.5: suppression does not hesitate between their boxes. None
    # where there are no anchors: a CenterNet's boxes are rounded by steps of the largest one.
    smallest_sure_iou: float | None = None
    smallest_mask_iou: float | None = None
    largest_keypoint_distance: float | None = None  # of the image's side
    unmatched: int = 0  # found by one of the two only
    # Of every box that suppression chose from. Of a second stage only where nothing is found: which
    # regions it looks at may hang on scores that are equal.
    largest_raw_score_difference: float | None = None

    def is_within(self, tolerance: Tolerance) -> bool:
        """Tell whether the export finds the same."""
        masks, points = self.smallest_mask_iou, self.largest_keypoint_distance
        raw, sure = self.largest_raw_score_difference, self.smallest_sure_iou
        return (
            not self.unmatched
            and self.largest_score_difference <= tolerance.score
            and self.smallest_iou >= tolerance.iou
            and (sure is None or sure >= tolerance.sure_iou)
            and (masks is None or masks >= tolerance.mask_iou)
            and (points is None or points <= tolerance.keypoint)
            and (raw is None or raw <= tolerance.score)
        )


def compare(
    original: Sequence[Found],
    exported: Sequence[Found],
    tolerance: Tolerance,
    *,
    has_fixed_places: bool,
) -> ExportComparison:
    """Compare image by image: each object with the one of its class that lies closest.

    Near-equal scores may change places, and the last place may go to another of equal score: an
    object whose score is within the tolerance of where its set ends is not missed.

    has_fixed_places: the boxes before suppression are those of anchors, so that their scores are
    compared row by row; else they are regions, whose order may differ.
    """
    scores, boxes, sure, masks, points = [0.0], [1.0], [1.0], [], []
    unmatched = objects = 0
    for first, second in zip(original, exported, strict=True):
        pairs, alone = _pairs(first, second, tolerance)
        objects += int(first["num_detections"])
        unmatched += alone
        for row, other, overlap in pairs:
            difference = first["detection_scores"][row] - second["detection_scores"][other]
            if not has_fixed_places or overlap >= tolerance.same_box_iou:
                scores.append(abs(float(difference)))
            boxes.append(overlap)
            if first["detection_scores"][row] > _SURE:
                sure.append(overlap)
            if "detection_masks" in first:
                name = "detection_masks"
                masks.append(_mask_iou(first[name][row], second[name][other]))
            if "detection_keypoints" in first:
                points += _keypoint_distances(first, row, second, other, tolerance)
    return ExportComparison(
        images=len(original),
        objects=objects,
        largest_score_difference=max(scores),
        smallest_iou=min(boxes),
        smallest_sure_iou=min(sure) if has_fixed_places else None,
        smallest_mask_iou=min(masks) if masks else None,
        largest_keypoint_distance=max(points) if points else None,
        unmatched=unmatched,
        largest_raw_score_difference=_raw_difference(original, exported, has_fixed_places)
        if has_fixed_places or not objects
        else None,
    )


def _keypoint_distances(
    first: Found, row: int, second: Found, other: int, tolerance: Tolerance
) -> list[float]:
    """Give how far the keypoints of an object are off, of those that are sure enough."""
    name = "detection_keypoints"
    distances = np.abs(first[name][row] - second[name][other]).max(axis=-1)  # (K,)
    scores = first.get("detection_keypoint_scores")
    is_sure = True if scores is None else scores[row] >= tolerance.least_keypoint_score
    kept: list[float] = distances[np.broadcast_to(is_sure, distances.shape)].tolist()
    return kept


def _raw_difference(
    original: Sequence[Found], exported: Sequence[Found], has_fixed_places: bool
) -> float | None:
    """Compare the scores of all boxes, or of regions in rising order; None without them."""
    name = "raw_detection_scores"
    if not original or name not in original[0]:
        return None
    largest = 0.0
    for first, second in zip(original, exported, strict=True):
        scores = first[name], second[name]
        if not has_fixed_places:
            scores = np.sort(scores[0], axis=0), np.sort(scores[1], axis=0)
        largest = max(largest, float(np.abs(scores[0] - scores[1]).max()))
    return largest


def _pairs(
    first: Found, second: Found, tolerance: Tolerance
) -> tuple[list[tuple[int, int, float]], int]:
    """Match two sets, best scores first; give the pairs, and how many stay alone."""
    counts = int(first["num_detections"]), int(second["num_detections"])
    overlaps = _overlaps(first, second, *counts)
    free = np.ones(counts[1], np.bool_)
    alone: list[int] = []
    pairs = []
    for row in range(counts[0]):
        near = np.abs(first["detection_scores"][row] - second["detection_scores"][: counts[1]])
        # Of copies in one place, the one with the same score is meant.
        rank = np.where(free & (overlaps[row] > 0.5), overlaps[row] - near, -1.0)
        if rank.max(initial=-1.0) <= -1.0:
            alone.append(row)
            continue
        other = int(rank.argmax())
        free[other] = False
        pairs.append((row, other, float(overlaps[row, other])))
    covered = tolerance.covered_iou
    alone = [row for row in alone if overlaps[row].max(initial=0.0) <= covered]
    free &= overlaps.max(axis=0, initial=0.0) <= covered
    missed = _beyond_edge(first, alone, second, tolerance)
    missed += _beyond_edge(second, np.flatnonzero(free).tolist(), first, tolerance)
    return pairs, missed


def _beyond_edge(found: Found, rows: Sequence[int], other: Found, tolerance: Tolerance) -> int:
    """Count rows that the other set should have, too: it had room, or worse ones than these."""
    count, scores = int(other["num_detections"]), other["detection_scores"]
    is_full = count == len(scores)
    edge = tolerance.score + (float(scores[-1]) if is_full else tolerance.least_score)
    return sum(float(found["detection_scores"][row]) > edge for row in rows)


def _overlaps(first: Found, second: Found, rows: int, columns: int) -> NDArray[np.float32]:
    """Give the IoU of all boxes (rows, columns), 0 where classes differ.

    A box without area overlaps nothing, not even itself: there, the same place is the same box.
    """
    if not rows or not columns:
        return np.zeros((rows, columns), np.float32)
    boxes = first["detection_boxes"][:rows], second["detection_boxes"][:columns]
    overlaps = np.asarray(pairwise(iou, *boxes))
    is_flat = [np.any(each[:, 2:] <= each[:, :2], axis=1) for each in boxes]
    is_same = np.abs(boxes[0][:, None] - boxes[1][None]).max(axis=-1) < _SAME_PLACE
    flat = is_flat[0][:, None] | is_flat[1][None, :]
    overlaps = np.where(flat & is_same, 1.0, overlaps)
    classes = first["detection_classes"][:rows], second["detection_classes"][:columns]
    same = np.round(classes[0])[:, None] == np.round(classes[1])[None, :]
    return np.where(same, overlaps, 0.0).astype(np.float32)


def _mask_iou(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    inside = first > 0.5, second > 0.5
    union = np.logical_or(*inside).sum()
    return float(np.logical_and(*inside).sum() / union) if union else 1.0
