"""Box coders: how a box is written relative to its anchor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from holdfast.config.schema.message import Message, OneOfs


@dataclass(frozen=True, kw_only=True, repr=False)
class BoxCoder(Message):
    """Exactly one box coder."""

    oneofs: ClassVar[OneOfs] = {
        "box_coder_oneof": (
            "faster_rcnn_box_coder",
            "mean_stddev_box_coder",
            "square_box_coder",
            "keypoint_box_coder",
        ),
    }

    faster_rcnn_box_coder: FasterRcnnBoxCoder | None = None
    mean_stddev_box_coder: MeanStddevBoxCoder | None = None
    square_box_coder: SquareBoxCoder | None = None
    keypoint_box_coder: KeypointBoxCoder | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class FasterRcnnBoxCoder(Message):
    """Center offsets over anchor size and log size ratios, each multiplied by its scale."""

    y_scale: float = 10.0
    x_scale: float = 10.0
    height_scale: float = 5.0
    width_scale: float = 5.0


@dataclass(frozen=True, kw_only=True, repr=False)
class KeypointBoxCoder(Message):
    """The Faster R-CNN coder with keypoint offsets appended."""

    num_keypoints: int = 0
    y_scale: float = 10.0
    x_scale: float = 10.0
    height_scale: float = 5.0
    width_scale: float = 5.0


@dataclass(frozen=True, kw_only=True, repr=False)
class MeanStddevBoxCoder(Message):
    """Corner differences over a fixed standard deviation."""

    stddev: float = 0.01


@dataclass(frozen=True, kw_only=True, repr=False)
class SquareBoxCoder(Message):
    """Center offsets and one log length: boxes are squares."""

    y_scale: float = 10.0
    x_scale: float = 10.0
    length_scale: float = 5.0
