"""AutoAugment's moves: the whole picture, or what is inside of single boxes, shifted or turned.

A motion is float32 (6,), a0 a1 a2 b0 b1 b2: the pixel (x, y) of the new picture shows the old pixel
(a0 x + a1 y + a2, b0 x + b1 y + b2), gray where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from holdfast.data.augment.frames import has_area
from holdfast.data.sample import Tensor

GRAY = 128
Motion = Callable[[Tensor], Tensor]  # height and width of what moves, int32 (2,) -> a motion


class MovedScene(NamedTuple):
    """A picture with its objects; what the data does not have is empty, never None."""

    image: Tensor  # uint8 (H, W, 3)
    boxes: Tensor  # float32 (N, 4)
    present: Tensor  # bool (N,) False once an object has left the picture
    masks: Tensor  # uint8 (N or 0, H, W)
    keypoints: Tensor  # float32 (N or 0, K, 2)


def rotation(degrees: Tensor) -> Motion:
    """Turn about the center; positive is counter-clockwise."""
    cosine, sine = tf.cos(degrees * math.pi / 180.0), tf.sin(degrees * math.pi / 180.0)

    def motion(sides: Tensor) -> Tensor:
        y, x = tf.unstack(tf.cast(sides - 1, tf.float32) / 2.0)
        x_shift = x - cosine * x + sine * y
        y_shift = y - sine * x - cosine * y
        return tf.stack([cosine, -sine, x_shift, sine, cosine, y_shift])

    return motion


def shear(x_per_y: Tensor, y_per_x: Tensor) -> Motion:
    """Slant: each row moves left by x_per_y of its y, each column up by y_per_x of its x."""
    return lambda sides: tf.stack([1.0, x_per_y, 0.0, y_per_x, 1.0, 0.0])


def shift(x: Tensor, y: Tensor) -> Motion:
    """Move left by x and up by y pixels."""
    return lambda sides: tf.stack([1.0, 0.0, x, 0.0, 1.0, y])


def mirror() -> Motion:
    """Mirror left and right."""
    return lambda sides: tf.stack([-1.0, 0.0, tf.cast(sides[1] - 1, tf.float32), 0.0, 1.0, 0.0])


def move_all(scene: MovedScene, motion: Motion) -> MovedScene:
    """Move the whole picture; a box becomes the box around its moved corners.

    Unlike in the OD API, which invents a box at the border for it, an object that leaves is gone.
    """
    sides = tf.shape(scene.image)[:2]
    matrix = motion(sides)
    boxes = tf.clip_by_value(_moved_boxes(scene.boxes, matrix, sides), 0.0, 1.0)
    whole = tf.cast(sides, tf.float32)
    return MovedScene(
        image=_warp(scene.image[tf.newaxis], matrix, GRAY)[0],
        boxes=boxes,
        present=scene.present & has_area(boxes),
        masks=_warp(scene.masks[..., tf.newaxis], matrix, 0)[..., 0],
        keypoints=_moved_keypoints(scene.keypoints * whole, matrix, whole) / whole,
    )


def move_within(scene: MovedScene, corner: Tensor, size: Tensor, motion: Motion) -> MovedScene:
    """Move what lies in a rectangle of pixels; the boxes stay."""
    matrix = motion(size)
    rows, columns = _slices(corner, size)
    image = _warp(scene.image[tf.newaxis, rows, columns], matrix, GRAY)[0]
    masks = _warp(scene.masks[:, rows, columns, tf.newaxis], matrix, 0)[..., 0]
    sides = tf.cast(tf.shape(scene.image)[:2], tf.float32)
    begin, extent = tf.cast(corner, tf.float32), tf.cast(size, tf.float32)
    places = scene.keypoints * sides - begin
    was_inside = _are_within(places, extent)
    moved = (_moved_keypoints(places, matrix, extent) + begin) / sides
    margins = _margins(corner, size, tf.shape(scene.image)[:2])
    return scene._replace(
        image=_paste(scene.image, image, [*margins, [0, 0]]),
        masks=_paste(scene.masks, masks, [[0, 0], *margins]),
        keypoints=tf.where(was_inside, moved, scene.keypoints),
    )


def paint_within(
    scene: MovedScene, corner: Tensor, size: Tensor, change: Callable[[Tensor], Tensor]
) -> MovedScene:
    """Change the colors in a rectangle of pixels."""
    rows, columns = _slices(corner, size)
    margins = _margins(corner, size, tf.shape(scene.image)[:2])
    piece = change(scene.image[rows, columns])
    return scene._replace(image=_paste(scene.image, piece, [*margins, [0, 0]]))


def cutout(image: Tensor, center: Tensor, reach: Tensor) -> Tensor:
    """Gray out the rectangle that reaches so far (height, width) to both sides of a center."""
    sides = tf.shape(image)[:2]
    begin, end = tf.maximum(center - reach, 0), tf.minimum(center + reach, sides)
    margins = _margins(begin, end - begin, sides)
    hole = tf.fill(tf.concat([end - begin, tf.shape(image)[2:]], axis=0), tf.cast(GRAY, tf.uint8))
    return _paste(image, hole, [*margins, [0, 0]])


def pixels_of(box: Tensor, image: Tensor) -> tuple[Tensor, Tensor]:
    """Give corner and size, in whole pixels, of what a box holds; never less than a pixel."""
    sides = tf.shape(image)[:2]
    corners = tf.cast(tf.reshape(box, [2, 2]) * tf.cast(sides, tf.float32), tf.int32)
    first, last = tf.minimum(corners[0], sides - 1), tf.minimum(corners[1], sides - 1)
    return first, last - first + 1


def _warp(images: Tensor, matrix: Tensor, fill: int) -> Tensor:
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=images,
        transforms=tf.concat([matrix, [0.0, 0.0]], axis=0)[tf.newaxis],
        output_shape=tf.shape(images)[1:3],
        fill_value=float(fill),
        interpolation="NEAREST",
        fill_mode="CONSTANT",
    )


def _moved_boxes(boxes: Tensor, matrix: Tensor, sides: Tensor) -> Tensor:
    whole = tf.cast(sides, tf.float32)
    y_min, x_min, y_max, x_max = tf.unstack(boxes, axis=1)
    corners = tf.stack([y_min, x_min, y_min, x_max, y_max, x_min, y_max, x_max], axis=1)
    corners = tf.reshape(corners, [-1, 4, 2]) * whole
    moved = _moved_points(corners, matrix) / whole
    return tf.concat([tf.reduce_min(moved, axis=1), tf.reduce_max(moved, axis=1)], axis=1)


def _moved_keypoints(places: Tensor, matrix: Tensor, extent: Tensor) -> Tensor:
    """Move keypoints in pixels; those that leave become NaN, for their pixel is lost."""
    moved = _moved_points(places, matrix)
    return tf.where(_are_within(moved, extent), moved, float("nan"))


def _are_within(places: Tensor, extent: Tensor) -> Tensor:
    return tf.reduce_all((places >= 0.0) & (places <= extent), axis=-1, keepdims=True)


def _moved_points(points: Tensor, matrix: Tensor) -> Tensor:
    """Find where points (..., y x in pixels) go: the motion says where pixels come from."""
    a0, a1, a2, b0, b1, b2 = tf.unstack(matrix)
    x = points[..., 1] - 0.5 - a2  # a pixel's center, not its corner, has its whole number
    y = points[..., 0] - 0.5 - b2
    determinant = a0 * b1 - a1 * b0
    new_x = (b1 * x - a1 * y) / determinant + 0.5
    new_y = (a0 * y - b0 * x) / determinant + 0.5
    return tf.stack([new_y, new_x], axis=-1)


def _slices(corner: Tensor, size: Tensor) -> tuple[slice, slice]:
    (top, left), (height, width) = tf.unstack(corner), tf.unstack(size)
    return slice(top, top + height), slice(left, left + width)


def _margins(corner: Tensor, size: Tensor, sides: Tensor) -> list[list[Tensor]]:
    after = sides - corner - size
    return [[corner[0], after[0]], [corner[1], after[1]]]


def _paste(whole: Tensor, piece: Tensor, margins: list[list[Tensor]]) -> Tensor:
    is_piece = tf.pad(tf.ones_like(piece, tf.bool), margins)
    return tf.where(is_piece, tf.pad(piece, margins), whole)
