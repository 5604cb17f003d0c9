"""The first records of a local TFRecord file, as bytes, without TensorFlow."""

from __future__ import annotations

from pathlib import Path

_HEAD_BYTES = 12  # length and its checksum
_TAIL_BYTES = 4  # checksum of the content


def first_records(file: Path, count: int, most_bytes: int) -> bytes:
    """Give the first records with all that frames them: a file of its own.

    Fewer where the file or most_bytes ends before; at least one, if it is whole.
    """
    found = bytearray()
    with file.open("rb") as stream:
        for _ in range(count):
            head = stream.read(_HEAD_BYTES)
            length = int.from_bytes(head[:8], "little")
            if len(head) < _HEAD_BYTES or (found and len(found) + length > most_bytes):
                break
            rest = stream.read(length + _TAIL_BYTES)
            if len(rest) < length + _TAIL_BYTES:
                break
            found += head + rest
    return bytes(found)


def mean_record_bytes(sample: bytes) -> float:
    """Give the mean size of the records of a sample; 0 without any.

    >>> mean_record_bytes((5).to_bytes(8, "little") + bytes(4 + 5 + 4))
    21.0
    """
    place = count = 0
    while place + _HEAD_BYTES <= len(sample):
        place += int.from_bytes(sample[place : place + 8], "little") + _HEAD_BYTES + _TAIL_BYTES
        count += 1
    return len(sample) / count if count else 0.0
