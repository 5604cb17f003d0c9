"""COCO JSON: boxes, outlines, crowds and keypoints, one file a split."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np
from faster_coco_eval.core import mask as mask_api
from numpy.typing import NDArray

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.conversion.judge import Verdict
from holdfast.data.sample import Sample
from holdfast.data.sources.classes import keypoint_names
from holdfast.data.sources.image_files import Size
from holdfast.data.sources.outlines import Polygons, rasterise
from holdfast.data.writers.contours import trace
from holdfast.data.writers.coordinates import to_pixels
from holdfast.data.writers.left_behind import fit
from holdfast.data.writers.writer import Content, Lines, OutImage, Written

TITLE = "COCO"
DECIMALS = 3  # of a pixel
_HOLDS = frozenset(("masks", "keypoints", "is_crowd"))
_VISIBLE = 2


class CocoWriter:
    """`annotations/instances_train.json`, … beside the folders `train`, … of images.

    Category ids are those of the label map. Coordinates are rounded to a thousandth of a pixel. A
    mask is written as polygons where these give it to the pixel, else as run lengths.
    """

    def __init__(self, label_map: StringIntLabelMap) -> None:
        self.label_map = label_map
        every = keypoint_names(label_map)
        self.places = {
            item.id: [every.index(point.label) for point in item.keypoints]
            for item in label_map.item
            if item.keypoints
        }

    def image_folder(self, split: str) -> str:
        """Say where the images of a split go."""
        return split

    def annotations(self, split: str) -> str:
        """Name the file of a split."""
        return f"annotations/instances_{split}.json"

    def select(self, sample: Sample) -> Verdict:
        """Keep all objects."""
        return Verdict(sample)

    def write(self, image: OutImage) -> Written:
        """Make the image's item and those of its objects; the latter are numbered at the end."""
        sample, remarks = fit(image.sample, image.size, TITLE, _HOLDS)
        item = {
            "id": image.number,
            "file_name": image.name,
            "width": image.size.width,
            "height": image.size.height,
        }
        boxes = to_pixels(sample.boxes, image.size)
        objects = [
            {"image_id": image.number} | self._object(sample, index, boxes[index], image.size)
            for index in range(len(boxes))
        ]
        return Written({"image": item, "annotations": objects}, {}, remarks)

    def finish(self, splits: Mapping[str, Lines]) -> Iterator[tuple[str, Content]]:
        """Put the file of each split together."""
        numbers = count(1)
        for split, lines in splits.items():
            yield self.annotations(split), self._document(lines, numbers)

    def notes(self) -> Iterator[str]:
        """Say nothing: ids are those of the label map."""
        yield from ()

    def _document(self, lines: Lines, numbers: Iterator[int]) -> Content:
        """Write piece by piece: the items of a large data set take gigabytes as objects."""
        annotations = (
            {"id": next(numbers)} | item for line in lines() for item in line["annotations"]
        )
        yield '{"info": {}, "licenses": [],\n"images": [\n'
        yield from _separated(line["image"] for line in lines())
        yield '],\n"annotations": [\n'
        yield from _separated(annotations)
        yield '],\n"categories": [\n'
        yield from _separated(self._categories())
        yield "]}\n"

    def _categories(self) -> Iterator[dict[str, Any]]:
        for item in self.label_map.item:
            category = {"id": item.id, "name": item.name, "supercategory": ""}
            if item.keypoints:
                labels = [point.label for point in item.keypoints]
                category |= {"keypoints": labels, "skeleton": []}
            yield category

    def _object(
        self, sample: Sample, index: int, box: NDArray[np.float64], size: Size
    ) -> dict[str, Any]:
        top, left, bottom, right = box.tolist()
        area = float(sample.areas[index]) if sample.areas is not None else 0.0
        is_crowd = bool(sample.is_crowd is not None and sample.is_crowd[index])
        number = int(sample.classes[index]) + 1
        mask = None if sample.masks is None else sample.masks[index]
        values = {
            "category_id": number,
            "bbox": _rounded([left, top, right - left, bottom - top]),
            # Records need not give the area; COCO's evaluation sorts objects by it.
            "area": round(area if area > 0 else (right - left) * (bottom - top), DECIMALS),
            "iscrowd": int(is_crowd),
            "segmentation": [] if mask is None else segmentation(mask, is_crowd=is_crowd),
        }
        places = self.places.get(number)
        if sample.keypoints is None or not places:
            return values
        return values | _keypoints(sample.keypoints[index, places], size)


def segmentation(mask: NDArray[np.uint8], *, is_crowd: bool = False) -> Any:
    """Give a mask (H, W) as polygons, or as run lengths where it has holes or is of a crowd."""
    if not mask.any():
        return []
    polygons = None if is_crowd else _polygons(mask)
    if polygons is not None:
        return polygons
    encoded = mask_api.encode(np.asfortranarray(mask))
    return {"size": [int(side) for side in encoded["size"]], "counts": _ascii(encoded["counts"])}


def _polygons(mask: NDArray[np.uint8]) -> list[list[float]] | None:
    """Give polygons that the COCO tools fill to just this mask; None if there are none."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    top, left = int(rows[0]), int(columns[0])
    contours = trace(mask[top : rows[-1] + 1, left : columns[-1] + 1])
    if contours.holes:
        return None
    parts = tuple(np.add(loop, (left, top)).astype(np.float64) for loop in contours.outer)
    filled = rasterise(Polygons(parts), Size(mask.shape[1], mask.shape[0]))
    return [part.ravel().tolist() for part in parts] if np.array_equal(filled, mask) else None


def _keypoints(points: NDArray[np.float32], size: Size) -> dict[str, Any]:
    flat: list[float] = []
    for y, x in points.astype(np.float64).tolist():
        is_labeled = not (math.isnan(y) or math.isnan(x))
        at = _rounded([x * size.width, y * size.height]) if is_labeled else [0, 0]
        flat += [*at, _VISIBLE if is_labeled else 0]
    return {"keypoints": flat, "num_keypoints": flat[2::3].count(_VISIBLE)}


def _rounded(values: list[float]) -> list[float]:
    return [round(value, DECIMALS) for value in values]


def _ascii(counts: bytes | str) -> str:
    return counts if isinstance(counts, str) else counts.decode("ascii")


def _separated(items: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Write items with commas between them, one a line."""
    for index, item in enumerate(items):
        yield (",\n" if index else "") + json.dumps(item)
