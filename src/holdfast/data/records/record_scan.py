"""One look at every record of a file: what is in it, and where it lies to be read again."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import tensorflow as tf
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from holdfast.data.records.record_files import compression_of, read_records
from holdfast.data.records.record_keys import count_boxes

_FRAME_START_BYTES, _FRAME_END_BYTES = 12, 4  # length and its checksum, checksum of the record

Label = tuple[str, int | None]  # class text, "" without; class id, None without
Features = dict[str, tf.train.Feature]


class Scanned(NamedTuple):
    """A record as it was seen."""

    place: str
    split: str | None
    called: str  # image/source_id, or else image/filename
    filename: str
    image: bytes  # hash of the encoded image; b"" if there is none
    digest: str  # of the record
    stored_bytes: int
    labels: tuple[Label, ...]  # one an object
    areas: tuple[float, ...]  # of the boxes, as shares of the image; () if they do not fit
    masks: str  # "png", "numerical" or "" without
    keypoints: float  # for each object; 0 without
    has_scores: bool  # multiclass scores
    fault: str  # why it cannot be read at all; "" if it can
    read: Callable[[], bytes]


def scan_records(file: str, split: str | None) -> Iterator[Scanned]:
    """Look at the records of a file; HoldfastError if it is damaged."""
    store = _Copies() if compression_of(file) else None
    position = 0
    read: Callable[[], bytes]
    for number, record in enumerate(read_records(file)):
        if store is None:
            read = partial(_read_part, file, position + _FRAME_START_BYTES, len(record))
            position += _FRAME_START_BYTES + len(record) + _FRAME_END_BYTES
        else:
            read = store.keep(record)
        yield _scan(record, f"{file}, record {number}", split, read)


class _Copies:
    """Records of a compressed file, plain: there is no jumping to a place in the file itself."""

    def __init__(self) -> None:
        self.stream = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with the last reader

    def __del__(self) -> None:
        self.stream.close()

    def keep(self, record: bytes) -> Callable[[], bytes]:
        """Store a record and give the function that reads it."""
        start = self.stream.tell()
        self.stream.write(record)
        return partial(self._read, start, len(record))

    def _read(self, start: int, size: int) -> bytes:
        return os.pread(self.stream.fileno(), size, start)  # safe from several threads


def _read_part(file: str, start: int, size: int) -> bytes:
    with tf.io.gfile.GFile(file, "rb") as stream:
        stream.seek(start)
        return bytes(stream.read(size))


def _scan(record: bytes, place: str, split: str | None, read: Callable[[], bytes]) -> Scanned:
    fault = ""
    try:
        feature: Features = dict(tf.train.Example.FromString(record).features.feature)
    except DecodeError:
        feature, fault = {}, "It is not a tf.train.Example."
    filename = _text(feature, "image/filename")
    encoded = _first(feature, "image/encoded")
    labels = _labels(feature, count_boxes(record))
    return Scanned(
        place=place,
        split=split,
        called=_text(feature, "image/source_id") or filename,
        filename=filename,
        image=hashlib.sha256(encoded).digest() if encoded else b"",
        digest=hashlib.sha256(record).hexdigest(),
        stored_bytes=len(record),
        labels=labels,
        areas=_areas(feature),
        masks=_mask_kind(feature),
        keypoints=len(_floats(feature, "image/object/keypoint/x")) / max(len(labels), 1),
        has_scores=bool(_floats(feature, "image/object/class/multiclass_scores")),
        fault=fault,
        read=read,
    )


def _labels(feature: Features, boxes: int) -> tuple[Label, ...]:
    """Give the class of each box; of none where the lists do not fit each other."""
    texts = [each.decode("utf-8", "replace") for each in _bytes(feature, "image/object/class/text")]
    key = "image/object/class/label"
    numbers: list[int] = list(feature[key].int64_list.value) if key in feature else []
    if len(texts) == len(numbers) == boxes:
        return tuple(zip(texts, numbers, strict=True))
    if len(texts) == boxes:
        return tuple((text, None) for text in texts)
    if len(numbers) == boxes and not texts:
        return tuple(("", number) for number in numbers)
    return (("", None),) * boxes


def _areas(feature: Features) -> tuple[float, ...]:
    sides = [_floats(feature, f"image/object/bbox/{side}") for side in _SIDES]
    if len({len(values) for values in sides}) > 1:
        return ()
    return tuple(
        (bottom - top) * (right - left) for top, left, bottom, right in zip(*sides, strict=True)
    )


_SIDES = ("ymin", "xmin", "ymax", "xmax")


def _mask_kind(feature: Features) -> str:
    masks = feature.get("image/object/mask")
    if masks is None:
        return ""
    return "png" if masks.bytes_list.value else "numerical" if masks.float_list.value else ""


def _bytes(feature: Features, key: str) -> list[bytes]:
    return list(feature[key].bytes_list.value) if key in feature else []


def _first(feature: Features, key: str) -> bytes:
    return next(iter(_bytes(feature, key)), b"")


def _text(feature: Features, key: str) -> str:
    return _first(feature, key).decode("utf-8", "replace")


def _floats(feature: Features, key: str) -> list[float]:
    return list(feature[key].float_list.value) if key in feature else []
