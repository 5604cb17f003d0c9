"""The pixels of synthetic scenes: textured ground, colored figures with smooth edges."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from holdfast.data.sources.synthetic_shapes import Figure, Points, Random

Pixels = NDArray[np.float32]  # (H, W, 3) 0..255
_FINER = 4  # a pixel's coverage is counted on a grid this much finer
_JPEG_QUALITY = 92


class Coverage(NamedTuple):
    """How much of each pixel lies inside an outline; only the part of the image it touches."""

    share: NDArray[np.float32]  # (h, w) 0..1
    left: int
    top: int


def draw_scene(figures: Sequence[Figure], size: int, random: Random) -> bytes:
    """Draw figures on a new ground, the last on top, as JPEG."""
    pixels = _ground(size, random)
    for figure in figures:
        cover = coverage(figure.outline, size)
        height, width = cover.share.shape
        part = pixels[cover.top : cover.top + height, cover.left : cover.left + width]
        share = cover.share[:, :, None]
        part[:] = part * (1 - share) + _fill(part, share, random) * share
    pixels += random.normal(0, 4, pixels.shape)
    stream = io.BytesIO()
    image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
    image.save(stream, "JPEG", quality=_JPEG_QUALITY)
    return stream.getvalue()


def coverage(outline: Points, size: int) -> Coverage:
    """Count for every pixel that the outline touches how much of it lies inside."""
    left, top = np.floor(outline.min(axis=0)).clip(0, size - 1).astype(int).tolist()
    right, bottom = np.ceil(outline.max(axis=0)).clip(1, size).astype(int).tolist()
    canvas = Image.new("L", ((right - left) * _FINER, (bottom - top) * _FINER))
    # Pillow puts the center of the first pixel at 0, we put its corner there.
    points = [tuple(point) for point in (outline - [left, top]) * _FINER - 0.5]
    ImageDraw.Draw(canvas).polygon(points, fill=255)
    share = np.asarray(canvas.reduce(_FINER), np.float32)
    return Coverage(share * np.float32(1 / 255), left, top)


def _ground(size: int, random: Random) -> Pixels:
    """Make a ground of soft blotches of several sizes, crossed by strokes."""
    pixels = random.uniform(60, 190, 3) + np.zeros((size, size, 3))
    for cells, strength in ((3, 30), (8, 18), (24, 12)):
        pixels += strength * _blotches(size, size, cells, random)
    canvas = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(canvas)
    for _ in range(int(random.integers(3, 9))):
        ends = random.uniform(0, size, 4).tolist()
        color = tuple(int(value) for value in random.uniform(40, 215, 3))
        draw.line(ends, fill=color, width=int(random.integers(1, max(2, size // 80) + 1)))
    return np.array(canvas, np.float32)


def _blotches(height: int, width: int, cells: int, random: Random) -> Pixels:
    coarse = random.normal(0, 1, (cells, cells, 3)).astype(np.float32)
    channels = [
        Image.fromarray(coarse[:, :, index]).resize((width, height), Image.Resampling.BICUBIC)
        for index in range(3)
    ]
    return np.stack([np.asarray(channel) for channel in channels], axis=-1)


def _fill(part: Pixels, share: NDArray[np.float32], random: Random) -> Pixels:
    """Make a color that stands out from what it covers, lit from one side, with some grain."""
    height, width = part.shape[:2]
    there = (part * share).sum(axis=(0, 1)) / share.sum()
    colors = random.uniform(10, 245, (4, 3))
    color = max(colors, key=lambda one: float(np.abs(one - there).sum()))
    down, across = random.uniform(-20, 20, 2)
    light = np.add.outer(np.linspace(-down, down, height), np.linspace(-across, across, width))
    lit = color + light[:, :, None] + 8 * _blotches(height, width, 4, random)
    return np.asarray(lit, np.float32)
