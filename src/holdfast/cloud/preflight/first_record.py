"""Judge the beginning of a TFRecord file without TensorFlow: length, and the length's checksum."""

from __future__ import annotations

_POLYNOMIAL = 0x82F63B78  # of CRC-32C, reflected
_COMPRESSED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_FRAME_BYTES = 16  # length, its checksum, the content's checksum


def first_record_fault(start: bytes, size_bytes: int | None) -> str:
    """Say what is wrong with a file by its first 12 bytes and its size, if known; "" is fine.

    >>> first_record_fault(b"", 0), first_record_fault(b"<html><body>", 100)
    ('it is empty', 'it is not a TFRecord file')
    """
    if not start:
        return "it is empty"
    length = int.from_bytes(start[:8], "little")
    if len(start) == 12 and int.from_bytes(start[8:], "little") == _masked(_crc32c(start[:8])):
        is_cut = size_bytes is not None and size_bytes < length + _FRAME_BYTES
        return "it ends inside its first record" if is_cut else ""
    return "" if start.startswith(_COMPRESSED) else "it is not a TFRecord file"


def _crc32c(content: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in content:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def _masked(checksum: int) -> int:
    """Change a checksum as TFRecord files do, so that one of a checksum is not odd."""
    rotated = (checksum >> 15 | checksum << 17) & 0xFFFFFFFF
    return rotated + 0xA282EAD8 & 0xFFFFFFFF
