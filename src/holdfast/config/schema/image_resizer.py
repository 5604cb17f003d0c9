"""Image resizers: the shape in which an image enters the network."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from holdfast.config.schema.message import Message, OneOfs


class ResizeType(IntEnum):
    """The interpolation of a resize."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


@dataclass(frozen=True, kw_only=True, repr=False)
class ImageResizer(Message):
    """Exactly one resizer."""

    oneofs: ClassVar[OneOfs] = {
        "image_resizer_oneof": (
            "keep_aspect_ratio_resizer",
            "fixed_shape_resizer",
            "identity_resizer",
            "conditional_shape_resizer",
            "pad_to_multiple_resizer",
        ),
    }

    keep_aspect_ratio_resizer: KeepAspectRatioResizer | None = None
    fixed_shape_resizer: FixedShapeResizer | None = None
    identity_resizer: IdentityResizer | None = None
    conditional_shape_resizer: ConditionalShapeResizer | None = None
    pad_to_multiple_resizer: PadToMultipleResizer | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class IdentityResizer(Message):
    """Images stay as they are."""


@dataclass(frozen=True, kw_only=True, repr=False)
class KeepAspectRatioResizer(Message):
    """Shorter side to min_dimension unless the longer side would pass max_dimension."""

    min_dimension: int = 600
    max_dimension: int = 1024
    resize_method: ResizeType = ResizeType.BILINEAR
    pad_to_max_dimension: bool = False
    convert_to_grayscale: bool = False
    per_channel_pad_value: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class FixedShapeResizer(Message):
    """A fixed height and width, whatever the aspect ratio."""

    height: int = 300
    width: int = 300
    resize_method: ResizeType = ResizeType.BILINEAR
    convert_to_grayscale: bool = False


class ResizeCondition(IntEnum):
    """When a conditional resizer acts."""

    INVALID = 0
    GREATER = 1
    SMALLER = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class ConditionalShapeResizer(Message):
    """Resize only images larger (or smaller) than a threshold."""

    condition: ResizeCondition = ResizeCondition.GREATER
    size_threshold: int = 300
    resize_method: ResizeType = ResizeType.BILINEAR
    convert_to_grayscale: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class PadToMultipleResizer(Message):
    """No resize; zero padding up to a multiple."""

    multiple: int = 1
    convert_to_grayscale: bool = False
