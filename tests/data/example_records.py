"""TFRecords made on the spot, good and bad."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from PIL import Image

GOOD_BOX = (0.1, 0.2, 0.5, 0.6)  # y_min, x_min, y_max, x_max


def png(width: int = 20, height: int = 10, *, seed: int = 0) -> bytes:
    """Make an image of random pixels; PNG keeps them exactly."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def claiming(width: int, height: int) -> bytes:
    """Make a small PNG whose header claims another size, as a file does that fills the memory."""
    encoded = bytearray(png(8, 8))
    encoded[16:24] = struct.pack(">II", width, height)
    encoded[29:33] = struct.pack(">I", zlib.crc32(encoded[12:29]))
    return bytes(encoded)


def pixels_of(encoded: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(encoded)).convert("RGB"))


def record(
    boxes: Sequence[Sequence[float]] = (GOOD_BOX,),
    *,
    labels: Sequence[int] | None = None,
    texts: Sequence[str] | None = None,
    image: bytes | None = None,
    source_id: str = "one.png",
    rename: dict[str, str] | None = None,
    **features: Any,
) -> bytes:
    """Serialize a record; `features` are further keys with `__` for `/`, or replaced ones."""
    columns = np.array(boxes, np.float32).reshape(-1, 4).T.tolist()
    sides = ("ymin", "xmin", "ymax", "xmax")
    values: dict[str, Any] = {
        "image/encoded": [png() if image is None else image],
        "image/source_id": [source_id.encode()],
        **{
            f"image/object/bbox/{side}": column for side, column in zip(sides, columns, strict=True)
        },
        "image/object/class/label": [1] * len(boxes) if labels is None else list(labels),
        "image/object/class/text": [text.encode() for text in texts or ()],
    }
    values |= {key.replace("__", "/"): value for key, value in features.items()}
    for old, new in (rename or {}).items():
        values[new] = values.pop(old)
    feature = {key: _feature(value) for key, value in values.items()}
    example = tf.train.Example(features=tf.train.Features(feature=feature))
    return example.SerializeToString()


def write(path: Path, records: Sequence[bytes], compression: str = "") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for each in records:
            writer.write(each)
    return str(path)


def _feature(values: Sequence[Any]) -> tf.train.Feature:
    if not len(values):
        return tf.train.Feature()  # a list of no kind, as good as none
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
