"""What is wrong with the pixels of images, each alone and beside the others of its data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.doctor.looks import ImageLook
from holdfast.doctor.two_samples import compare_numbers

_BLACK = 24.0  # of 255: 12 bits in a file of 16 reach 16; photographs of the night have lamps
_WHITE = 235.0
_ONE_COLOR = 1.0  # standard deviation
_FEW_LEVELS = 4  # shares of 0..1 written as bytes have 2, numbers of -1..1 have 3
_GRAY = 3.0  # mean difference of channels; JPEG does not keep gray exactly
_LEAST_SPREAD = 6.0  # gray levels: data that varies less is measured as if it varied so much
# Photographs of anything spread by 20 and more: a bright one among them is not an inverted one.
_ALIKE = 12.0
_FAR, _NEAR = 4.0, 2.0  # in spreads of the data: not of its kind, of its kind
_ALL_FAR, _ALL_NEAR = 1.5, 0.5  # the same of a median, which varies less
_LEAST_IMAGES = 10
# Distances of Kolmogorov and Smirnov between how far red exceeds blue in the images of two data
# sets. Parts of one stay below 0.33 (two of blood cells, raccoons, okra; 300 draws of each); with
# red and blue exchanged the medians are 0.82 to 0.98.
_OTHER_WARMTH, _SAME_WARMTH, _SURELY = 0.55, 0.3, 0.001

Color = NDArray[np.float64]  # (3,)
_EXCHANGED = "with red and blue exchanged"
_CHANGES: dict[str, Callable[[Color], Color]] = {
    "inverted": lambda color: 255.0 - color,
    _EXCHANGED: lambda color: color[::-1],
}


class Typical(NamedTuple):
    """The colors of a data set's images."""

    color: Color  # median of the images' means
    spread: float  # median distance from it


def typical_colors(looks: Sequence[ImageLook]) -> Typical:
    """Say what images of a data set are like; a part of them may be wrong, up to a half."""
    colors = np.array([look.measures.color for look in looks], np.float64).reshape(-1, 3)
    middle = np.median(colors, axis=0)
    distances = np.abs(colors - middle).mean(axis=-1)
    return Typical(middle, max(float(np.median(distances)), _LEAST_SPREAD))


def fault_of(look: ImageLook, typical: Typical) -> str | None:
    """Name what is wrong with an image; None if nothing is."""
    seen = look.measures
    if seen.brightest <= _BLACK:
        return "almost black: more than 8 bits, or 0..1, written as 0..255"
    if seen.darkest >= _WHITE:
        return "almost white: out of range"
    if seen.contrast < _ONE_COLOR:
        return "of one color"
    if seen.levels <= _FEW_LEVELS:
        return "of a few gray levels only: 0..1 or -1..1 written as 0..255"
    if typical.spread > _ALIKE:
        return None
    return _change_to(typical, np.array(seen.color), _FAR, _NEAR)


def fault_of_all(train: Sequence[ImageLook], looks: Sequence[ImageLook]) -> str | None:
    """Name what is wrong with the colors of a whole data set, beside those of another.

    Where images are alike, `fault_of` tells of each what is far off.
    """
    typical = typical_colors(train)
    if min(len(looks), len(train)) < _LEAST_IMAGES:
        return None
    change = None
    if typical.spread > _ALIKE:
        change = _change_to(typical, typical_colors(looks).color, _ALL_FAR, _ALL_NEAR)
    return change or _exchanged(_warmth(train), _warmth(looks))


def _exchanged(train: NDArray[np.float64], other: NDArray[np.float64]) -> str | None:
    """Tell whether red exceeds blue in one data set as blue exceeds red in the other.

    The difference of the two varies little from image to image, also where colors are pale.
    """
    differs, agrees = compare_numbers(train, other), compare_numbers(train, -other)
    is_other = differs.distance >= _OTHER_WARMTH and differs.probability < _SURELY
    return _EXCHANGED if is_other and agrees.distance <= _SAME_WARMTH else None


def _warmth(looks: Sequence[ImageLook]) -> NDArray[np.float64]:
    colors = np.array([look.measures.color for look in looks], np.float64).reshape(-1, 3)
    return np.asarray(colors[:, 0] - colors[:, 2])


def _change_to(typical: Typical, color: Color, far: float, near: float) -> str | None:
    """Name the change that makes a color typical which is far from it."""
    if _distance(color, typical) <= far:
        return None
    for name, change in _CHANGES.items():
        if _distance(change(color), typical) < near:
            return name
    return None


def is_gray(look: ImageLook) -> bool:
    """Tell whether an image has no color."""
    return look.measures.saturation < _GRAY


def _distance(color: Color, typical: Typical) -> float:
    return float(np.abs(color - typical.color).mean() / typical.spread)
