"""How records store masks and keypoints, as the first of them show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from holdfast.data.records.record_files import read_records
from holdfast.data.sources.record_masks import MaskFormat
from holdfast.errors import HoldfastError

_LOOKED_AT = 30  # records; the first ones may show nothing


def first_examples(files: Sequence[str]) -> list[tf.train.Example]:
    """Read the first records that can be read."""
    return list(islice(_examples(files), _LOOKED_AT))


def mask_format(examples: Iterable[tf.train.Example]) -> MaskFormat | None:
    """Tell how masks are stored; None where there are none."""
    for example in examples:
        if values_of(example, "image/object/mask", "bytes_list"):
            return MaskFormat.PNG
        if values_of(example, "image/object/mask", "float_list"):
            return MaskFormat.NUMERICAL
    return None


def num_keypoints(examples: Iterable[tf.train.Example]) -> int:
    """Tell how many keypoints an object has; 0 where there are none."""
    for example in examples:
        points = values_of(example, "image/object/keypoint/x", "float_list")
        boxes = values_of(example, "image/object/bbox/xmin", "float_list")
        if points and boxes and len(points) % len(boxes) == 0:
            return len(points) // len(boxes)
    return 0


def values_of(example: tf.train.Example, key: str, kind: str) -> list[Any]:
    """Give the values of a key, () where it is absent or of another kind."""
    feature = example.features.feature
    return list(getattr(feature[key], kind).value) if key in feature else []


def _examples(files: Sequence[str]) -> Iterator[tf.train.Example]:
    for file in files:
        try:
            for record in read_records(file):
                yield tf.train.Example.FromString(record)
        except (HoldfastError, DecodeError):  # told among what is left out
            continue
