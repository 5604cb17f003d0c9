"""The random crops of the SSD paper, with and without padding."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.config.schema.message import Message


@dataclass(frozen=True, kw_only=True, repr=False)
class SSDRandomCropOperation(Message):
    """One candidate crop of SSDRandomCrop."""

    min_object_covered: float = 0.0
    min_aspect_ratio: float = 0.0
    max_aspect_ratio: float = 0.0
    min_area: float = 0.0
    max_area: float = 0.0
    overlap_thresh: float = 0.0
    clip_boxes: bool = True
    random_coef: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class SSDRandomCrop(Message):
    """The crop of the SSD paper: one of several operations at random."""

    operations: tuple[SSDRandomCropOperation, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class SSDRandomCropPadOperation(Message):
    """One candidate of SSDRandomCropPad."""

    min_object_covered: float = 0.0
    min_aspect_ratio: float = 0.0
    max_aspect_ratio: float = 0.0
    min_area: float = 0.0
    max_area: float = 0.0
    overlap_thresh: float = 0.0
    clip_boxes: bool = True
    random_coef: float = 0.0
    min_padded_size_ratio: tuple[float, ...] = ()
    max_padded_size_ratio: tuple[float, ...] = ()
    pad_color_r: float = 0.0
    pad_color_g: float = 0.0
    pad_color_b: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class SSDRandomCropPad(Message):
    """One of several crops at random, then padding."""

    operations: tuple[SSDRandomCropPadOperation, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class SSDRandomCropFixedAspectRatioOperation(Message):
    """One candidate of SSDRandomCropFixedAspectRatio."""

    min_object_covered: float = 0.0
    min_area: float = 0.0
    max_area: float = 0.0
    overlap_thresh: float = 0.0
    clip_boxes: bool = True
    random_coef: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class SSDRandomCropFixedAspectRatio(Message):
    """One of several crops at random, at one aspect ratio."""

    operations: tuple[SSDRandomCropFixedAspectRatioOperation, ...] = ()
    aspect_ratio: float = 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class SSDRandomCropPadFixedAspectRatioOperation(Message):
    """One candidate of SSDRandomCropPadFixedAspectRatio."""

    min_object_covered: float = 0.0
    min_aspect_ratio: float = 0.0
    max_aspect_ratio: float = 0.0
    min_area: float = 0.0
    max_area: float = 0.0
    overlap_thresh: float = 0.0
    clip_boxes: bool = True
    random_coef: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class SSDRandomCropPadFixedAspectRatio(Message):
    """One of several crops at random, padded to one aspect ratio."""

    operations: tuple[SSDRandomCropPadFixedAspectRatioOperation, ...] = ()
    aspect_ratio: float = 1.0
    min_padded_size_ratio: tuple[float, ...] = ()
    max_padded_size_ratio: tuple[float, ...] = ()
