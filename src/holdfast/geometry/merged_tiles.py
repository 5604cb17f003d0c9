"""Put the detections of overlapping tiles together again: one for each object of the image.

Two tiles look at the same pixels where they overlap. If detections of one class agree about what is
there, they are of one object. Of an object that some tile shows whole, the box of that tile is
taken; of one that all tiles cut through, the box around its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.geometry.image_tiles import Tile

# N detections in all tiles of an image, M objects; box = (y_min, x_min, y_max, x_max)

AGREEMENT = 0.5  # IoU, inside of what both tiles show, from which two detections are of one object
CONTAINED = 0.7  # of a cut part's area inside another box, from which it is part of that one
_EDGE = 0.02  # of a tile's side: a box that ends as near to its edge may be cut by it

FloatArray = NDArray[np.float32]


class TileDetections(NamedTuple):
    """What was found in the tiles of one image."""

    boxes: FloatArray  # (N, 4) in pixels of the image
    scores: FloatArray  # (N,)
    classes: NDArray[np.int32]  # (N,)
    tiles: NDArray[np.intp]  # (N,) which tile each was found in


class MergedDetections(NamedTuple):
    """The objects of the image, by falling score."""

    boxes: FloatArray  # (M, 4) in pixels of the image
    scores: FloatArray  # (M,) the best of the detections that an object is made of
    classes: NDArray[np.int32]  # (M,)
    members: tuple[NDArray[np.intp], ...]  # (M,) of arrays: the detections that its box is made of


def merge_tiles(
    found: TileDetections, tiles: Sequence[Tile], height: int, width: int
) -> MergedDetections:
    """Merge the detections of an image of this size; within a tile, nothing is suppressed.

    Whole objects are taken first, by score. A detection joins what is there if it agrees with it,
    and if nothing of its own tile has joined.
    """
    frames = np.array([[t.top, t.left, t.top + t.height, t.left + t.width] for t in tiles])
    frames = frames.reshape(-1, 4).astype(np.float32)
    is_cut = _touch_inner_edges(found, frames, height, width)
    groups: list[_Group] = []
    for number in np.unique(found.classes):
        rows = np.flatnonzero(found.classes == number)
        order = rows[np.lexsort((-found.scores[rows], is_cut[rows]))]
        groups += _group(order, found, frames, is_cut)
    groups.sort(key=lambda group: -group.score)
    members = tuple(np.array(group.used, np.intp) for group in groups)
    boxes = [_around(found.boxes[each]) for each in members]
    return MergedDetections(
        boxes=np.array(boxes, np.float32).reshape(-1, 4),
        scores=np.array([group.score for group in groups], np.float32),
        classes=np.array([found.classes[each[0]] for each in members], np.int32),
        members=members,
    )


class _Group:
    """The detections that are of one object."""

    def __init__(self, row: int, tile: int, score: float, *, is_whole: bool) -> None:
        self.rows = [row]
        self.used = [row]  # for the box: one that is whole, or all parts
        self.tiles = {tile}
        self.score = score
        self.is_whole = is_whole

    def take(self, other: _Group) -> None:
        """Join parts; what is whole needs no parts."""
        self.rows += other.rows
        self.tiles |= other.tiles
        self.score = max(self.score, other.score)
        if not self.is_whole:
            self.used += other.used


def _group(
    order: NDArray[np.intp], found: TileDetections, frames: FloatArray, is_cut: NDArray[np.bool_]
) -> list[_Group]:
    groups: list[_Group] = []
    home = np.full(len(found.scores), -1)  # the group of each row
    for position, row in enumerate(order.tolist()):
        tile = int(found.tiles[row])
        new = _Group(row, tile, float(found.scores[row]), is_whole=not is_cut[row])
        agreement = _agreement(row, order[:position], found, frames, is_cut)
        alike = [int(home[each]) for each in order[:position][np.argsort(-agreement)]]
        alike = list(dict.fromkeys(alike[: np.count_nonzero(agreement > 0.0)]))
        index = _join(new, alike, groups)
        if index == len(groups):
            groups.append(new)
        home[groups[index].rows] = index
    return [group for group in groups if group.rows]


def _join(new: _Group, alike: Sequence[int], groups: list[_Group]) -> int:
    """Join a detection with the groups that it agrees with, best first; give its group's index."""
    free = [index for index in alike if not groups[index].tiles & new.tiles]
    if not free:
        return len(groups)
    first = next((index for index in free if groups[index].is_whole), free[0])
    target = groups[first]
    target.take(new)
    for index in free:  # a part in the middle joins the parts on both sides of it
        other = groups[index]
        if not target.is_whole and not other.is_whole and not target.tiles & other.tiles:
            target.take(other)
            other.rows, other.tiles = [], set()
    return first


def _agreement(
    row: int,
    others: NDArray[np.intp],
    found: TileDetections,
    frames: FloatArray,
    is_cut: NDArray[np.bool_],
) -> FloatArray:
    """Say how much a detection agrees with others (K,); 0: they are of two objects."""
    tiles = found.tiles[others]
    common = _meet(frames[found.tiles[row]], frames[tiles])  # (K, 4)
    box, boxes = found.boxes[row], found.boxes[others]
    here, there = _meet(common, box), _meet(common, boxes)  # (K, 4)
    shared = _areas(_meet(here, there))
    iou = _share(shared, _areas(here) + _areas(there) - shared)
    both, area, areas = _areas(_meet(boxes, box)), _areas(box[None]), _areas(boxes)
    is_part = np.where(areas < area, is_cut[others], is_cut[row])  # of the smaller one
    contained = np.where(is_part, _share(both, np.minimum(area, areas)), 0.0)
    agrees = (tiles != found.tiles[row]) & ((iou >= AGREEMENT) | (contained >= CONTAINED))
    agreement: FloatArray = np.where(agrees, np.maximum(iou, contained), 0.0)
    return agreement


def _touch_inner_edges(
    found: TileDetections, frames: FloatArray, height: int, width: int
) -> NDArray[np.bool_]:
    """Tell which boxes (N,) end at an edge of their tile that is none of the image."""
    own = frames[found.tiles]  # (N, 4)
    margin = _EDGE * np.tile(own[:, 2:] - own[:, :2], 2)  # (N, 4)
    starts = (found.boxes[:, :2] <= own[:, :2] + margin[:, :2]) & (own[:, :2] > 0)
    ends = (found.boxes[:, 2:] >= own[:, 2:] - margin[:, 2:]) & (own[:, 2:] < [height, width])
    touches: NDArray[np.bool_] = np.any(starts | ends, axis=-1)
    return touches


def _meet(first: FloatArray, second: FloatArray) -> FloatArray:
    """Intersect boxes; what does not overlap has no area."""
    top_left = np.maximum(first[..., :2], second[..., :2])
    bottom_right = np.maximum(np.minimum(first[..., 2:], second[..., 2:]), top_left)
    return np.concatenate([top_left, bottom_right], axis=-1)


def _around(boxes: FloatArray) -> FloatArray:
    return np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])


def _areas(boxes: FloatArray) -> FloatArray:
    areas: FloatArray = (boxes[..., 2:] - boxes[..., :2]).prod(axis=-1)
    return areas


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0.0)
