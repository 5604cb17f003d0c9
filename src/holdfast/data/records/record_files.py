"""TFRecord files as they lie on a disk: found, told from other files, read one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import tensorflow as tf

from holdfast.data.input.decode_images import plain_reason
from holdfast.data.records import data_files
from holdfast.errors import HoldfastError
from holdfast.store.store_errors import tensorflow_error
from holdfast.units import count_text

_READ_BUFFER_BYTES = 256 * 1024
_FRAME_BYTES = 16  # length and two checksums around each record
_GZIP_START = b"\x1f\x8b"
_ZLIB_STARTS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_RECORD_NAME = re.compile(r"(?i)\.(tf)?rec(ord)?s?\b|\.tfr\b|-\d{3,}-of-\d{3,}")


def compression_of(file: str) -> str:
    """Find out how a record file is compressed: "GZIP", "ZLIB" or ""."""
    start = data_files.read_bytes(file, 12)
    if start.startswith(_GZIP_START):
        return "GZIP"
    # A plain file starts with a length of 8 bytes, of which the upper ones are 0.
    return "ZLIB" if start.startswith(_ZLIB_STARTS) and any(start[5:8]) else ""


def read_records(file: str) -> Iterator[bytes]:
    """Yield the records of a file; HoldfastError if it is damaged or no TFRecord file."""
    data_files.refuse_not_utf8(file)
    number = size_bytes = 0
    compression = compression_of(file)
    records = tf.data.TFRecordDataset(file, compression, _READ_BUFFER_BYTES)
    try:
        for record in records.as_numpy_iterator():
            number += 1
            size_bytes += len(record) + _FRAME_BYTES
            yield record
    except tf.errors.OpError as error:
        if problem := tensorflow_error(error, file):
            raise problem from None
        raise _damaged(file, number, _in_words(error)) from None
    # TensorFlow takes a file that was cut off inside a record's length for complete.
    if not compression and (stamp := data_files.stamp(file)) and stamp.size_bytes > size_bytes:
        raise _damaged(file, number, f"{stamp.size_bytes - size_bytes} bytes are left over")


def find_records(location: str) -> list[str]:
    """List the record files that a path, a pattern or a folder (also one level down) stands for."""
    found = data_files.glob(location)
    if len(found) == 1 and data_files.is_folder(found[0]):
        folder = found[0]
        inside = (name for name in data_files.walk(folder) if name.count("/") <= 1)
        return [data_files.join(folder, name) for name in inside if is_record_name(name)]
    return [path for path in found if not data_files.is_folder(path)]


def is_record_name(path: str) -> bool:
    """Tell by its name whether a file holds records.

    >>> is_record_name("train.record-00000-of-00010"), is_record_name("a.tfrecord.gz")
    (True, True)
    >>> is_record_name("label_map.pbtxt"), is_record_name("recorded.jpg")
    (False, False)
    """
    return _RECORD_NAME.search(path.rpartition("/")[2]) is not None


def holds_no_record(file: str) -> bool:
    """Tell whether a file has nothing in it; a damaged one has."""
    try:
        return next(read_records(file), None) is None
    except HoldfastError:
        return False


def _in_words(error: tf.errors.OpError) -> str:
    reason = plain_reason(error)
    for mark, text in _REASONS.items():
        if mark in reason:
            return text
    return reason


_REASONS = {
    "truncated": "it ends inside a record",
    "corrupted": "a checksum does not match",
    "inflate": "its data cannot be decompressed",
}


def _is_text(file: str) -> bool:
    try:
        return (
            data_files.read_bytes(file, 200).decode(errors="ignore").replace("\n", "").isprintable()
        )
    except HoldfastError:
        return False


def _damaged(file: str, number: int, reason: str) -> HoldfastError:
    if number == 0:
        reason = "it is text" if _is_text(file) else reason
        return HoldfastError(
            f"{file}, record 0: it is not a TFRecord file, or damaged ({reason}).",
            fix="Name a TFRecord file; `holdfast convert` makes them from other formats.",
        )
    return HoldfastError(
        f"{file}, record {number}: the file is damaged from here on ({reason}).",
        fix="Copy the file again, or make a new one; "
        f"{count_text(number, 'record')} before it could be read.",
    )
