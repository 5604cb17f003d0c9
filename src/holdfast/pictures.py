"""Images with boxes, labels, masks and keypoints drawn on them, and sheets of many."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from holdfast.label_plates import Frame, Plate, drawing_scale, placed_plates
from holdfast.lettering import FONT_SIZE, LINE_HEIGHT, Color, text_width, write

Pixels = NDArray[np.uint8]  # (H, W, 3)

# Colors that people tell apart on any background, the most different ones first.
_PALETTE: tuple[Color, ...] = (
    *((230, 25, 75), (60, 180, 75), (255, 225, 25), (67, 99, 216), (245, 130, 49)),
    *((145, 30, 180), (66, 212, 244), (240, 50, 230), (191, 239, 69), (250, 190, 212)),
    *((0, 128, 128), (220, 190, 255), (154, 99, 36), (255, 250, 200), (128, 0, 0)),
    *((170, 255, 195), (128, 128, 0), (255, 216, 177), (0, 0, 117), (169, 169, 169)),
)
_GOLDEN_RATIO = 0.618034
_PAPER: Color = (24, 26, 30)
_INK: Color = (232, 234, 237)
_MASK_STRENGTH = 0.35
# With more boxes than this, only those that have room for it carry their label.
_LABEL_ALL = 8
_GAP = 10


class Objects(NamedTuple):
    """What to draw on an image; N objects, K keypoints each."""

    boxes: NDArray[np.float32]  # (N, 4) y_min, x_min, y_max, x_max, normalized to the image
    labels: Sequence[str]  # N: the text, which also decides the color
    masks: NDArray[np.uint8] | None = None  # (N, H, W) 0 or 1
    keypoints: NDArray[np.float32] | None = None  # (N, K, 2) y, x normalized; NaN = none
    edges: Sequence[tuple[int, int]] = ()  # pairs of keypoints that a line joins


class Cell(NamedTuple):
    """One picture of a sheet."""

    image: Pixels
    caption: str = ""
    objects: Objects | None = None


def label_colors(labels: Iterable[str]) -> dict[str, Color]:
    """Give each label a color of its own; the same labels in the same order get the same.

    >>> label_colors(["cat", "dog"])
    {'cat': (230, 25, 75), 'dog': (60, 180, 75)}
    """
    return {label: _color(index) for index, label in enumerate(dict.fromkeys(labels))}


def draw_objects(image: Pixels, objects: Objects, colors: Mapping[str, Color]) -> Pixels:
    """Draw masks, then boxes, keypoints and labels, on a copy of the image."""
    shaded = image.copy()
    if objects.masks is not None:
        for mask, label in zip(objects.masks, objects.labels, strict=True):
            _shade(shaded, mask, colors[label])
    picture = Image.fromarray(shaded)
    pen, scale = ImageDraw.Draw(picture), drawing_scale(picture.size)
    frames = [_frame(box, picture.size) for box in objects.boxes]
    for frame, label in zip(frames, objects.labels, strict=True):
        _draw_box(pen, frame, colors[label], round(scale))
    if objects.keypoints is not None:
        for points, label in zip(objects.keypoints, objects.labels, strict=True):
            places = points * picture.size[::-1]
            _draw_edges(pen, places, objects.edges, colors[label], round(2 * scale))
            _draw_keypoints(pen, places, colors[label], 4 * scale)
    named = [
        (frame, label)
        for frame, label in zip(frames, objects.labels, strict=True)
        if len(frames) <= _LABEL_ALL or text_width(label, scale) < frame[2] - frame[0]
    ]
    plates = placed_plates([frame for frame, _ in named], [text for _, text in named], picture.size)
    # The first, which are the surest, lie on top where there is no room.
    for plate, (_, label) in reversed(list(zip(plates, named, strict=True))):
        _draw_label(pen, plate, colors[label], scale)
    return np.asarray(picture)


def contact_sheet(
    cells: Sequence[Cell],
    *,
    columns: int,
    cell_width: int = 360,
    legend: Mapping[str, Color] | None = None,
) -> Pixels:
    """Tile pictures in rows, each with its caption, and name the colors below.

    Images are scaled to the width of a cell before anything is drawn on them, so that lines and
    text stay readable. Without cells the sheet is one empty row.
    """
    colors = dict(legend or {})
    for label in (text for cell in cells if cell.objects for text in cell.objects.labels):
        colors.setdefault(label, _color(len(colors)))
    pictures = [_scaled_cell(cell, cell_width, colors) for cell in cells]
    rows = [pictures[start : start + columns] for start in range(0, len(pictures), columns)]
    captions = [cell.caption for cell in cells]
    width = _GAP + min(columns, max(len(cells), 1)) * (cell_width + _GAP)
    width = max(width, cell_width + 2 * _GAP)
    heights = [max(len(picture) for picture in row) + LINE_HEIGHT + _GAP for row in rows]
    legend_rows = _legend_rows(legend or {}, width)
    height = _GAP + sum(heights) + len(legend_rows) * (LINE_HEIGHT + 4) + _GAP
    sheet = Image.new("RGB", (width, height), _PAPER)
    top = _GAP
    for number, row in enumerate(rows):
        for column, picture in enumerate(row):
            left = _GAP + column * (cell_width + _GAP)
            caption = captions[number * columns + column]
            _paste(sheet, picture, caption, (left, top), cell_width)
        top += heights[number]
    _draw_legend(sheet, legend_rows, top)
    return np.asarray(sheet)


def save_png(path: str, image: Pixels) -> None:
    """Write an image as PNG."""
    Image.fromarray(image).save(path, "PNG")


def _color(index: int) -> Color:
    if index < len(_PALETTE):
        return _PALETTE[index]
    # Beyond the palette: hues far from each other, at three strengths.
    hue = index * _GOLDEN_RATIO % 1.0
    red, green, blue = colorsys.hsv_to_rgb(
        hue, (0.9, 0.55, 0.75)[index % 3], (1.0, 0.95, 0.7)[index % 3]
    )
    return round(red * 255), round(green * 255), round(blue * 255)


def _shade(image: Pixels, mask: NDArray[np.uint8], color: Color) -> None:
    """Mix the color into the pixels of a mask, in place."""
    inside = mask.astype(bool)
    mixed = image[inside] * (1 - _MASK_STRENGTH) + np.array(color) * _MASK_STRENGTH
    image[inside] = mixed.astype(np.uint8)


def _frame(box: NDArray[np.float32], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Give left, top, right, bottom in whole pixels inside the picture."""
    width, height = size
    top, left, bottom, right = (float(side) for side in box)
    return (
        int(np.clip(round(left * width), 0, width - 1)),
        int(np.clip(round(top * height), 0, height - 1)),
        int(np.clip(round(right * width) - 1, 0, width - 1)),
        int(np.clip(round(bottom * height) - 1, 0, height - 1)),
    )


def _draw_box(pen: ImageDraw.ImageDraw, frame: Frame, color: Color, width: int) -> None:
    """Draw a colored line between two dark ones: visible on bright, dark and colored ground."""
    left, top, right, bottom = frame
    right, bottom = max(left, right), max(top, bottom)
    for grow, shade in ((width + 1, (0, 0, 0)), (-width, (0, 0, 0)), (width, color)):
        corners = (left - grow, top - grow, right + grow, bottom + grow)
        if corners[0] <= corners[2] and corners[1] <= corners[3]:
            pen.rectangle(corners, outline=shade, width=2 * width if shade == color else 1)


def _draw_keypoints(
    pen: ImageDraw.ImageDraw, places: NDArray[np.float64], color: Color, radius: float
) -> None:
    """Draw a dot on each of the keypoints (K, 2) y, x in pixels that are there."""
    for y, x in places[np.isfinite(places).all(axis=-1)].tolist():
        corners = (x - radius, y - radius, x + radius, y + radius)
        pen.ellipse(corners, fill=color, outline=(0, 0, 0))


def _draw_edges(
    pen: ImageDraw.ImageDraw,
    points: NDArray[np.float64],
    edges: Sequence[tuple[int, int]],
    color: Color,
    width: int,
) -> None:
    """Join keypoints (K, 2) y, x in pixels, where both are there."""
    for pair in edges:
        ends = points[list(pair)] if max(pair) < len(points) else np.zeros(0)
        if len(ends) and np.isfinite(ends).all():
            pen.line([(x, y) for y, x in ends.tolist()], fill=color, width=width)


def _draw_label(pen: ImageDraw.ImageDraw, plate: Plate, color: Color, scale: float) -> None:
    left, top, _, _ = plate.frame
    pen.rectangle(plate.frame, fill=color, outline=(0, 0, 0))
    write(pen, (left + 3, top + scale), plate.text, _contrast(color), scale)


def _contrast(color: Color) -> Color:
    red, green, blue = color
    return (0, 0, 0) if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else (255, 255, 255)


def _scaled_cell(cell: Cell, width: int, colors: Mapping[str, Color]) -> Pixels:
    """Scale an image to a width, no higher than 4:3 portrait, then draw its objects on it."""
    height_then, width_then = cell.image.shape[:2]
    scale = min(width / width_then, width * 4 / 3 / height_then)
    size = max(1, round(width_then * scale)), max(1, round(height_then * scale))
    picture = np.asarray(Image.fromarray(cell.image).resize(size, Image.Resampling.LANCZOS))
    if cell.objects is None:
        return picture
    objects = cell.objects
    if objects.masks is not None:
        objects = objects._replace(masks=_scaled_masks(objects.masks, size))
    return draw_objects(picture, objects, colors)


def _scaled_masks(masks: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    scaled = [
        np.asarray(Image.fromarray(mask).resize(size, Image.Resampling.NEAREST)) for mask in masks
    ]
    return np.array(scaled, np.uint8).reshape(-1, size[1], size[0])


def _paste(
    sheet: Image.Image, picture: Pixels, caption: str, corner: tuple[int, int], width: int
) -> None:
    left, top = corner
    sheet.paste(Image.fromarray(picture), (left + (width - picture.shape[1]) // 2, top))
    pen = ImageDraw.Draw(sheet)
    write(pen, (left, top + len(picture) + 3), _shortened(caption, width), _INK)


def _shortened(text: str, width: int) -> str:
    """Cut the start off a text that is too long: file names differ at their end."""
    if text_width(text) <= width:
        return text
    while text and text_width("..." + text) > width:
        text = text[1:]
    return "..." + text


def _legend_rows(legend: Mapping[str, Color], width: int) -> list[list[tuple[str, Color, int]]]:
    """Lay the names of the colors out in rows: name, color and the left edge of each."""
    rows: list[list[tuple[str, Color, int]]] = []
    left = width
    for label, color in legend.items():
        needed = LINE_HEIGHT + text_width(label) + 16
        if left + needed > width - _GAP:
            rows.append([])
            left = _GAP
        rows[-1].append((label, color, left))
        left += needed
    return rows


def _draw_legend(
    sheet: Image.Image, rows: Sequence[Sequence[tuple[str, Color, int]]], top: int
) -> None:
    pen = ImageDraw.Draw(sheet)
    side = FONT_SIZE
    for row in rows:
        for label, color, left in row:
            pen.rectangle((left, top + 2, left + side, top + 2 + side), fill=color, outline=_INK)
            write(pen, (left + side + 5, top), label, _INK)
        top += LINE_HEIGHT + 4
