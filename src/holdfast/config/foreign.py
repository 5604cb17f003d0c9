"""Files that are not configs, told by their first bytes: what they are, and what reads them."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from holdfast.errors import Problem

_HEAD_BYTES = 4096
_IMAGE_STARTS = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"GIF8", b"BM", b"II*\0", b"MM\0*")
_COMMENTS = rb"\A(?:\s|#[^\n]*\n)*"
_LABEL_MAP_START = re.compile(_COMMENTS + rb"item\s*:?\s*[{<]")
_CHECKPOINT_LIST = re.compile(rb"\A\s*model_checkpoint_path\s*:")
_CSV_HEADER = re.compile(rb"\A(?:\xef\xbb\xbf)?[\w .\"/-]+(?:[,;\t][\w .\"/-]*){2,}\r?\n")


class _Kind(NamedTuple):
    what: str
    fix: str  # with the path put in
    fits: Callable[[str, bytes], bool]  # name and first bytes


def foreign_problem(path: Path) -> Problem | None:
    """Say what a file is that was given for a config; None if that cannot be told."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        return None
    for kind in _KINDS:
        if kind.fits(path.name.lower(), head):
            return Problem(
                message=f"it is {kind.what}, not a config", fix=kind.fix.format(path=path)
            )
    return None


def is_record_start(head: bytes) -> bool:
    """Tell whether these bytes begin a TFRecord file: a length, and the checksum of it.

    >>> import struct
    >>> is_record_start(struct.pack("<QI", 3, masked_checksum(struct.pack("<Q", 3))) + b"abc")
    True
    """
    if len(head) < 12:
        return False
    (checksum,) = struct.unpack("<I", head[8:12])
    return bool(checksum == masked_checksum(head[:8]))


def masked_checksum(content: bytes) -> int:
    """Compute the CRC-32C of a few bytes, masked as TFRecord files have it."""
    remainder = 0xFFFFFFFF
    for byte in content:
        remainder ^= byte
        for _ in range(8):
            remainder = (remainder >> 1) ^ (0x82F63B78 if remainder & 1 else 0)
    checksum = remainder ^ 0xFFFFFFFF
    return (((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _is_image(name: str, head: bytes) -> bool:
    return head.startswith(_IMAGE_STARTS) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


def _is_checkpoint(name: str, head: bytes) -> bool:
    is_part = re.search(r"\.(index|meta|data-\d+-of-\d+|ckpt|h5|hdf5|keras|weights)$", name)
    is_text = b"\0" not in head
    return _CHECKPOINT_LIST.match(head) is not None or (is_part is not None and not is_text)


def _is_model(name: str, head: bytes) -> bool:
    return head[4:8] == b"TFL3" or name == "saved_model.pb"


def _is_annotation(name: str, head: bytes) -> bool:
    text = head.lstrip()
    if name.endswith((".xml", ".json", ".yaml", ".yml")):
        return text.startswith((b"<", b"{", b"[")) or name.endswith((".yaml", ".yml"))
    return name.endswith((".csv", ".tsv")) and _CSV_HEADER.match(head) is not None


_INSPECT = "look at it with `holdfast inspect {path}`"
_KINDS = (
    _Kind("a TFRecord file", _INSPECT, lambda name, head: is_record_start(head)),
    _Kind("an image", "give a pipeline.config; `holdfast convert` reads images", _is_image),
    _Kind(
        "a label map",
        "name it in a config: label_map_path; `holdfast inspect DATA --label-map {path}` uses it",
        lambda name, head: _LABEL_MAP_START.match(head) is not None,
    ),
    _Kind(
        "part of a checkpoint",
        "name the config that it was trained with; `holdfast evaluate CONFIG --checkpoint PREFIX` "
        "judges it",
        _is_checkpoint,
    ),
    _Kind("an exported model", "give the config that it was made with", _is_model),
    _Kind("an annotation file", _INSPECT, _is_annotation),
    _Kind(
        "a compressed archive",
        "unpack it first; the zoo's archives hold a pipeline.config",
        lambda name, head: head.startswith((b"\x1f\x8b", b"PK\x03\x04")),
    ),
)
