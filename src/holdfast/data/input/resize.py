"""The resizers of pipeline.config: the shape in which an image and its masks enter the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple, TypeVar

import tensorflow as tf

from holdfast.data.sample import Tensor
from holdfast.errors import HoldfastError

GRAY_WEIGHTS = (0.2989, 0.5870, 0.1140)  # luma of ITU-R BT.601 (it sums to 0.9999)


F = TypeVar("F", bound=Callable[..., Any])


def as_written(function: F) -> F:
    """Keep AutoGraph, which cannot read `match`, from rewriting a function inside Dataset.map."""
    plain: F = tf.autograph.experimental.do_not_convert(function)
    return plain


class Interpolation(StrEnum):
    """How pixels between pixels are made up."""

    BILINEAR = "BILINEAR"
    NEAREST_NEIGHBOR = "NEAREST_NEIGHBOR"
    BICUBIC = "BICUBIC"
    AREA = "AREA"


class Condition(StrEnum):
    """Which images a conditional resizer changes."""

    GREATER = "GREATER"
    SMALLER = "SMALLER"


class Resized(NamedTuple):
    """What a resizer returns."""

    image: (
        Tensor  # (H, W, C) uint8 if only copied (nearest, pad, identity) from uint8, else float32
    )
    masks: Tensor  # uint8 (N, H, W), or None
    size: Tensor  # int32 (3,) height, width and channels before the padding


@as_written
def fixed_shape(
    image: Tensor,
    masks: Tensor = None,
    *,
    height: int = 300,
    width: int = 300,
    resize_method: str = Interpolation.BILINEAR,
    convert_to_grayscale: bool = False,
) -> Resized:
    """Resize to one height and width, whatever the aspect ratio."""
    image, masks = resize_to(image, masks, (height, width), resize_method)
    return _finish(image, masks, tf.shape(image), convert_to_grayscale)


@as_written
def keep_aspect_ratio(
    image: Tensor,
    masks: Tensor = None,
    *,
    min_dimension: int = 600,
    max_dimension: int = 1024,
    resize_method: str = Interpolation.BILINEAR,
    pad_to_max_dimension: bool = False,
    convert_to_grayscale: bool = False,
    per_channel_pad_value: Sequence[float] = (),
) -> Resized:
    """Bring the shorter side to min_dimension, or less if the longer would pass max_dimension."""
    if min_dimension > max_dimension:
        raise HoldfastError(
            f"keep_aspect_ratio_resizer: min_dimension {min_dimension} is larger than "
            f"max_dimension {max_dimension}.",
            fix="Swap the two, or make them equal.",
        )
    sides = _sides(image)
    short, long = float(min_dimension), float(max_dimension)
    bounds = tf.where(sides[0] < sides[1], [short, long], [long, short])
    new_size = tf.cast(tf.round(sides * tf.reduce_min(bounds / sides)), tf.int32)
    image, masks = resize_to(image, masks, new_size, resize_method)
    size = tf.shape(image)
    if pad_to_max_dimension:
        image = _pad_bottom_right(image, max_dimension, max_dimension, per_channel_pad_value)
        masks = _pad_masks(masks, max_dimension, max_dimension)
    return _finish(image, masks, size, convert_to_grayscale)


@as_written
def conditional_shape(
    image: Tensor,
    masks: Tensor = None,
    *,
    condition: str = Condition.GREATER,
    size_threshold: int = 300,
    resize_method: str = Interpolation.BILINEAR,
    convert_to_grayscale: bool = False,
) -> Resized:
    """Shrink what is longer, or enlarge what is shorter, than the threshold; aspect ratio kept."""
    sides = _sides(image)
    match Condition(condition):
        case Condition.GREATER:
            side = tf.reduce_max(sides)
            target = tf.minimum(side, float(size_threshold))
        case Condition.SMALLER:
            side = tf.reduce_min(sides)
            target = tf.maximum(side, float(size_threshold))
    new_size = tf.cast(sides * (target / side), tf.int32)  # rounds down, unlike keep_aspect_ratio
    # This resizer alone aligns the corner pixels of the two images; the others scale from 0.
    image, masks = resize_to(image, masks, new_size, resize_method, align_corners=True)
    return _finish(image, masks, tf.shape(image), convert_to_grayscale)


@as_written
def pad_to_multiple(
    image: Tensor, masks: Tensor = None, *, multiple: int = 1, convert_to_grayscale: bool = False
) -> Resized:
    """Pad with 0 at the bottom and right until both sides are a multiple."""
    if multiple < 1:
        raise HoldfastError(
            f"pad_to_multiple_resizer: multiple is {multiple}.", fix="Use 1 or more."
        )
    size = tf.shape(image)
    height, width = ((size[axis] + multiple - 1) // multiple * multiple for axis in (0, 1))
    image = _pad_bottom_right(image, height, width, ())
    return _finish(image, _pad_masks(masks, height, width), size, convert_to_grayscale)


def identity(image: Tensor, masks: Tensor = None) -> Resized:
    """Leave the image as it is."""
    return Resized(image=image, masks=masks, size=tf.shape(image))


@as_written
def resize_to(
    image: Tensor,
    masks: Tensor,
    size: Tensor,
    resize_method: str = Interpolation.BILINEAR,
    *,
    align_corners: bool = False,
) -> tuple[Tensor, Tensor]:
    """Resize an image, and its masks by nearest neighbor; masks may be None."""
    images = interpolate(tf.expand_dims(image, 0), size, resize_method, align_corners=align_corners)
    image = tf.squeeze(images, 0)
    if masks is not None:
        masks = _resized_masks(masks, size, align_corners)
    return image, masks


def _resized_masks(masks: Tensor, size: Tensor, align_corners: bool) -> Tensor:
    """Resize by nearest neighbor, which changes nothing where the size is right already."""
    method = Interpolation.NEAREST_NEIGHBOR

    def resized() -> Tensor:
        return interpolate(masks[..., tf.newaxis], size, method, align_corners=align_corners)[
            ..., 0
        ]

    is_right = tf.reduce_all(tf.shape(masks)[1:] == size)
    known = tf.get_static_value(size)
    result = tf.cond(is_right, lambda: masks, resized)
    return tf.ensure_shape(
        result, [masks.shape[0], *(known if known is not None else (None, None))]
    )


@as_written
def interpolate(
    images: Tensor, size: Tensor, resize_method: str, *, align_corners: bool = False
) -> Tensor:
    """Resize (B, H, W, C) with TensorFlow 1's kernels: pixel i lies at i, not at i + 1/2.

    That grid (half_pixel_centers=False) and the lack of antialiasing are what the OD API's
    checkpoints were trained with. NEAREST_NEIGHBOR keeps the dtype; the others give float32.
    """
    match Interpolation(resize_method):
        case Interpolation.BILINEAR:
            resize = _bilinear
        case Interpolation.NEAREST_NEIGHBOR:
            resize = tf.raw_ops.ResizeNearestNeighbor
        case Interpolation.BICUBIC:
            resize = tf.raw_ops.ResizeBicubic
        case Interpolation.AREA:
            resize = tf.raw_ops.ResizeArea
    return resize(images=images, size=size, align_corners=align_corners)


_SMALL_ELEMENTS = 8 * 2**20  # of uint8; as float32 they take 32 MiB


def _bilinear(*, images: Tensor, size: Tensor, align_corners: bool) -> Tensor:
    """Resize; small uint8 images are cast first, large ones are spared the fourfold memory.

    The numbers are the same, and the kernel takes half the time on float32, cast included.
    """
    resize = partial(tf.raw_ops.ResizeBilinear, size=size, align_corners=align_corners)
    if images.dtype != tf.uint8:
        return resize(images=images)
    return tf.cond(
        tf.size(images) < _SMALL_ELEMENTS,
        lambda: resize(images=tf.cast(images, tf.float32)),
        lambda: resize(images=images),
    )


def to_gray(image: Tensor) -> Tensor:
    """Mix three channels into one: float32 (H, W, 1)."""
    return tf.reduce_sum(tf.cast(image, tf.float32) * GRAY_WEIGHTS, axis=-1, keepdims=True)


def _finish(image: Tensor, masks: Tensor, size: Tensor, convert_to_grayscale: bool) -> Resized:
    if convert_to_grayscale:
        image = to_gray(image)
        size = tf.stack([size[0], size[1], 1])
    return Resized(image=image, masks=masks, size=size)


def _sides(image: Tensor) -> Tensor:
    """Give height and width as float32: the OD API computes in it, and the rounding shows."""
    return tf.cast(tf.shape(image)[:2], tf.float32)


def _pad_bottom_right(
    image: Tensor, height: int | Tensor, width: int | Tensor, color: Sequence[float]
) -> Tensor:
    if color and len(color) != image.shape[-1]:
        raise HoldfastError(
            f"per_channel_pad_value has {len(color)} values, and the image {image.shape[-1]} "
            "channels.",
            fix="Give one value for each channel, or none for black.",
        )
    if color and any(color):
        image = tf.cast(image, tf.float32)
    size = tf.shape(image)
    margins = [[0, height - size[0]], [0, width - size[1]]]
    padded = tf.pad(image, [*margins, [0, 0]])
    if color and any(color):
        is_margin = tf.pad(tf.zeros(size[:2]), margins, constant_values=1.0)
        padded += is_margin[..., tf.newaxis] * tf.constant(color, tf.float32)
    if isinstance(height, int) and isinstance(width, int):
        padded.set_shape([height, width, image.shape[-1]])
    return padded


def _pad_masks(masks: Tensor, height: int | Tensor, width: int | Tensor) -> Tensor:
    if masks is None:
        return None
    size = tf.shape(masks)
    return tf.pad(masks, [[0, 0], [0, height - size[1]], [0, width - size[2]]])
