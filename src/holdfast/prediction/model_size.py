"""How large a model is: what has to be stored or sent to use it, plain and zipped."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.checkpoints.find_checkpoint import find_prefix
from holdfast.checkpoints.legacy.legacy_reader import open_checkpoint
from holdfast.checkpoints.own.own_reader import open_own_checkpoint
from holdfast.checkpoints.trained_model import choose_trained
from holdfast.runs.run import is_run

_CHUNK = 2**20
_ONE_FILE = (".tflite", ".onnx")
_SAVED_MODEL = ("saved_model.pb", "variables/*", "assets/*")


class ModelSize(NamedTuple):
    """Bytes of a model."""

    num_bytes: int
    zipped_bytes: int


def model_size(path: Path, checkpoint: str | None = None) -> ModelSize:
    """Measure the files of an export, or the weights of a checkpoint without optimizer state."""
    packer, total, zipped = zlib.compressobj(), 0, 0
    for chunk in _content(path, checkpoint):
        total += len(chunk)
        zipped += len(packer.compress(chunk))
    return ModelSize(total, zipped + len(packer.flush()))


def exported_file(path: Path) -> Path | None:
    """Give the file that is all of a model: the path itself, or the only such one in an export."""
    if path.is_file():
        return path if path.suffix.lower() in _ONE_FILE else None
    if is_run(path):
        return None
    found = [file for file in sorted(path.glob("*")) if file.suffix.lower() in _ONE_FILE]
    return found[0] if len(found) == 1 else None


def _content(path: Path, checkpoint: str | None) -> Iterator[bytes]:
    if checkpoint is not None:
        yield from _weights(checkpoint)
    elif is_run(path):
        yield from _weights(choose_trained(path).checkpoint)
    elif file := exported_file(path):
        yield from _file(file)
    elif files := _saved_model_files(path):
        for file in files:
            yield from _file(file)
    else:
        yield from _weights(find_prefix(str(path)))


def _saved_model_files(folder: Path) -> list[Path]:
    for place in (folder, folder / "saved_model"):
        if (place / _SAVED_MODEL[0]).is_file():
            found = (file for pattern in _SAVED_MODEL for file in sorted(place.glob(pattern)))
            return [file for file in found if file.is_file()]
    return []


def _file(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def _weights(path: str) -> Iterator[bytes]:
    opened = open_own_checkpoint(path) or open_checkpoint(path)
    for name in opened.shapes:
        yield opened.value(name).tobytes()
