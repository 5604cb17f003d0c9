"""YOLO as Ultralytics reads it: a text file an image, and data.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.conversion.judge import Verdict
from holdfast.data.sample import Sample
from holdfast.data.sources.classes import keypoint_names, listed
from holdfast.data.sources.image_files import Size
from holdfast.data.sources.lookup import stem
from holdfast.data.writers.contours import join, trace
from holdfast.data.writers.coordinates import CUT
from holdfast.data.writers.left_behind import fit, without_crowds
from holdfast.data.writers.writer import Content, Lines, OutImage, Written

TITLE = "YOLO"
DECIMALS = 8  # of the image's side
HULL = "boxes become those of the outlines: a line holds a polygon or a box, not both"
KEYPOINT_OUTSIDE = "keypoints outside of the image are written as not labeled"
_CORNERS = [[0, 1], [2, 1], [2, 3], [0, 3]]  # of x_min, y_min, x_max, y_max
_SAME = 1e-6


class YoloWriter:
    """Folders `images/train` and `labels/train`, … and data.yaml.

    Classes are numbered from 0, in the order of the label map's ids and without its gaps. A data
    set has boxes, or a polygon an object if it has masks, or boxes with keypoints if it has
    keypoints: Ultralytics reads no mixture. Numbers have 8 decimals.
    """

    def __init__(self, label_map: StringIntLabelMap, *, masks: bool) -> None:
        self.label_map = label_map
        self.items = sorted(label_map.item, key=lambda item: item.id)
        self.numbers = {item.id - 1: number for number, item in enumerate(self.items)}
        self.keypoints = keypoint_names(label_map)
        self.polygons = masks and not self.keypoints
        self.holds = frozenset(("keypoints",) if self.keypoints else ("masks",))
        self.title = f"{TITLE} with keypoints" if self.keypoints else TITLE

    def image_folder(self, split: str) -> str:
        """Say where the images of a split go."""
        return f"images/{split}"

    def annotations(self, split: str) -> str:
        """Name the folder of a split's label files."""
        return f"labels/{split}"

    def select(self, sample: Sample) -> Verdict:
        """Leave out crowds."""
        return without_crowds(sample, TITLE)

    def write(self, image: OutImage) -> Written:
        """Make the label file of an image; it is empty where there are no objects."""
        sample, remarks = fit(image.sample, image.size, self.title, self.holds)
        boxes = np.clip(sample.boxes[:, [1, 0, 3, 2]].astype(np.float64), 0, 1)
        if (np.abs(boxes - sample.boxes[:, [1, 0, 3, 2]]) > _SAME).any():
            remarks = (*remarks, CUT)
        if self.polygons:
            rows, more = _polygon_rows(sample, boxes, image.size)
        elif self.keypoints:
            rows, more = _keypoint_rows(sample, boxes, len(self.keypoints))
        else:
            rows, more = _box_rows(boxes), ()
        lines = (
            f"{self.numbers[int(number)]} {' '.join(map(_text, row))}\n"
            for number, row in zip(sample.classes, rows, strict=True)
        )
        path = f"{self.annotations(image.split)}/{stem(image.name)}.txt"
        return Written({}, {path: "".join(lines)}, (*remarks, *more))

    def finish(self, splits: Mapping[str, Lines]) -> Iterator[tuple[str, Content]]:
        """Write data.yaml."""
        values: dict[str, Any] = {split: self.image_folder(split) for split in splits}
        values["names"] = dict(enumerate(item.name for item in self.items))
        if self.keypoints:
            values["kpt_shape"] = [len(self.keypoints), 3]
            values["kpt_names"] = {number: list(self.keypoints) for number in values["names"]}
        yield "data.yaml", [yaml.safe_dump(values, allow_unicode=True, sort_keys=False)]

    def notes(self) -> Iterator[str]:
        """Say which class has which number."""
        texts = [f"{number} {item.name}" for number, item in enumerate(self.items)]
        yield f"YOLO numbers classes from 0, here in the order of the ids: {listed(texts)}."


def _box_rows(boxes: NDArray[np.float64]) -> list[list[float]]:
    """Give x, y of the center, width, height."""
    centers, sizes = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
    rows: list[list[float]] = np.concatenate([centers, sizes], axis=1).tolist()
    return rows


def _polygon_rows(
    sample: Sample, boxes: NDArray[np.float64], size: Size
) -> tuple[list[list[float]], tuple[str, ...]]:
    """Give the outline of each object; of one without mask the corners of its box."""
    rows, moved = [], False
    for index, box in enumerate(boxes):
        mask = None if sample.masks is None else sample.masks[index]
        if mask is None or not mask.any():
            rows.append(box[_CORNERS].ravel().tolist())
            continue
        contours = trace(mask)
        outline = join([*contours.outer, *contours.holes]) / np.array(size)
        hull = np.concatenate([outline.min(axis=0), outline.max(axis=0)])
        moved |= bool((np.abs(hull - box) * np.array([*size, *size]) > 1).any())
        rows.append(outline.ravel().tolist())
    return rows, (HULL,) if moved else ()


def _keypoint_rows(
    sample: Sample, boxes: NDArray[np.float64], count: int
) -> tuple[list[list[float]], tuple[str, ...]]:
    """Give the box and x, y, visibility of each keypoint; all 0 where it is not labeled."""
    points = np.full((len(boxes), count, 2), np.nan)
    if sample.keypoints is not None:
        points[:] = sample.keypoints[:, :, ::-1]  # x, y
    outside = ((points < 0) | (points > 1)).any(axis=-1)
    labeled = ~np.isnan(points).any(axis=-1) & ~outside
    values = np.concatenate(
        [np.where(labeled[..., None], points, 0), 2.0 * labeled[..., None]], axis=-1
    )  # (N, K, 3)
    pairs = zip(_box_rows(boxes), values.reshape(len(boxes), -1).tolist(), strict=True)
    return [[*box, *row] for box, row in pairs], (KEYPOINT_OUTSIDE,) if outside.any() else ()


def _text(value: float) -> str:
    """Write a number without exponent and without zeros at the end.

    >>> _text(0.5), _text(1.0), _text(0.000000123)
    ('0.5', '1', '0.00000012')
    """
    return f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".")
