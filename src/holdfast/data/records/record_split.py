"""Copy TFRecords that have no splits into train and val."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from holdfast.data.records import data_files
from holdfast.data.records.record_files import read_records
from holdfast.data.splitting.appearance import appearance_of
from holdfast.data.splitting.contents import Contents
from holdfast.data.splitting.split_images import SplitImage, split_images
from holdfast.data.splitting.split_names import TRAIN, VAL
from holdfast.data.writers.shards import shard_names, write_shard

_SIDES = ("ymin", "xmin", "ymax", "xmax")


class SplitRecords(NamedTuple):
    """The files that were written, by split, and what a user should know."""

    paths: dict[str, str]  # a split without any record has none
    notes: tuple[str, ...]


def split_records(
    record_files: Sequence[str], folder: str, *, val: float, seed: int = 0
) -> SplitRecords:
    """Write every record, unchanged, to train.record or val.record in the folder.

    A share `val` of the records becomes val, like the rest and without near-duplicates in it.
    """
    numbers: dict[bytes | int, int] = {}  # classes are numbered as they come
    with warnings.catch_warnings(action="ignore"):  # of Pillow, about damaged images
        images = [
            _image(record, numbers, look=val > 0)
            for file in record_files
            for record in read_records(file)
        ]
    chosen = split_images(images, val=val, seed=seed, class_names=_names(numbers))
    written = {}
    for split in (TRAIN, VAL):
        if split in chosen.splits:
            path = data_files.join(folder, *shard_names(f"{split}.record", 1))
            records = (record for file in record_files for record in read_records(file))
            write_shard(path, _of_split(records, chosen.splits, split))
            written[split] = path
    return SplitRecords(written, chosen.notes)


def _of_split(records: Iterator[bytes], splits: Sequence[str], split: str) -> Iterator[bytes]:
    return (record for record, one in zip(records, splits, strict=True) if one == split)


def _image(record: bytes, numbers: dict[bytes | int, int], *, look: bool) -> SplitImage:
    """Read what a split depends on; what is not an example holds nothing."""
    try:
        feature = tf.train.Example.FromString(record).features.feature
    except DecodeError:
        return SplitImage("", Contents({}))
    name, encoded = (
        b"".join(feature[key].bytes_list.value[:1]) for key in ("image/filename", "image/encoded")
    )
    name = name or b"".join(feature["image/source_id"].bytes_list.value[:1])
    counts = Counter(numbers.setdefault(one, len(numbers)) for one in _classes(feature))
    return SplitImage(
        name.decode("utf-8", "replace"),
        Contents(counts, _box_areas(feature)),
        appearance_of(encoded) if look else None,
    )


def _classes(feature: Mapping[str, tf.train.Feature]) -> list[bytes | int]:
    """List the class of each object, by text or by number."""
    texts = feature["image/object/class/text"].bytes_list.value
    return list(texts) or list(feature["image/object/class/label"].int64_list.value)


def _box_areas(feature: Mapping[str, tf.train.Feature]) -> list[float]:
    """Give the areas of the boxes as shares of the image; none if the corners are incomplete."""
    corners = [list(feature[f"image/object/bbox/{side}"].float_list.value) for side in _SIDES]
    if len({len(corner) for corner in corners}) > 1:
        return []
    y_min, x_min, y_max, x_max = np.array(corners)
    areas: list[float] = ((y_max - y_min) * (x_max - x_min)).tolist()
    return areas


def _names(numbers: Mapping[bytes | int, int]) -> dict[int, str]:
    return {
        number: name.decode("utf-8", "replace") if isinstance(name, bytes) else f"id {name}"
        for name, number in numbers.items()
    }
