"""How many boxes of a data set lie near enough to an anchor to be learned from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.data.input.resize import Resized
from holdfast.data.sample import Tensor
from holdfast.data.survey.observe import Observation

# N boxes of an image, K anchors at one location of a map; box = (y_min, x_min, y_max, x_max)

SMALL_AREA = 32 * 32  # pixels of the network's input: COCO calls an object below it small
_KEPT_GRIDS = 16  # input sizes whose anchors are kept in memory
_KEPT_FRAMES = 4096  # image sizes whose resized sizes are

FloatArray = NDArray[np.float32]


class Frame(NamedTuple):
    """Where an image lies in the network's input: at the top left."""

    height: int  # of the resized image
    width: int
    input_height: int  # with the padding
    input_width: int


@dataclass(frozen=True, kw_only=True)
class AnchorLayout:
    """Where images and anchors lie in the input of a network."""

    frame: Callable[[int, int], Frame]  # of an image's height and width
    # Of the input's height and width: for each feature map, anchors (rows, columns, K, 4).
    anchors: Callable[[int, int], Sequence[FloatArray]]
    iou_threshold: float = 0.5  # from which an anchor learns a box


@dataclass(frozen=True, kw_only=True)
class Share:
    """How many of some boxes overlap an anchor by the threshold or more."""

    boxes: int
    covered: int


@dataclass(frozen=True, kw_only=True)
class AnchorCoverage:
    """Which boxes the anchors cover: all, the small ones, and those of each class."""

    iou_threshold: float
    all: Share
    small: Share
    classes: dict[str, Share]  # the least covered first


def measure(
    observations: Iterable[Observation], layouts: Sequence[AnchorLayout]
) -> list[AnchorCoverage]:
    """Measure all layouts in one pass; images are as they are stored, before augmentation."""
    books = [_Books(layout) for layout in layouts]
    for observation in observations:
        if len(observation.boxes):
            for book in books:
                book.enter(observation)
    return [book.coverage() for book in books]


def frame_of(resize: Callable[[Tensor, Tensor], Resized]) -> Callable[[int, int], Frame]:
    """Make the function that tells where a resizer puts images of a size: it asks with a blank."""

    def frame(height: int, width: int) -> Frame:
        resized = resize(np.zeros((height, width, 3), np.uint8), None)
        input_height, input_width, _ = resized.image.shape
        height, width, _ = (int(side) for side in resized.size)
        return Frame(height, width, input_height, input_width)

    return frame


def best_ious(boxes: FloatArray, maps: Sequence[FloatArray]) -> FloatArray:
    """Give for each box (N, 4) its largest IoU with any anchor of the maps (rows, columns, K, 4).

    Anchors of one shape stand on a grid. Overlap falls with the distance of the centers, along y
    and along x, so that the best anchor of each shape is the one of the nearest location.
    """
    centers = np.float32(0.5) * (boxes[:, :2] + boxes[:, 2:])  # (N, 2)
    best = np.zeros(len(boxes), np.float32)
    for anchors in maps:
        if not anchors.size:
            continue
        rows = _nearest(anchors[:, 0, 0, 0::2].mean(axis=-1), centers[:, 0])
        columns = _nearest(anchors[0, :, 0, 1::2].mean(axis=-1), centers[:, 1])
        overlaps = _iou(boxes[:, None], anchors[rows, columns])  # (N, K)
        best = np.maximum(best, overlaps.max(axis=-1))
    return best


class _Books:
    """The account of one layout."""

    def __init__(self, layout: AnchorLayout) -> None:
        self.layout = layout
        self.frame = lru_cache(_KEPT_FRAMES)(layout.frame)
        self.anchors = lru_cache(_KEPT_GRIDS)(layout.anchors)
        self.boxes: Counter[str] = Counter()
        self.covered: Counter[str] = Counter()
        self.small, self.small_covered = 0, 0

    def enter(self, seen: Observation) -> None:
        frame = self.frame(seen.height, seen.width)
        image = np.array([frame.height, frame.width] * 2, np.float32)
        padded = np.array([frame.input_height, frame.input_width] * 2, np.float32)
        maps = self.anchors(frame.input_height, frame.input_width)
        is_covered = best_ious(seen.boxes * (image / padded), maps) >= self.layout.iou_threshold
        sides = (seen.boxes[:, 2:] - seen.boxes[:, :2]) * image[:2]  # (N, 2) pixels
        is_small = sides.prod(axis=-1) < SMALL_AREA
        self.small += int(is_small.sum())
        self.small_covered += int((is_small & is_covered).sum())
        self.boxes.update(seen.class_names)
        self.covered.update(
            name for name, covered in zip(seen.class_names, is_covered, strict=True) if covered
        )

    def coverage(self) -> AnchorCoverage:
        shares = {
            name: Share(boxes=boxes, covered=self.covered[name])
            for name, boxes in self.boxes.items()
        }
        return AnchorCoverage(
            iou_threshold=self.layout.iou_threshold,
            all=Share(boxes=self.boxes.total(), covered=self.covered.total()),
            small=Share(boxes=self.small, covered=self.small_covered),
            classes=dict(sorted(shares.items(), key=lambda each: _by_need(each[1]))),
        )


def _by_need(share: Share) -> tuple[float, int]:
    return share.covered / share.boxes, -share.boxes


def _nearest(places: FloatArray, values: FloatArray) -> NDArray[np.intp]:
    """Give the index of the place, in rising order, that is nearest to each value."""
    return np.searchsorted((places[1:] + places[:-1]) / 2, values)


def _iou(first: FloatArray, second: FloatArray) -> FloatArray:
    top_left = np.maximum(first[..., :2], second[..., :2])  # (N, K, 2)
    bottom_right = np.minimum(first[..., 2:], second[..., 2:])  # (N, K, 2)
    shared = np.maximum(bottom_right - top_left, 0.0).prod(axis=-1)  # (N, K)
    union = _area(first) + _area(second) - shared
    overlap: FloatArray = shared / np.where(shared > 0.0, union, np.float32(1.0))
    return overlap


def _area(boxes: FloatArray) -> FloatArray:
    area: FloatArray = (boxes[..., 2:] - boxes[..., :2]).prod(axis=-1)
    return area
