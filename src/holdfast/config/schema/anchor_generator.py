"""Anchor generators: which default boxes the detector corrects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from holdfast.config.schema.message import Message, OneOfs, UInt32


@dataclass(frozen=True, kw_only=True, repr=False)
class AnchorGenerator(Message):
    """Exactly one way to lay out anchors."""

    oneofs: ClassVar[OneOfs] = {
        "anchor_generator_oneof": (
            "grid_anchor_generator",
            "ssd_anchor_generator",
            "multiscale_anchor_generator",
            "flexible_grid_anchor_generator",
        ),
    }

    grid_anchor_generator: GridAnchorGenerator | None = None
    ssd_anchor_generator: SsdAnchorGenerator | None = None
    multiscale_anchor_generator: MultiscaleAnchorGenerator | None = None
    flexible_grid_anchor_generator: FlexibleGridAnchorGenerator | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class SsdAnchorGenerator(Message):
    """One box per aspect ratio and scale on every feature map, scales spread from min to max."""

    num_layers: int = 6
    min_scale: float = 0.2
    max_scale: float = 0.95
    scales: tuple[float, ...] = ()
    aspect_ratios: tuple[float, ...] = ()
    interpolated_scale_aspect_ratio: float = 1.0
    reduce_boxes_in_lowest_layer: bool = True
    base_anchor_height: float = 1.0
    base_anchor_width: float = 1.0
    height_stride: tuple[int, ...] = ()
    width_stride: tuple[int, ...] = ()
    height_offset: tuple[int, ...] = ()
    width_offset: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class MultiscaleAnchorGenerator(Message):
    """RetinaNet anchors: octave scales on the levels of a pyramid."""

    min_level: int = 3
    max_level: int = 7
    anchor_scale: float = 4.0
    aspect_ratios: tuple[float, ...] = ()
    scales_per_octave: int = 2
    normalize_coordinates: bool = True


@dataclass(frozen=True, kw_only=True, repr=False)
class GridAnchorGenerator(Message):
    """Faster R-CNN anchors: every scale and aspect ratio at each cell of one grid."""

    height: int = 256
    width: int = 256
    height_stride: int = 16
    width_stride: int = 16
    height_offset: int = 0
    width_offset: int = 0
    scales: tuple[float, ...] = ()
    aspect_ratios: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class FlexibleGridAnchorGenerator(Message):
    """A list of grids, each with its own sizes, ratios and strides."""

    anchor_grid: tuple[AnchorGrid, ...] = ()
    normalize_coordinates: bool = True


@dataclass(frozen=True, kw_only=True, repr=False)
class AnchorGrid(Message):
    """One grid of a flexible anchor generator."""

    base_sizes: tuple[float, ...] = ()
    aspect_ratios: tuple[float, ...] = ()
    height_stride: UInt32 = 0
    width_stride: UInt32 = 0
    height_offset: UInt32 = 0
    width_offset: UInt32 = 0
