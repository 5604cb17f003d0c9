"""Images not decoded yet: crops and flips choose which pixels of the file are to be made at all."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from holdfast.data.input.decode_images import cut_pixels, decode_image, decode_part_of_jpeg
from holdfast.data.sample import Sample, Tensor


class View(NamedTuple):
    """A rectangle of a stored image, perhaps mirrored: an image that is still to be decoded.

    Only a JPEG can be decoded in part, so any other file is decoded at once, and cut at the end.
    """

    encoded: Tensor  # string ()
    is_jpeg: Tensor  # bool ()
    pixels: Tensor  # uint8 (H, W, 3) of the stored image; (0, 0, 3) of a JPEG
    stored: Tensor  # int32 (2,) height and width of the stored image
    corner: Tensor  # int32 (2,) y, x of the rectangle in the stored image
    size: Tensor  # int32 (2,) height and width of the rectangle
    is_mirrored: Tensor  # bool (2,) top and bottom; left and right


def view_of(encoded: Tensor) -> View:
    """View a whole file; of a JPEG, only the header is read, and only if something is cut."""
    is_jpeg = tf.io.is_jpeg(encoded)

    def undecoded() -> tuple[Tensor, Tensor]:
        return tf.zeros([0, 0, 3], tf.uint8), tf.io.extract_jpeg_shape(encoded)[:2]

    def decoded() -> tuple[Tensor, Tensor]:
        pixels = decode_image(encoded)
        return pixels, tf.shape(pixels)[:2]

    pixels, stored = tf.cond(is_jpeg, undecoded, decoded)
    stored = tf.ensure_shape(stored, [2])
    return View(
        encoded=encoded,
        is_jpeg=is_jpeg,
        pixels=pixels,
        stored=stored,
        corner=tf.constant([0, 0]),
        size=stored,
        is_mirrored=tf.constant([False, False]),
    )


def with_pixels(sample: Sample) -> Sample:
    """Decode the image where that is still to be done."""
    view = sample.image
    if not isinstance(view, View):
        return sample
    return sample._replace(image=_mirrored(_decoded(view), view.is_mirrored))


def sides_of(image: Tensor | View) -> Tensor:
    """Give height and width, int32 (2,)."""
    return image.size if isinstance(image, View) else tf.shape(image)[:2]


def cut_image(image: Tensor | View, corner: Tensor, size: Tensor) -> Tensor | View:
    """Cut to a rectangle of pixels: corner (y, x) and size (height, width)."""
    if not isinstance(image, View):
        return cut_pixels(image, corner, size)
    from_end = image.size - (corner + size)
    offset = tf.where(image.is_mirrored, from_end, corner)
    return image._replace(corner=image.corner + offset, size=size)


def mirror_image(image: Tensor | View, axis: int) -> Tensor | View:
    """Mirror along an axis: 0 top and bottom, 1 left and right."""
    if not isinstance(image, View):
        return tf.reverse(image, axis=[axis])
    return image._replace(is_mirrored=image.is_mirrored != tf.constant([axis == 0, axis == 1]))


def _decoded(view: View) -> Tensor:
    """Decode the rectangle, not mirrored."""
    if view.size is view.stored:  # never cut: then nothing reads the header either
        return decode_image(view.encoded)
    return tf.cond(
        view.is_jpeg,
        lambda: decode_part_of_jpeg(view.encoded, view.stored, view.corner, view.size),
        lambda: cut_pixels(view.pixels, view.corner, view.size),
    )


def _mirrored(image: Tensor, is_mirrored: Tensor) -> Tensor:
    """Mirror the axes whose flag is set, without a branch if no flip ever comes."""
    known = tf.get_static_value(is_mirrored)
    if known is not None and not known.any():
        return image
    return tf.cond(
        tf.reduce_any(is_mirrored),
        lambda: tf.reverse(image, axis=tf.reshape(tf.where(is_mirrored), [-1])),
        lambda: image,
    )
