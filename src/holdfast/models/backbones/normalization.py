"""The range of numbers in which a backbone wants its pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Normalization:
    """Pixels 0..255 of each channel become pixel * scale + offset.

    is_reversed: channels come in as red, green, blue, and go out, and are scaled, as blue, green,
    red.
    """

    scale: tuple[float, ...]
    offset: tuple[float, ...]
    is_reversed: bool = False

    def after(self, first: Normalization) -> Normalization:
        """Give what does another normalization and then this one.

        >>> halved = Normalization(scale=(0.5,) * 3, offset=(0.0,) * 3)
        >>> Normalization(scale=(1.0,) * 3, offset=(-1.0,) * 3).after(halved).scale
        (0.5, 0.5, 0.5)
        """
        turn = slice(None, None, -1 if self.is_reversed else 1)
        scale, offset = first.scale[turn], first.offset[turn]
        return Normalization(
            scale=_products(scale, self.scale),
            offset=tuple(
                scaled + own
                for scaled, own in zip(_products(offset, self.scale), self.offset, strict=True)
            ),
            is_reversed=self.is_reversed != first.is_reversed,
        )


def _products(first: Sequence[float], second: Sequence[float]) -> tuple[float, ...]:
    return tuple(one * other for one, other in zip(first, second, strict=True))


_IMAGENET_MEAN = (0.485, 0.456, 0.406)
_IMAGENET_DEVIATION = (0.229, 0.224, 0.225)
AS_IT_IS = Normalization(scale=(1.0,) * 3, offset=(0.0,) * 3)
TO_UNIT_RANGE = Normalization(scale=(2 / 255,) * 3, offset=(-1.0,) * 3)
MINUS_MEAN = Normalization(scale=(1.0,) * 3, offset=(-123.68, -116.779, -103.939))
# As Keras and Caffe trained their ResNets.
BGR_MINUS_MEAN = Normalization(
    scale=(1.0,) * 3, offset=(-103.939, -116.779, -123.68), is_reversed=True
)
BY_DEVIATION = Normalization(
    scale=tuple(1 / (255 * each) for each in _IMAGENET_DEVIATION),
    offset=tuple(
        -mean / each for mean, each in zip(_IMAGENET_MEAN, _IMAGENET_DEVIATION, strict=True)
    ),
)
