"""What a source reads, in pixels and by name, to compare with what a test reads by itself."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from holdfast.data.sources.source import Source

# Image -> objects: class name, left, top, right, bottom in pixels.
PixelBoxes = dict[str, list[tuple[str, float, float, float, float]]]


def pixel_boxes(source: Source) -> PixelBoxes:
    """Read all images of a source."""
    names = {item.id - 1: item.name for item in source.label_map.item}
    found: PixelBoxes = {}
    for entry in source.entries:
        sample = entry.read().sample
        width, height = Image.open(io.BytesIO(sample.image)).size
        found[entry.source_id] = sorted(
            (
                names[number],
                *(
                    round(float(value), 3)
                    for value in (x0 * width, y0 * height, x1 * width, y1 * height)
                ),
            )
            for number, (y0, x0, y1, x1) in zip(
                sample.classes.tolist(), sample.boxes.tolist(), strict=True
            )
        )
    return found


def write(folder: Path, texts: dict[str, str | bytes]) -> Path:
    """Write files below a folder; text as UTF-8."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder
