"""Small data sets made on the spot: scenes with objects, as TFRecords that a config reads."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw
from tests.cli.commands import CONFIG
from tests.data.example_records import record, write

from holdfast.doctor.case import Case
from holdfast.doctor.diagnose import open_case

WIDTH, HEIGHT = 160, 120
NAMES = ("disc", "bar", "plate")
COLORS = {1: (200, 60, 50), 2: (40, 70, 190), 3: (60, 160, 60)}
SIDES = {1: (26, 26), 2: (12, 34), 3: (18, 18)}  # height, width


class Scene(NamedTuple):
    """An image with its labels; a test changes what it wants to be wrong."""

    pixels: np.ndarray  # uint8 (H, W, 3)
    boxes: np.ndarray  # float32 (N, 4)
    ids: tuple[int, ...]
    name: str
    texts: tuple[str, ...] = ()
    encoded: bytes | None = None  # instead of the pixels, as PNG


def scene(seed: int, *, objects: int = 4, kinds: Sequence[int] = (1, 2, 3)) -> Scene:
    """Paint objects on a bright ground whose light changes; class by shape, color and size."""
    random = np.random.default_rng(seed)
    rough = random.integers(195, 225, (3, 4, 3), np.uint8)
    image = Image.fromarray(rough).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image)
    boxes: list[tuple[float, ...]] = []
    ids = []
    for number in range(objects):
        kind = kinds[(seed + number) % len(kinds)]
        height, width = (int(side * random.uniform(0.9, 1.1)) for side in SIDES[kind])
        # Objects keep to the upper left of their cell, so that a data set is not symmetric.
        column, row = number % 3, number // 3
        left = column * 52 + int(random.integers(2, 14))
        top = row * 56 + int(random.integers(2, 20))
        frame = (left, top, left + width, top + height)
        shade = tuple(int(level + random.integers(-12, 13)) for level in COLORS[kind])
        (draw.ellipse if kind == 1 else draw.rectangle)(frame, fill=shade)
        boxes.append((top / HEIGHT, left / WIDTH, (top + height) / HEIGHT, (left + width) / WIDTH))
        ids.append(kind)
    grain = random.normal(0, 3, (HEIGHT, WIDTH, 3))
    pixels = (np.asarray(image) + grain).clip(0, 255).astype(np.uint8)
    return Scene(pixels, np.array(boxes, np.float32).reshape(-1, 4), tuple(ids), f"{seed}.png")


def scenes(count: int, *, first: int = 0, **settings: object) -> list[Scene]:
    return [scene(first + number, **settings) for number in range(count)]  # type: ignore[arg-type]


def changed(every: Sequence[Scene], change: Callable[[Scene], Scene]) -> list[Scene]:
    return [change(each) for each in every]


def png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def data_case(
    folder: Path,
    train: Sequence[Scene],
    evaluation: Sequence[Scene] = (),
    *,
    names: Sequence[str] = NAMES,
    evaluation_names: Sequence[str] | None = None,
    config: str = CONFIG,
) -> Case:
    """Write the data, label maps and config of a case; without evaluation, only training data.

    Ids count from 1 in the order of the names; "" leaves an id out.
    """
    write(folder / "records" / "train.record-0", [_record(each) for each in train])
    _write_map(folder / "records" / "label_map.pbtxt", names)
    if evaluation:
        write(folder / "records" / "val.record-0", [_record(each) for each in evaluation])
    if evaluation_names is not None:
        _write_map(folder / "records" / "other_map.pbtxt", evaluation_names)
        before, _, after = config.rpartition("records/label_map.pbtxt")
        config = f"{before}records/other_map.pbtxt{after}"
    path = folder / "pipeline.config"
    path.write_text(config)
    return open_case(path)


def _record(each: Scene) -> bytes:
    image = png(each.pixels) if each.encoded is None else each.encoded
    return record(each.boxes, labels=each.ids, texts=each.texts, image=image, source_id=each.name)


def _write_map(path: Path, names: Sequence[str]) -> None:
    items = [
        f'item {{ id: {number} name: "{name}" }}\n'
        for number, name in enumerate(names, start=1)
        if name
    ]
    path.write_text("".join(items))
