"""Pictures of colored rectangles, whose objects can be found again by their color."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.data.augment import Augmentation
from holdfast.data.sample import Sample

COLORS = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0]], np.uint8)
NUM_KEYPOINTS = 3  # the center, near the upper left corner, unlabeled
SPECS = {
    "image": tf.TensorSpec([None, None, 3], tf.uint8),
    "source_id": tf.TensorSpec([], tf.string),
    "boxes": tf.TensorSpec([None, 4], tf.float32),
    "classes": tf.TensorSpec([None], tf.int32),
    "weights": tf.TensorSpec([None], tf.float32),
    "confidences": tf.TensorSpec([None], tf.float32),
    "difficult": tf.TensorSpec([None], tf.bool),
    "truncated": tf.TensorSpec([None], tf.bool),
    "group_of": tf.TensorSpec([None], tf.bool),
    "is_crowd": tf.TensorSpec([None], tf.bool),
    "areas": tf.TensorSpec([None], tf.float32),
    "masks": tf.TensorSpec([None, None, None], tf.uint8),
    "keypoints": tf.TensorSpec([None, None, 2], tf.float32),
    "visibilities": tf.TensorSpec([None, None], tf.bool),
    "multiclass_scores": tf.TensorSpec([None, None], tf.float32),
}
OPTIONAL = ("masks", "keypoints", "visibilities", "multiclass_scores")


def scene(height: int = 60, width: int = 84, num_objects: int = 4) -> Sample:
    """Four rectangles on black, one in each quarter, object i of class i and color i."""
    image = np.zeros((height, width, 3), np.uint8)
    masks = np.zeros((num_objects, height, width), np.uint8)
    pixels = np.array([[3, 4, 25, 20], [6, 50, 20, 80], [35, 8, 56, 38], [34, 52, 55, 70]])
    pixels = pixels[:num_objects]
    for number, (top, left, bottom, right) in enumerate(pixels):
        image[top:bottom, left:right] = COLORS[number]
        masks[number, top:bottom, left:right] = 1
    boxes = (pixels / [height, width, height, width]).astype(np.float32).reshape(-1, 4)
    size = boxes[:, 2:] - boxes[:, :2]
    keypoints = np.stack(
        [boxes[:, :2] + size / 2, boxes[:, :2] + size / 8, np.full_like(size, np.nan)], axis=1
    )
    number = np.arange(num_objects)
    return Sample(
        image=image,
        source_id=np.array(b"rectangles"),
        boxes=boxes,
        classes=number.astype(np.int32),
        weights=(0.25 * (number + 1)).astype(np.float32),
        confidences=(0.125 * (number + 1)).astype(np.float32),
        difficult=number == 0,
        truncated=number == 1,
        group_of=number == 2,
        is_crowd=number == 3,
        areas=(100.0 + number).astype(np.float32),
        masks=masks,
        keypoints=keypoints.astype(np.float32),
        visibilities=np.tile([True, True, False], (num_objects, 1)),
        multiclass_scores=np.linspace(-1, 1, 5 * num_objects, dtype=np.float32).reshape(-1, 5),
    )


def as_float(sample: Sample) -> Sample:
    return sample._replace(image=sample.image.astype(np.float32))


def without_optional(sample: Sample) -> Sample:
    return sample._replace(**dict.fromkeys(OPTIONAL))


def augmented(
    samples: Sequence[Sample],
    seeds: Sequence[tuple[int, int]],
    augment: Augmentation,
    **arguments: Any,
) -> list[Sample]:
    """Augment inside a Dataset.map that is traced once and knows no height, width or count."""
    fields = [name for name, value in samples[0]._asdict().items() if value is not None]
    specs = {name: SPECS[name] for name in fields}
    specs["image"] = tf.TensorSpec([None, None, 3], samples[0].image.dtype)

    def elements() -> Iterator[tuple[dict[str, Any], Any]]:
        for sample, seed in zip(samples, seeds, strict=True):
            yield {name: getattr(sample, name) for name in fields}, np.array(seed, np.int32)

    data = tf.data.Dataset.from_generator(
        elements, output_signature=(specs, tf.TensorSpec([2], tf.int32))
    )
    results = data.map(lambda fields, seed: augment(Sample(**fields), seed, **arguments))
    return [as_arrays(sample) for sample in results]


def as_arrays(sample: Sample) -> Sample:
    return Sample(*(value if value is None else np.asarray(value) for value in sample))


def as_tensors(sample: Sample) -> Sample:
    return Sample(*(value if value is None else tf.constant(value) for value in sample))


def pixels_of_color(image: np.ndarray, number: int) -> np.ndarray:
    """Mark the pixels that are more of this color than of black or of another color."""
    bright = image.astype(np.float32) > 127.5
    return np.asarray((bright == (COLORS[number] > 0)).all(axis=-1))


def box_around(marked: np.ndarray) -> np.ndarray | None:
    """Give y_min, x_min, y_max, x_max in pixels around all that is marked."""
    rows, columns = np.nonzero(marked)
    if not len(rows):
        return None
    return np.array([rows.min(), columns.min(), rows.max() + 1, columns.max() + 1], np.float32)


def map_of_places(height: int = 60, width: int = 84) -> np.ndarray:
    """Make a picture whose pixels tell their place: y + 1, x + 1; so 0 is not of the picture."""
    y, x = np.mgrid[1 : height + 1, 1 : width + 1]
    return np.stack([y, x, np.full_like(y, 255)], axis=-1).astype(np.uint8)


def places_shown(image: np.ndarray) -> np.ndarray:
    """Read y_min, x_min, y_max, x_max of the rectangle of a map of places that is shown."""
    shown = image[image[..., 2] == 255]
    low, high = shown.min(axis=0)[:2] - 1, shown.max(axis=0)[:2]
    return np.concatenate([low, high]).astype(np.float64)
