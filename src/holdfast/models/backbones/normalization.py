"""The range of numbers in which a backbone wants its pixels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Normalization:
    """Pixels 0..255 of each channel become pixel * scale + offset."""

    scale: tuple[float, ...]
    offset: tuple[float, ...]


_IMAGENET_MEAN = (0.485, 0.456, 0.406)
_IMAGENET_DEVIATION = (0.229, 0.224, 0.225)
TO_UNIT_RANGE = Normalization(scale=(2 / 255,) * 3, offset=(-1.0,) * 3)
MINUS_MEAN = Normalization(scale=(1.0,) * 3, offset=(-123.68, -116.779, -103.939))
BY_DEVIATION = Normalization(
    scale=tuple(1 / (255 * each) for each in _IMAGENET_DEVIATION),
    offset=tuple(
        -mean / each for mean, each in zip(_IMAGENET_MEAN, _IMAGENET_DEVIATION, strict=True)
    ),
)
