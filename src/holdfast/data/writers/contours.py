"""The outline of a mask as polygons that run along the edges of its pixels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Corner = tuple[int, int]  # x, y in pixels


class Contours(NamedTuple):
    """Closed lines of corners (P, 2) x, y; the mask is on the left hand of a walker."""

    outer: tuple[NDArray[np.int64], ...]
    holes: tuple[NDArray[np.int64], ...]


def trace(mask: NDArray[np.uint8]) -> Contours:
    """Find the outlines of a mask (H, W) and of its holes; corners only, none on a straight line.

    Filled again by even-odd or by winding, they give the mask to the pixel. Pixels that touch at a
    corner only belong to different parts.
    """
    loops = [np.array(loop, np.int64) for loop in _loops(_edges(mask))]
    outer = tuple(loop for loop in loops if _turns(loop) > 0)
    return Contours(outer, tuple(loop for loop in loops if _turns(loop) < 0))


def join(loops: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Make one closed line of several, by ways there and back where they are nearest.

    YOLO has room for a single polygon an object.
    """
    whole, *rest = loops
    for loop in rest:
        here, there = _nearest(whole, loop)
        turned = np.roll(loop, -there, axis=0)
        detour = np.concatenate([turned, turned[:1], whole[here : here + 1]])
        whole = np.insert(whole, here + 1, detour, axis=0)
    return whole


def _edges(mask: NDArray[np.uint8]) -> dict[Corner, list[Corner]]:
    """Give for each corner where the edges of pixels lead, the mask always on the same side."""
    inside = np.pad(mask.astype(bool), 1)
    here = inside[1:-1, 1:-1]
    steps: dict[Corner, list[Corner]] = defaultdict(list)
    sides = (
        (~inside[:-2, 1:-1], (0, 0), (1, 0)),  # the pixel above is outside: walk right
        (~inside[1:-1, 2:], (1, 0), (1, 1)),  # to the right: walk down
        (~inside[2:, 1:-1], (1, 1), (0, 1)),  # below: walk left
        (~inside[1:-1, :-2], (0, 1), (0, 0)),  # to the left: walk up
    )
    for outside, (from_x, from_y), (to_x, to_y) in sides:
        for y, x in np.argwhere(here & outside).tolist():
            steps[(x + from_x, y + from_y)].append((x + to_x, y + to_y))
    return steps


def _loops(steps: dict[Corner, list[Corner]]) -> Iterable[list[Corner]]:
    while steps:
        start = next(iter(steps))
        loop, place = [start], _take(steps, start, None)
        while place != start:
            before = loop[-1]
            loop.append(place)
            place = _take(steps, place, before)
        yield _without_straight(loop)


def _take(steps: dict[Corner, list[Corner]], place: Corner, before: Corner | None) -> Corner:
    """Walk on from a corner; where two pixels touch in it, stay at the pixel one came along."""
    choices = steps[place]
    index = 0
    if len(choices) > 1 and before is not None:
        come = (place[0] - before[0], place[1] - before[1])
        right = (place[0] - come[1], place[1] + come[0])
        index = choices.index(right)
    chosen = choices.pop(index)
    if not choices:
        del steps[place]
    return chosen


def _without_straight(loop: list[Corner]) -> list[Corner]:
    points = np.array(loop)
    come, go = points - np.roll(points, 1, axis=0), np.roll(points, -1, axis=0) - points
    kept = (come != go).any(axis=1)
    return [corner for corner, keep in zip(loop, kept.tolist(), strict=True) if keep]


def _turns(loop: NDArray[np.int64]) -> float:
    """Give twice the area inside, negative around a hole."""
    x, y = loop[:, 0], loop[:, 1]
    return float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def _nearest(first: NDArray[np.int64], second: NDArray[np.int64]) -> tuple[int, int]:
    """Give the places of the two corners that are nearest to each other."""
    squares = ((first[:, None] - second[None]) ** 2).sum(axis=-1)  # (P, Q)
    here, there = np.unravel_index(int(squares.argmin()), squares.shape)
    return int(here), int(there)
