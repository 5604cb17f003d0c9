"""How well boxes fit what the pixels show, as written and as a mistake would have changed them.

An object differs from what surrounds it: the mean color inside a box that fits is farther from that
of the ring around it than for a box beside the object, or too large for it. One box says little,
since neighbors and shadows mislead; the mean over some hundred says whether boxes would fit better
with x and y exchanged, mirrored, moved, or made smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.doctor.looks import ImageLook

# N boxes of an image; box = (y_min, x_min, y_max, x_max), normalized

_RING = 0.25  # width of the ring on each side, as a share of the box
_LEAST_SIDE = 3  # pixels of the thumbnail: smaller boxes have no inside to speak of
_LEAST_RING = 0.3  # of the box's area: a box that fills its image has no surroundings
_LEAST_DEVIATION = 4.0  # gray levels; the colors of an image without contrast are all alike

Boxes = NDArray[np.float32]
Change = Callable[[Boxes], Boxes]


class Fit(NamedTuple):
    """How boxes fit after a change, beside how they fit as written."""

    contrast: float  # mean over images, in standard deviations of the image's colors
    gain: float  # contrast / contrast as written - 1
    error: float  # standard error of the gain
    images: int

    @property
    def certainty(self) -> float:
        """The gain in its standard errors."""
        return self.gain / max(self.error, 1e-9)


def exchanged(boxes: Boxes) -> Boxes:
    """Exchange x and y."""
    return boxes[:, [1, 0, 3, 2]]


def mirrored(boxes: Boxes) -> Boxes:
    """Mirror left and right."""
    return np.stack([boxes[:, 0], 1 - boxes[:, 3], boxes[:, 2], 1 - boxes[:, 1]], axis=-1)


def upside_down(boxes: Boxes) -> Boxes:
    """Mirror top and bottom, as for a y axis that points up."""
    return np.stack([1 - boxes[:, 2], boxes[:, 1], 1 - boxes[:, 0], boxes[:, 3]], axis=-1)


def moved(down: float, right: float) -> Change:
    """Make the function that moves boxes by shares of the image."""
    return lambda boxes: boxes + np.array([down, right, down, right], np.float32)


def moved_by_size(down: float, right: float) -> Change:
    """Make the function that moves boxes by shares of their own height and width."""

    def move(boxes: Boxes) -> Boxes:
        sides = boxes[:, 2:] - boxes[:, :2]
        return boxes + np.tile(sides * np.array([down, right], np.float32), 2)

    return move


def resized(factor: float) -> Change:
    """Make the function that scales boxes about their centers."""

    def resize(boxes: Boxes) -> Boxes:
        centers, halves = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2
        return np.concatenate([centers - halves * factor, centers + halves * factor], axis=-1)

    return resize


def compare_fits(looks: Sequence[ImageLook], changes: Mapping[str, Change]) -> dict[str, Fit]:
    """Say for each change how boxes fit with it; images whose boxes cannot be measured count not.

    A box counts where it can be measured both as written and changed. Boxes of an image are not
    independent of each other: an image counts once, by the mean of its boxes.
    """
    sums = [_color_sums(look.thumbnail) for look in looks]
    plain = [_contrasts(table, look.image.boxes) for table, look in zip(sums, looks, strict=True)]
    fits = {}
    for name, change in changes.items():
        means = []
        for look, table, before in zip(looks, sums, plain, strict=True):
            after = _contrasts(table, change(look.image.boxes))
            both = np.isfinite(before) & np.isfinite(after)
            if both.any():
                means.append((before[both].mean(), after[both].mean()))
        fits[name] = _fit(np.array(means, np.float64).reshape(-1, 2))
    return fits


def fit_of_strangers(looks: Sequence[ImageLook]) -> Fit:
    """Say how the boxes of other images would fit; those of its own must do much better."""
    others = [*looks[1:], *looks[:1]]
    sums = [_color_sums(look.thumbnail) for look in looks]
    means = []
    for look, other, table in zip(looks, others, sums, strict=True):
        before = _contrasts(table, look.image.boxes)
        after = _contrasts(table, other.image.boxes)
        if np.isfinite(before).any() and np.isfinite(after).any():
            means.append((np.nanmean(before), np.nanmean(after)))
    return _fit(np.array(means, np.float64).reshape(-1, 2))


def _fit(means: NDArray[np.float64]) -> Fit:
    """Sum up the contrasts of images (I, 2): as written, changed."""
    if len(means) < 2:
        return Fit(0.0, 0.0, np.inf, len(means))
    differences = means[:, 1] - means[:, 0]
    before, after = means.mean(axis=0).tolist()
    unit = max(before, 1e-9)
    error = float(differences.std(ddof=1)) / np.sqrt(len(differences)) / unit
    return Fit(after, after / unit - 1, error, len(means))


class _Sums(NamedTuple):
    table: NDArray[np.float64]  # (H + 1, W + 1, 3) colors summed over what is above and left
    deviation: float


def _color_sums(thumbnail: NDArray[np.uint8]) -> _Sums:
    height, width, _ = thumbnail.shape
    table = np.zeros((height + 1, width + 1, 3))
    table[1:, 1:] = thumbnail.astype(np.float64).cumsum(axis=0).cumsum(axis=1)
    deviation = float(thumbnail.reshape(-1, 3).std(axis=0).mean())
    return _Sums(table, max(deviation, _LEAST_DEVIATION))


def _contrasts(sums: _Sums, boxes: Boxes) -> NDArray[np.float64]:
    """Measure each box (N,); NaN where it is too small, or has no surroundings in the image."""
    height, width = sums.table.shape[0] - 1, sums.table.shape[1] - 1
    scale = np.array([height, width] * 2, np.float32)
    inner = np.clip(np.round(boxes * scale), 0, scale).astype(np.int64)  # (N, 4)
    sides = inner[:, 2:] - inner[:, :2]
    grown = resized(1 + 2 * _RING)(boxes) * scale
    outer = np.clip(np.round(grown), 0, scale).astype(np.int64)
    inner_sum, inner_area = _summed(sums.table, inner)
    outer_sum, outer_area = _summed(sums.table, outer)
    ring_area = outer_area - inner_area
    usable = (sides >= _LEAST_SIDE).all(axis=-1) & (ring_area >= _LEAST_RING * inner_area)
    inside = inner_sum / np.maximum(inner_area, 1)[:, None]
    ring = (outer_sum - inner_sum) / np.maximum(ring_area, 1)[:, None]
    distance = np.sqrt(((inside - ring) ** 2).mean(axis=-1)) / sums.deviation
    return np.where(usable, distance, np.nan)


def _summed(
    table: NDArray[np.float64], boxes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    top, left, bottom, right = boxes.T
    total = table[bottom, right] - table[top, right] - table[bottom, left] + table[top, left]
    return total, (bottom - top) * (right - left)
