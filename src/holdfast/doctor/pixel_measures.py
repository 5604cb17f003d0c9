"""What the pixels of an image are like, in a few numbers: brightness, color, range, levels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_MEASURED_PIXELS = 200_000  # of larger images every second, third, … pixel is looked at
_LEVEL_SHARE = 0.001  # of the pixels that a gray level must have to count: noise of JPEG does not
_WEIGHTS = (0.299, 0.587, 0.114)  # of red, green and blue in the brightness


class PixelMeasures(NamedTuple):
    """Numbers about one image, 0..255 where they are levels."""

    color: tuple[float, float, float]  # mean red, green, blue
    brightness: float  # mean gray
    contrast: float  # standard deviation of gray
    saturation: float  # mean difference between the largest and the smallest channel
    darkest: float  # gray level below which 0.5 % of the pixels are
    brightest: float  # … and above which 0.5 % are
    levels: int  # gray levels in use


def measured(pixels: NDArray[np.uint8]) -> PixelMeasures:
    """Measure an image (H, W, 3).

    >>> seen = measured(np.full((4, 4, 3), 10, np.uint8))
    >>> seen.brightness, seen.saturation, seen.levels
    (10.0, 0.0, 1)
    """
    step = max(1, int(np.sqrt(pixels.shape[0] * pixels.shape[1] / _MEASURED_PIXELS)))
    values = pixels[::step, ::step].reshape(-1, 3).astype(np.float32)  # (P, 3)
    gray = np.round(values @ np.array(_WEIGHTS, np.float32))  # (P,)
    shares = np.bincount(gray.astype(np.int64), minlength=256) / len(gray)
    darkest, brightest = np.percentile(gray, (0.5, 99.5)).tolist()
    red, green, blue = values.mean(axis=0).tolist()
    return PixelMeasures(
        color=(red, green, blue),
        brightness=float(gray.mean()),
        contrast=float(gray.std()),
        saturation=float((values.max(axis=1) - values.min(axis=1)).mean()),
        darkest=darkest,
        brightest=brightest,
        levels=int((shares >= _LEVEL_SHARE).sum()),
    )
