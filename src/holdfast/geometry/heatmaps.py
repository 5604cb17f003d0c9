"""Heatmaps: a Gaussian around each point, of which the highest counts in every cell.

A Gaussian in two dimensions is the product of two in one. What is kept of each point is therefore
a row and a column, and no map of every point of every image is ever made.
"""

from __future__ import annotations

from keras import ops

from holdfast.geometry.one_by_one import one_by_one
from holdfast.geometry.tensor import Tensor

# B images, G boxes, K keypoints, C channels; maps of h x w cells; a point is (y, x) in cells
Shape = tuple[Tensor, Tensor]  # h, w


def box_deviations(heights: Tensor, widths: Tensor, *, min_overlap: float) -> Tensor:
    """Give the standard deviation, in cells, of the Gaussian at the center of boxes (...).

    A box whose corners lie up to `radius` away overlaps with the true one by min_overlap at least.
    The radius is that of the CenterNet paper's program, which leaves out a division; the other two
    cases that it looks at never give a smaller one.
    """
    b = 2.0 * min_overlap * (heights + widths)
    c = 4.0 * min_overlap * (1.0 - min_overlap) * heights * widths
    radius = (ops.sqrt(b * b + 4.0 * c) - b) / 2.0
    # The diameter is six deviations: the Gaussian has all but vanished at its ends.
    return (2.0 * ops.maximum(ops.floor(radius), 0.0) + 1.0) / 6.0


def center_heatmaps(
    points: Tensor,
    deviations: Tensor,
    channels: Tensor,
    weights: Tensor,
    shape: Shape,
    num_channels: int,
) -> Tensor:
    """Give maps (B, h, w, C) of points (B, G, 2), each in one channel, int32 (B, G).

    deviations and weights are (B, G): a Gaussian is as high as its weight. Images are drawn one
    after the other, so that the boxes of one of them, G x h x w, are the most there is at once.
    """
    height, width = shape
    rows = _falloff(points[..., 0], deviations, height) * weights[..., None]  # (B, G, h)
    columns = _falloff(points[..., 1], deviations, width)  # (B, G, w)

    def of_image(image: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        rows, columns, channels = image
        gaussians = rows[:, :, None] * columns[:, None, :]  # (G, h, w)
        highest = ops.segment_max(gaussians, channels, num_channels)  # (C, h, w)
        return ops.transpose(ops.maximum(highest, 0.0), (1, 2, 0))

    return one_by_one(of_image, (rows, columns, channels), (height, width, num_channels))


def keypoint_heatmaps(points: Tensor, deviations: Tensor, weights: Tensor, shape: Shape) -> Tensor:
    """Give maps (B, h, w, K) of points (B, G, K, 2), each in the channel of its keypoint.

    deviations and weights are (B, G, K): a Gaussian is as high as its weight.
    """
    height, width = shape
    rows = _falloff(points[..., 0], deviations, height) * weights[..., None]  # (B, G, K, h)
    columns = _falloff(points[..., 1], deviations, width)  # (B, G, K, w)
    batch, num_boxes, num_keypoints = ops.shape(weights)
    has_points = ops.any(weights > 0.0, axis=(0, 2))  # (G,)
    numbers = ops.arange(1, num_boxes + 1, dtype="int32")
    used = ops.max(ops.where(has_points, numbers, 0), initial=0)

    def add_box(box: Tensor, highest: Tensor) -> tuple[Tensor, Tensor]:
        row, column = (ops.take(each, box, axis=1) for each in (rows, columns))
        return box + 1, ops.maximum(highest, row[..., :, None] * column[..., None, :])

    _, highest = ops.while_loop(
        lambda box, _: box < used,
        add_box,
        (ops.zeros((), "int32"), ops.zeros((batch, num_keypoints, height, width))),
    )
    return ops.transpose(highest, (0, 2, 3, 1))


def outside_of_boxes(boxes: Tensor, is_dark: Tensor, shape: Shape) -> Tensor:
    """Give uint8 (B, h, w, K): 0 inside of boxes (B, G, 4) that are dark, bool (B, G, K)."""
    height, width = shape
    in_rows = _is_between(boxes[..., 0], boxes[..., 2], height)  # (B, G, h)
    in_columns = _is_between(boxes[..., 1], boxes[..., 3], width)  # (B, G, w)
    dark_rows = ops.cast(is_dark, "float32")[..., None] * in_rows[:, :, None, :]  # (B, G, K, h)
    batch, num_boxes, num_keypoints, _ = ops.shape(dark_rows)
    flat = ops.reshape(dark_rows, (batch, num_boxes, num_keypoints * height))
    count = ops.matmul(ops.transpose(flat, (0, 2, 1)), in_columns)  # (B, K x h, w)
    count = ops.reshape(count, (batch, num_keypoints, height, width))
    return ops.cast(ops.transpose(count, (0, 2, 3, 1)) < 0.5, "uint8")


def _falloff(positions: Tensor, deviations: Tensor, size: Tensor) -> Tensor:
    """Give the Gaussians (..., size) around the cells in which the positions (...) are."""
    cells = ops.arange(size, dtype="float32")
    distance = (cells - ops.floor(positions)[..., None]) / deviations[..., None]
    return ops.exp(-0.5 * distance * distance)


def _is_between(low: Tensor, high: Tensor, size: Tensor) -> Tensor:
    cells = ops.arange(size, dtype="float32")
    is_inside = ops.logical_and(cells >= low[..., None], cells < high[..., None])
    return ops.cast(is_inside, "float32")
