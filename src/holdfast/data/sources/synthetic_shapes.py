"""The shapes of synthetic scenes, and how they come to lie in an image."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from holdfast.data.sources.outlines import polygon_area

Points = NDArray[np.float64]  # (P, 2) x, y
Random = np.random.Generator
_ELLIPSE_POINTS = 72
_ATTEMPTS = 50
_GRID = 128  # the side of the grid on which visibility is counted


@dataclass(frozen=True, kw_only=True)
class SyntheticScene:
    """What the images are like; lengths as shares of the image's side."""

    size: int = 320  # pixels of the square image's side
    fewest: int = 2  # shapes in an image, unless they find no place
    most: int = 6
    smallest: float = 0.12  # diameter of a shape
    largest: float = 0.4
    visible: float = 0.6  # share of every shape that is inside the image and not covered


class Outlined(NamedTuple):
    """A shape around the origin within a circle of radius 1; both lists run the same way round."""

    outline: Points
    keypoints: Points


class Figure(NamedTuple):
    """A shape in its place, in pixels of the image."""

    kind: str
    outline: Points
    keypoints: Points  # clockwise from the topmost


def ellipse(random: Random) -> Outlined:
    """Draw an ellipse; its keypoints are the ends of its axes."""
    axes = np.array([1.0, random.uniform(0.6, 1.0)])
    return Outlined(_around(_ELLIPSE_POINTS) * axes, _around(4) * axes)


def rectangle(random: Random) -> Outlined:
    """Draw a rectangle; its keypoints are its corners."""
    angle = math.atan(random.uniform(0.45, 1.0))
    corner = np.array([math.cos(angle), math.sin(angle)])
    corners = corner * [[1, 1], [-1, 1], [-1, -1], [1, -1]]
    return Outlined(corners, corners)


def triangle(random: Random) -> Outlined:
    """Draw a triangle with two equal sides; its keypoints are its corners."""
    tip = _around(3)
    tip[1:, 1] *= random.uniform(0.75, 1.0)
    return Outlined(tip, tip)


def star(random: Random) -> Outlined:
    """Draw a star of five tips, which are its keypoints."""
    radii = np.tile([1.0, random.uniform(0.4, 0.5)], 5)
    points = _around(10) * radii[:, None]
    return Outlined(points, points[::2])


SHAPES: Mapping[str, Callable[[Random], Outlined]] = {
    "ellipse": ellipse,
    "rectangle": rectangle,
    "star": star,
    "triangle": triangle,
}
KEYPOINTS = {"ellipse": 4, "rectangle": 4, "star": 5, "triangle": 3}


def arrange(scene: SyntheticScene, random: Random) -> list[Figure]:
    """Place figures one upon the other, the last on top, each visible enough."""
    figures: list[Figure] = []
    for _ in range(int(random.integers(scene.fewest, scene.most + 1))):
        for _ in range(_ATTEMPTS):
            more = [*figures, _figure(scene, random)]
            if _least_visible(more, scene.size) >= scene.visible:
                figures = more
                break
    return figures


def _figure(scene: SyntheticScene, random: Random) -> Figure:
    kind = str(random.choice(list(SHAPES)))
    shape = SHAPES[kind](random)
    radius = scene.size * random.uniform(scene.smallest, scene.largest) / 2
    angle = random.uniform(0, 2 * math.pi)
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    center = random.uniform(0.1 * scene.size, 0.9 * scene.size, size=2)
    outline, keypoints = (points @ turn * radius + center for points in shape)
    first = int(np.argmin(keypoints[:, 1]))
    return Figure(kind, outline, np.roll(keypoints, -first, axis=0))


def _around(count: int) -> Points:
    """Give points on the unit circle, clockwise as y points down."""
    angles = 2 * math.pi * np.arange(count) / count
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _least_visible(figures: Sequence[Figure], size: int) -> float:
    """Give the share of its area that the least visible figure shows, counted on a coarse grid."""
    canvas = Image.new("L", (_GRID, _GRID))
    draw = ImageDraw.Draw(canvas)
    scale = _GRID / size
    for number, figure in enumerate(figures, start=1):
        draw.polygon([tuple(point) for point in figure.outline * scale - 0.5], fill=number)
    seen = np.bincount(np.asarray(canvas).ravel(), minlength=len(figures) + 1)[1:]
    areas = [polygon_area(figure.outline * scale) for figure in figures]
    return float(min(seen / areas))
