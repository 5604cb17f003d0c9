"""What augmentations and sources promise: samples whose fields agree, the same for a seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.config.label_map import classes as classes_of
from holdfast.data.augment import AUGMENTATIONS
from holdfast.data.sample import Sample
from holdfast.data.sources.open_source import find_format, open_source

PER_OBJECT = tuple(name for name in Sample._fields if name not in ("image", "source_id"))
_SEEDS = ((0, 5), (1, 5), (2, 5), (3, 5))
_SLACK = 1e-6  # of coordinates, for rounding


def check_augmentation(name: str, **keywords: Any) -> None:
    """Run a registered augmentation in a graph, with several seeds, and on an image without boxes.

    AssertionError says which promise it breaks: the same seed gives the same sample, the image
    keeps its dtype, fields of objects agree in number, boxes stay inside of the image.
    """
    for start in (example(3), example(0)):
        for image in (start.image, start.image.astype(np.float32)):
            sample = start._replace(image=image)
            first, again = (list(_augmented(name, sample, keywords)) for _ in range(2))
            for one, other in zip(first, again, strict=True):
                check_objects(one, sample)
                check_boxes(one)
                _require(one.image.dtype == image.dtype, f"the image becomes {one.image.dtype}")
                np.testing.assert_array_equal(one.image, other.image, "seed gives another image")
                np.testing.assert_array_equal(one.boxes, other.boxes, "seed gives other boxes")


def check_source_format(name: str, location: str, *, is_found: bool = True) -> None:
    """Open a data set by a registered format and read all of it.

    is_found: whether the format must be found from the files alone. AssertionError says which
    promise it breaks: there are images, each is named once, its boxes lie inside of it, and its
    classes are in the label map.
    """
    if is_found:
        found = find_format(location)
        _require(found == name, f"{location} is taken for {found}, not for {name}")
    source = open_source(location, format_name=name)
    _require(source.format == name, f"the source calls its format {source.format!r}")
    _require(len(source) > 0, f"{location} has no image")
    names = [entry.source_id for entry in source.entries]
    _require(len(set(names)) == len(names), "two images have one source_id")
    known = {item.id - 1 for item in classes_of(source.label_map)}
    for sample in source:
        check_objects(sample, sample)
        check_boxes(sample)
        unknown = set(np.asarray(sample.classes).tolist()) - known
        _require(not unknown, f"class numbers {unknown} are not in the label map")


def check_objects(result: Sample, start: Sample) -> None:
    """Compare the fields that have one entry an object: equal in number, dtypes and ranks kept."""
    present = [field for field in PER_OBJECT if getattr(result, field) is not None]
    counts = {field: len(getattr(result, field)) for field in present}
    _require(set(counts.values()) == {len(result.boxes)}, f"numbers of objects differ: {counts}")
    for field in present:
        value, before = getattr(result, field), getattr(start, field)
        _require(before is not None, f"{field} was not there before")
        _require(value.dtype == before.dtype, f"{field} becomes {value.dtype}")
        _require(value.ndim == before.ndim, f"{field} gets another rank")
    _require(result.source_id == start.source_id, "source_id changes")
    if result.masks is not None and np.ndim(result.image) == 3:
        _require(result.masks.shape[1:] == result.image.shape[:2], "masks are not as the image")


def check_boxes(result: Sample) -> None:
    """Check that boxes lie inside of the image and have an area."""
    boxes: NDArray[np.float32] = np.asarray(result.boxes)
    _require(boxes.shape == (len(boxes), 4), f"boxes have the shape {boxes.shape}")
    inside = boxes.min(initial=0.0) >= 0.0 and boxes.max(initial=1.0) <= 1.0 + _SLACK
    _require(inside, f"boxes leave the image: {boxes.tolist()}")
    _require((boxes[:, 2:] > boxes[:, :2]).all(), f"boxes have no area: {boxes.tolist()}")


def example(num_objects: int) -> Sample:
    """Make a picture of rectangles with every field that is common."""
    corners = np.array([[0.1, 0.05, 0.4, 0.3], [0.15, 0.6, 0.35, 0.95], [0.6, 0.1, 0.95, 0.5]])
    boxes = corners[:num_objects].astype(np.float32)
    image = np.full((60, 84, 3), 40, np.uint8)
    for number, box in enumerate(boxes):
        top, left, bottom, right = (box * [60, 84, 60, 84]).astype(int)
        image[top:bottom, left:right] = 80 * number + 60
    return Sample(
        image=image,
        source_id=np.array(b"example"),
        boxes=boxes,
        classes=np.arange(num_objects, dtype=np.int32),
        weights=np.ones(num_objects, np.float32),
        difficult=np.zeros(num_objects, np.bool_),
        is_crowd=np.zeros(num_objects, np.bool_),
        areas=np.full(num_objects, 100.0, np.float32),
    )


def _augmented(name: str, sample: Sample, keywords: dict[str, Any]) -> Iterator[Sample]:
    """Augment in a data set, as a training does."""

    def apply(seed: Any) -> dict[str, Any]:
        given = Sample(*(None if each is None else tf.constant(each) for each in sample))
        result = AUGMENTATIONS[name](given, seed, **keywords)
        return {key: value for key, value in result._asdict().items() if value is not None}

    for fields in tf.data.Dataset.from_tensor_slices(list(_SEEDS)).map(apply).as_numpy_iterator():
        yield Sample(**(dict.fromkeys(Sample._fields) | fields))


def _require(holds: Any, text: str) -> None:
    if not holds:
        raise AssertionError(text)
