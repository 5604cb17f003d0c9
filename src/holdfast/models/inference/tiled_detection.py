"""Detect in an image tile by tile, so that small objects of large images are seen as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.geometry.image_tiles import Tile, Tiling, tiles_of
from holdfast.geometry.merged_tiles import MergedDetections, TileDetections, merge_tiles
from holdfast.geometry.spread_crops import spread_crops
from holdfast.models.inference.detections import Detections

# T tiles at once, N detections in all tiles of an image, M objects of it, K keypoints an object

# Images uint8 (T, h, w, 3), all tiles of one size -> what is in each, normalized to the tile.
Detect = Callable[[NDArray[np.uint8]], Detections]


def detect_in_tiles(
    image: NDArray[np.uint8], detect: Detect, tiling: Tiling, *, at_once: int = 1
) -> Detections:
    """Detect in each tile of an image (H, W, 3), and put the detections together again.

    Args:
        image: The image, as large as it is.
        detect: Finds objects in tiles. It always gets `at_once` of them, the last one repeated.
        tiling: How to cut the image.
        at_once: How many tiles to detect in at a time.

    Returns:
        The objects of the whole image, as of a batch of one.
    """
    height, width = image.shape[:2]
    tiles = tiles_of(height, width, tiling)
    found = []
    for start in range(0, len(tiles), at_once):
        chosen = tiles[start : start + at_once]
        filled = [*chosen, *[chosen[-1]] * (at_once - len(chosen))]
        pixels = np.stack([_cut(image, tile) for tile in filled])
        found.append(_first(detect(pixels), len(chosen)))
    return merge_detections(found, tiles, height, width)


def merge_detections(
    found: Sequence[Detections], tiles: Sequence[Tile], height: int, width: int
) -> Detections:
    """Merge detections, normalized to their tiles, into those of an image of this size.

    found: batches, which together have a row for each tile.
    """
    counts = np.concatenate([np.asarray(each.count) for each in found])
    rows = np.arange(max(np.shape(each.boxes)[1] for each in found)) < counts[:, None]
    of_tile = np.nonzero(rows)[0]  # (N,)
    frames = np.array(tiles, np.float32).reshape(-1, 4)[of_tile]  # (N, 4) top, left, height, width
    corner, sides = frames[:, :2], frames[:, 2:]
    image = np.array([height, width], np.float32)

    def listed(name: str) -> NDArray[np.float32] | None:
        values = [getattr(each, name) for each in found]
        return None if values[0] is None else np.concatenate([np.asarray(v) for v in values])[rows]

    boxes = _required(listed("boxes")) * np.tile(sides, 2) + np.tile(corner, 2)
    classes = _required(listed("classes")).astype(np.int32)
    merged = merge_tiles(
        TileDetections(boxes, _required(listed("scores")), classes, of_tile), tiles, height, width
    )
    masks, points, scores = (listed(each) for each in ("masks", "keypoints", "keypoint_scores"))
    if points is not None:
        points = (points * sides[:, None] + corner[:, None]) / image
        points, scores = _best_points(merged, points, scores)
    return Detections(
        boxes=(merged.boxes / np.tile(image, 2))[None],
        scores=merged.scores[None],
        classes=merged.classes[None],
        count=np.array([len(merged.scores)], np.int32),
        masks=None if masks is None else _merged_masks(merged, masks, boxes)[None],
        keypoints=None if points is None else points[None],
        keypoint_scores=None if scores is None else scores[None],
    )


def _merged_masks(
    merged: MergedDetections, masks: NDArray[np.float32], boxes: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Give each object the mask of its only detection, or those of its parts in one."""
    objects = np.zeros((len(merged.boxes), *masks.shape[1:]), np.float32)
    for index, members in enumerate(merged.members):
        if len(members) == 1:
            objects[index] = masks[members[0]]
        else:
            objects[index] = spread_crops(masks[members], boxes[members], merged.boxes[index])
    return objects


def _best_points(
    merged: MergedDetections, points: NDArray[np.float32], scores: NDArray[np.float32] | None
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Take each keypoint from the part of the object that is surest of it, else from the first."""
    count = len(merged.members)
    best = np.zeros((count, points.shape[1]), np.intp)  # (M, K) rows
    for index, members in enumerate(merged.members):
        best[index] = members[0] if scores is None else members[scores[members].argmax(axis=0)]
    column = np.arange(points.shape[1])
    return points[best, column], None if scores is None else scores[best, column]


def _cut(image: NDArray[np.uint8], tile: Tile) -> NDArray[np.uint8]:
    return image[tile.top : tile.top + tile.height, tile.left : tile.left + tile.width]


def _first(detections: Detections, count: int) -> Detections:
    return Detections(*(None if each is None else np.asarray(each)[:count] for each in detections))


def _required(values: NDArray[np.float32] | None) -> NDArray[np.float32]:
    assert values is not None
    return values
