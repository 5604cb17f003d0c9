"""Box coders: a box written relative to its anchor, and back.

Boxes and anchors are (..., 4) with leading shapes that broadcast; codes are (..., code_size).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from keras import ops

from holdfast.geometry.boxes import CenterForm, from_center_form, to_center_form
from holdfast.geometry.tensor import Tensor

# Added to lengths before they divide or enter a logarithm; part of the OD API's numbers.
EPSILON = 1e-8


class Coder(Protocol):
    """Writes boxes as codes relative to anchors."""

    @property
    def code_size(self) -> int:
        """Numbers in the code of one box."""

    def encode(self, boxes: Tensor, anchors: Tensor) -> Tensor:
        """Write boxes relative to anchors."""

    def decode(self, codes: Tensor, anchors: Tensor) -> Tensor:
        """Give the boxes of codes."""


@dataclass(frozen=True, kw_only=True)
class FasterRcnnCoder:
    """Center offsets over the anchor's size and log size ratios: (ty, tx, th, tw).

    >>> anchor = ops.array([0.0, 0.0, 1.0, 1.0])
    >>> coder = FasterRcnnCoder()
    >>> [round(float(value), 3) for value in coder.encode(anchor + 0.1, anchor)]
    [1.0, 1.0, 0.0, 0.0]
    """

    y_scale: float = 10.0
    x_scale: float = 10.0
    height_scale: float = 5.0
    width_scale: float = 5.0

    @property
    def code_size(self) -> int:
        """Numbers in the code of one box."""
        return 4

    def encode(self, boxes: Tensor, anchors: Tensor) -> Tensor:
        """Write boxes relative to anchors."""
        box, anchor = _guarded(to_center_form(boxes)), _guarded(to_center_form(anchors))
        return ops.stack(
            [
                (box.y - anchor.y) / anchor.height * self.y_scale,
                (box.x - anchor.x) / anchor.width * self.x_scale,
                ops.log(box.height / anchor.height) * self.height_scale,
                ops.log(box.width / anchor.width) * self.width_scale,
            ],
            axis=-1,
        )

    def decode(self, codes: Tensor, anchors: Tensor) -> Tensor:
        """Give the boxes of codes."""
        anchor = to_center_form(anchors)
        return from_center_form(
            CenterForm(
                y=codes[..., 0] / self.y_scale * anchor.height + anchor.y,
                x=codes[..., 1] / self.x_scale * anchor.width + anchor.x,
                height=ops.exp(codes[..., 2] / self.height_scale) * anchor.height,
                width=ops.exp(codes[..., 3] / self.width_scale) * anchor.width,
            )
        )


@dataclass(frozen=True, kw_only=True)
class MeanStddevCoder:
    """Corner differences over a fixed standard deviation."""

    stddev: float = 0.01

    @property
    def code_size(self) -> int:
        """Numbers in the code of one box."""
        return 4

    def encode(self, boxes: Tensor, anchors: Tensor) -> Tensor:
        """Write boxes relative to anchors."""
        return (boxes - anchors) / self.stddev

    def decode(self, codes: Tensor, anchors: Tensor) -> Tensor:
        """Give the boxes of codes."""
        return codes * self.stddev + anchors


@dataclass(frozen=True, kw_only=True)
class SquareCoder:
    """Center offsets and one log length, (ty, tx, tl): every decoded box is a square."""

    y_scale: float = 10.0
    x_scale: float = 10.0
    length_scale: float = 5.0

    @property
    def code_size(self) -> int:
        """Numbers in the code of one box."""
        return 3

    def encode(self, boxes: Tensor, anchors: Tensor) -> Tensor:
        """Write boxes relative to anchors; a box counts as the square of its area."""
        box, anchor = to_center_form(boxes), to_center_form(anchors)
        length = ops.sqrt(box.height * box.width) + EPSILON
        anchor_length = ops.sqrt(anchor.height * anchor.width) + EPSILON
        return ops.stack(
            [
                (box.y - anchor.y) / anchor_length * self.y_scale,
                (box.x - anchor.x) / anchor_length * self.x_scale,
                ops.log(length / anchor_length) * self.length_scale,
            ],
            axis=-1,
        )

    def decode(self, codes: Tensor, anchors: Tensor) -> Tensor:
        """Give the squares of codes."""
        anchor = to_center_form(anchors)
        anchor_length = ops.sqrt(anchor.height * anchor.width)
        length = ops.exp(codes[..., 2] / self.length_scale) * anchor_length
        return from_center_form(
            CenterForm(
                y=codes[..., 0] / self.y_scale * anchor_length + anchor.y,
                x=codes[..., 1] / self.x_scale * anchor_length + anchor.x,
                height=length,
                width=length,
            )
        )


def _guarded(center: CenterForm) -> CenterForm:
    return center._replace(height=center.height + EPSILON, width=center.width + EPSILON)
