"""A data set of four images, made of samples, to be written in every format."""

from __future__ import annotations

import io
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from holdfast.data.sample import Sample
from holdfast.data.sources.classes import build_classes
from holdfast.data.sources.source import Entry, Reading, Source

WIDTH, HEIGHT = 40, 30
FORMATS = ("coco", "voc", "yolo", "csv")


def picture(seed=0, image_format="JPEG", **options):
    pixels = np.random.default_rng(seed).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, image_format, **options)
    return stream.getvalue()


def sample_of(boxes, classes, *, image=None, source_id="", **fields):
    """A sample; boxes are x_min, y_min, x_max, y_max in pixels."""
    corners = np.array(boxes, np.float64).reshape(-1, 4)[:, [1, 0, 3, 2]]
    count = len(corners)
    values = {
        "weights": np.ones(count, np.float32),
        "confidences": np.ones(count, np.float32),
        **{name: np.zeros(count, bool) for name in ("difficult", "truncated", "group_of")},
        "is_crowd": np.zeros(count, bool),
        "areas": np.zeros(count, np.float32),
    }
    return Sample(
        image=picture() if image is None else image,
        source_id=source_id,
        boxes=(corners / [HEIGHT, WIDTH, HEIGHT, WIDTH]).astype(np.float32),
        classes=np.array(classes, np.int32),
        **(values | {name: np.array(value) for name, value in fields.items()}),
    )


def source_of(samples, *, splits=None, names=None, filenames=None, masks=False, keypoints=None):
    """A source of samples by id."""
    label_map = build_classes(names or {1: "cat", 3: "big dog"}, keypoints).label_map
    entries = tuple(
        Entry(
            source_id=source_id,
            place=f"{source_id}.txt",
            filename=(filenames or {}).get(source_id, f"{source_id}.jpg"),
            read=partial(Reading, sample._replace(source_id=source_id)),
            split=(splits or {}).get(source_id),
            class_counts=Counter(sample.classes.tolist()),
        )
        for source_id, sample in samples.items()
    )
    return Source(format="test", location="test", label_map=label_map, entries=entries, masks=masks)


PETS = {
    "a": sample_of([[1, 2, 11, 12], [4.25, 5, 39.5, 29.75]], [0, 2]),
    "b": sample_of([[0, 0, 40, 30]], [2], image=picture(1, "PNG")),
    "c": sample_of([], [], image=picture(2)),
    "d": sample_of([[30, 3, 30.2, 4]], [0], image=picture(3)),
}
SPLITS = {"a": "train", "b": "val", "c": "train", "d": "test"}


def contents(folder):
    paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}
