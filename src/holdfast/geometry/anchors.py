"""Anchor generators: the default boxes that a detector corrects, tiled over its feature maps.

One float32 (height * width * per location, 4) for each feature map, in the order row, column,
anchor. Of an input whose size is known they are constants, so NumPy arrays; of one whose height and
width are tensors they are tensors, by the same formulas. The arithmetic is float32 in the order of
the OD API, because matching breaks ties between anchors of equal overlap by the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from keras import ops
from numpy.typing import NDArray

from holdfast.errors import HoldfastError
from holdfast.geometry.tensor import Tensor

FloatArray = NDArray[np.float32] | Tensor
Side = int | Tensor  # a tensor where it is not known before the network runs
Shape = tuple[Side, Side]  # height, width of a feature map


class AnchorLayer(Protocol):
    """Lays out anchors for a detector."""

    @property
    def anchors_per_location(self) -> tuple[int, ...]:
        """How many anchors stand at each location, for each feature map."""

    def anchors(
        self, shapes: Sequence[Shape], image_height: Side, image_width: Side
    ) -> list[FloatArray]:
        """Give the anchors of each feature map."""


@dataclass(frozen=True, kw_only=True)
class SsdAnchors:
    """The default boxes of SSD, normalized to the image: scales grow from map to map.

    Sizes are relative to the shorter side of the image, so that an anchor of aspect ratio 1 is
    square in any image. Without strides, the anchors of a map are spread evenly over the image.

    >>> generator = SsdAnchors(num_layers=2, aspect_ratios=(1.0, 2.0))
    >>> generator.anchors_per_location
    (3, 3)
    >>> [len(anchors) for anchors in generator.anchors([(2, 2), (1, 1)], 32, 32)]
    [12, 3]
    """

    num_layers: int = 6
    min_scale: float = 0.2
    max_scale: float = 0.95
    scales: Sequence[float] = ()
    aspect_ratios: Sequence[float] = ()
    interpolated_scale_aspect_ratio: float = 1.0
    reduce_boxes_in_lowest_layer: bool = True
    base_anchor_height: float = 1.0
    base_anchor_width: float = 1.0
    height_stride: Sequence[int] = ()
    width_stride: Sequence[int] = ()
    height_offset: Sequence[int] = ()
    width_offset: Sequence[int] = ()

    def __post_init__(self) -> None:
        layers = len(self._specifications())
        strides = ("stride", self.height_stride, self.width_stride)
        offsets = ("offset", self.height_offset, self.width_offset)
        for name, heights, widths in (strides, offsets):
            if heights and min(len(heights), len(widths)) != layers:
                raise HoldfastError(
                    f"The SSD anchor generator has {layers} layers, but {len(heights)} "
                    f"height_{name} and {len(widths)} width_{name}.",
                    fix=f"Give one height_{name} and one width_{name} for each layer, or none.",
                )

    @property
    def anchors_per_location(self) -> tuple[int, ...]:
        """How many anchors stand at each location, for each feature map."""
        return tuple(len(specification) for specification in self._specifications())

    def anchors(
        self, shapes: Sequence[Shape], image_height: Side, image_width: Side
    ) -> list[FloatArray]:
        """Give the anchors of each feature map, normalized to the image and not clipped."""
        image = [_float32(image_height), _float32(image_width)]
        shorter = _library(image_height, image_width).minimum(*image)
        base_size = [
            shorter / side * _as_float32(base)
            for side, base in zip(
                image, (self.base_anchor_height, self.base_anchor_width), strict=True
            )
        ]
        layers = self._specifications()
        strides = self._in_image(self.height_stride, self.width_stride, image)
        offsets = self._in_image(self.height_offset, self.width_offset, image)
        _check_maps("SSD", len(layers), shapes)
        anchors = []
        for layer, (shape, specification) in enumerate(zip(shapes, layers, strict=True)):
            stride = strides[layer] if strides else [1.0 / _float32(side) for side in shape]
            offset = offsets[layer] if offsets else [0.5 * each for each in stride]
            scales = [scale for scale, _ in specification]
            ratios = [ratio for _, ratio in specification]
            anchors.append(tile(shape, scales, ratios, base_size, stride, offset))
        return anchors

    def _specifications(self) -> list[list[tuple[float, float]]]:
        """List (scale, aspect ratio) of the anchors of each layer."""
        scales = [*(map(_as_float32, self.scales) if self.scales else self._spread_scales()), 1.0]
        layers = []
        for layer in range(min(self.num_layers, len(scales) - 1)):
            scale, next_scale = scales[layer], scales[layer + 1]
            boxes = [(scale, ratio) for ratio in self.aspect_ratios]
            if self.interpolated_scale_aspect_ratio > 0:
                between = float(np.sqrt(scale * next_scale))
                boxes.append((between, self.interpolated_scale_aspect_ratio))
            if layer == 0 and self.reduce_boxes_in_lowest_layer:
                boxes = [(0.1, 1.0), (scale, 2.0), (scale, 0.5)]
            layers.append(boxes)
        return layers

    def _spread_scales(self) -> list[float]:
        if self.num_layers < 2:
            raise HoldfastError(
                "An SSD anchor generator with one layer cannot spread scales from min_scale to "
                "max_scale.",
                fix="List the scale of the layer in `scales`.",
            )
        first, last = _as_float32(self.min_scale), _as_float32(self.max_scale)
        steps = self.num_layers - 1
        return [first + (last - first) * layer / steps for layer in range(self.num_layers)]

    @staticmethod
    def _in_image(
        heights: Sequence[int], widths: Sequence[int], image: Sequence[Tensor]
    ) -> list[list[Tensor]]:
        """Divide pairs of pixels by the image's size; none stay none."""
        return [
            [_float32(pixels) / side for pixels, side in zip(pair, image, strict=True)]
            for pair in zip(heights, widths, strict=False)
        ]


@dataclass(frozen=True, kw_only=True)
class MultiscaleAnchors:
    """The anchors of RetinaNet: octave scales on the levels of a pyramid of stride 2**level.

    >>> MultiscaleAnchors(aspect_ratios=(1.0, 2.0, 0.5)).anchors_per_location
    (6, 6, 6, 6, 6)
    """

    min_level: int = 3
    max_level: int = 7
    anchor_scale: float = 4.0
    aspect_ratios: Sequence[float] = ()
    scales_per_octave: int = 2
    normalize_coordinates: bool = True

    @property
    def anchors_per_location(self) -> tuple[int, ...]:
        """How many anchors stand at each location, for each feature map."""
        return (len(self.aspect_ratios) * self.scales_per_octave,) * len(self._levels())

    def anchors(
        self, shapes: Sequence[Shape], image_height: Side, image_width: Side
    ) -> list[FloatArray]:
        """Give the anchors of each feature map, not clipped."""
        _check_maps("multiscale", len(self._levels()), shapes)
        scales = [2 ** (step / self.scales_per_octave) for step in range(self.scales_per_octave)]
        anchors = []
        for shape, level in zip(shapes, self._levels(), strict=True):
            stride = 2**level
            offset = [_offset(side, stride) for side in (image_height, image_width)]
            base_size = [stride * self.anchor_scale] * 2
            boxes = tile(shape, *_grid(scales, self.aspect_ratios), base_size, [stride] * 2, offset)
            if self.normalize_coordinates:
                boxes = _normalized(boxes, image_height, image_width)
            anchors.append(boxes)
        return anchors

    def _levels(self) -> range:
        return range(self.min_level, self.max_level + 1)


@dataclass(frozen=True, kw_only=True)
class GridAnchors:
    """The anchors of Faster R-CNN, in pixels: every scale and aspect ratio on one feature map."""

    height: int = 256
    width: int = 256
    height_stride: int = 16
    width_stride: int = 16
    height_offset: int = 0
    width_offset: int = 0
    scales: Sequence[float] = ()
    aspect_ratios: Sequence[float] = ()

    @property
    def anchors_per_location(self) -> tuple[int, ...]:
        """How many anchors stand at each location of the only feature map."""
        return (len(self.scales) * len(self.aspect_ratios),)

    def anchors(
        self, shapes: Sequence[Shape], image_height: Side = 0, image_width: Side = 0
    ) -> list[FloatArray]:
        """Give the anchors of the only feature map in pixels; the image's size does not matter."""
        _check_maps("grid", 1, shapes)
        scales, ratios = _grid(self.scales, self.aspect_ratios)
        stride = (self.height_stride, self.width_stride)
        offset = (self.height_offset, self.width_offset)
        return [tile(shapes[0], scales, ratios, (self.height, self.width), stride, offset)]


@dataclass(frozen=True, kw_only=True)
class GridLevel:
    """One grid of flexible anchors, in pixels; box i has base_sizes[i] and aspect_ratios[i]."""

    base_sizes: Sequence[float]
    aspect_ratios: Sequence[float]
    height_stride: int
    width_stride: int
    height_offset: int = 0
    width_offset: int = 0

    def __post_init__(self) -> None:
        if len(self.base_sizes) != len(self.aspect_ratios):
            raise HoldfastError(
                f"An anchor grid has {len(self.base_sizes)} base_sizes, but "
                f"{len(self.aspect_ratios)} aspect_ratios.",
                fix="Give one aspect ratio for each base size.",
            )


@dataclass(frozen=True, kw_only=True)
class FlexibleGridAnchors:
    """A grid of its own sizes, ratios and strides for each feature map."""

    anchor_grid: Sequence[GridLevel]
    normalize_coordinates: bool = True

    @property
    def anchors_per_location(self) -> tuple[int, ...]:
        """How many anchors stand at each location, for each feature map."""
        return tuple(len(grid.base_sizes) for grid in self.anchor_grid)

    def anchors(
        self, shapes: Sequence[Shape], image_height: Side, image_width: Side
    ) -> list[FloatArray]:
        """Give the anchors of each feature map, not clipped."""
        _check_maps("flexible grid", len(self.anchor_grid), shapes)
        anchors = []
        for shape, grid in zip(shapes, self.anchor_grid, strict=True):
            stride = (grid.height_stride, grid.width_stride)
            offset = (grid.height_offset, grid.width_offset)
            boxes = tile(shape, grid.base_sizes, grid.aspect_ratios, (1.0, 1.0), stride, offset)
            if self.normalize_coordinates:
                boxes = _normalized(boxes, image_height, image_width)
            anchors.append(boxes)
        return anchors


def tile(
    shape: Shape,
    scales: Sequence[float],
    aspect_ratios: Sequence[float],
    base_size: Sequence[Tensor],
    stride: Sequence[Tensor],
    offset: Sequence[Tensor],
) -> FloatArray:
    """Place one box for each (scale, aspect ratio) at every location of a grid of this shape.

    base_size, stride and offset are (y, x) pairs. Gives (height * width * len(scales), 4).
    """
    scale = np.array(scales, np.float32)  # (K,)
    root = np.sqrt(np.array(aspect_ratios, np.float32))  # (K,)
    library = _library(*shape)
    size = library.stack(
        [scale / root * _float32(base_size[0]), scale * root * _float32(base_size[1])], axis=-1
    )  # (K, 2)
    y, x = (
        _float32(library.arange(side)) * _float32(step) + _float32(first)
        for side, step, first in zip(shape, stride, offset, strict=True)
    )
    grid = library.stack(library.meshgrid(y, x, indexing="ij"), axis=-1)  # (H, W, 2)
    center = library.expand_dims(grid, 2)  # (H, W, 1, 2)
    half = np.float32(0.5) * size  # (K, 2)
    boxes = library.concatenate([center - half, center + half], axis=-1)  # (H, W, K, 4)
    return library.reshape(boxes, (-1, 4))


def _grid(
    scales: Sequence[float], aspect_ratios: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Pair every aspect ratio with every scale, the scale running faster."""
    pairs = [(scale, ratio) for ratio in aspect_ratios for scale in scales]
    return [scale for scale, _ in pairs], [ratio for _, ratio in pairs]


def _normalized(boxes: FloatArray, image_height: Side, image_width: Side) -> FloatArray:
    y_scale, x_scale = 1.0 / _float32(image_height), 1.0 / _float32(image_width)
    return boxes * _library(image_height, image_width).stack([y_scale, x_scale, y_scale, x_scale])


def _offset(side: Side, stride: int) -> Tensor:
    """Give the place of the first anchor: in the corner if the stride does not divide the side.

    A side of 1 stands for an image that anchors in pixels know nothing of.
    """
    if ops.is_tensor(side):
        return ops.where(side % stride == 0, stride / 2, 0.0)
    return 0.0 if side % stride and side != 1 else stride / 2


def _library(*sides: Side) -> Any:
    """Choose what computes: NumPy with numbers, Keras where one of them is a tensor."""
    return ops if any(map(ops.is_tensor, sides)) else np


def _float32(value: Any) -> Tensor:
    return ops.cast(value, "float32") if ops.is_tensor(value) else np.float32(value)


def _as_float32(value: float) -> float:
    """Round as a config's float field does, which holds 32 bits."""
    return float(np.float32(value))


def _check_maps(kind: str, layers: int, shapes: Sequence[Shape]) -> None:
    if len(shapes) != layers:
        raise HoldfastError(
            f"The {kind} anchor generator has {layers} layers, but the network has "
            f"{len(shapes)} feature maps.",
            fix="Make the number of layers or levels of both equal.",
        )
