"""All boxes of a data set as they lie in the network's input, to measure many anchors quickly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.data.survey.anchor_coverage import AnchorLayout, Frame, best_ious
from holdfast.data.survey.observe import Observation

# N boxes of all images whose input has one shape

FloatArray = NDArray[np.float32]


class InputBoxes(NamedTuple):
    """The boxes of all images with an input of one shape."""

    height: int  # of the input
    width: int
    boxes: FloatArray  # (N, 4) normalized to the padded input
    classes: NDArray[np.int32]  # (N,) numbers of BoxPool.names


class PoolCoverage(NamedTuple):
    """What share of the boxes has an anchor near enough."""

    all: float
    classes: dict[str, float]
    mean_iou: float  # of the best anchor, over the classes

    @property
    def score(self) -> float:
        """One number to compare anchors by: all boxes and the mean class count alike.

        The overlap decides between anchors that cover as much.
        """
        shares = list(self.classes.values())
        mean = sum(shares) / len(shares) if shares else 0.0
        return 0.5 * (self.all + mean) + 0.1 * self.mean_iou


@dataclass(frozen=True, kw_only=True)
class BoxPool:
    """The boxes of a data set in the network's input."""

    names: tuple[str, ...]
    inputs: tuple[InputBoxes, ...]

    def shapes(self) -> NDArray[np.float64]:
        """Give heights and widths in pixels of the input, (N, 2), of all boxes in order."""
        parts = [
            (each.boxes[:, 2:] - each.boxes[:, :2]) * [each.height, each.width]
            for each in self.inputs
        ]
        return np.concatenate(parts).astype(np.float64)

    def shorter_sides(self) -> NDArray[np.float64]:
        """Give the shorter side of each box's input, (N,), in pixels."""
        parts = [np.full(len(each.boxes), min(each.height, each.width)) for each in self.inputs]
        return np.concatenate(parts).astype(np.float64)

    def weights(self) -> NDArray[np.float64]:
        """Let each class count half by its boxes and half like any other, (N,)."""
        classes = np.concatenate([each.classes for each in self.inputs])
        counts = np.bincount(classes, minlength=len(self.names))
        present = np.count_nonzero(counts)
        weights: NDArray[np.float64] = 0.5 + 0.5 * len(classes) / (present * counts[classes])
        return weights

    def coverage(self, layout: AnchorLayout) -> PoolCoverage:
        """Measure anchors by the threshold of the layout."""
        ious = np.concatenate(
            [best_ious(each.boxes, layout.anchors(each.height, each.width)) for each in self.inputs]
        )
        classes = np.concatenate([each.classes for each in self.inputs])
        is_covered = ious >= layout.iou_threshold
        present = np.unique(classes)
        means = [float(ious[classes == number].mean()) for number in present]
        return PoolCoverage(
            all=float(is_covered.mean()),
            classes={
                self.names[number]: float(is_covered[classes == number].mean())
                for number in present
            },
            mean_iou=sum(means) / len(means),
        )


def pool_boxes(observations: Iterable[Observation], layout: AnchorLayout) -> BoxPool | None:
    """Lay the boxes of images into the network's input; None where there are none."""
    frame_of = lru_cache(4096)(layout.frame)
    names: dict[str, int] = {}
    boxes: dict[tuple[int, int], list[FloatArray]] = defaultdict(list)
    classes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for seen in observations:
        if not len(seen.boxes):
            continue
        frame = frame_of(seen.height, seen.width)
        shape = frame.input_height, frame.input_width
        boxes[shape].append(seen.boxes * _scale(frame))
        classes[shape] += [names.setdefault(name, len(names)) for name in seen.class_names]
    if not boxes:
        return None
    return BoxPool(
        names=tuple(names),
        inputs=tuple(_joined(shape, boxes[shape], classes[shape]) for shape in boxes),
    )


def _joined(
    shape: tuple[int, int], boxes: Sequence[FloatArray], classes: Sequence[int]
) -> InputBoxes:
    return InputBoxes(*shape, np.concatenate(boxes), np.array(classes, np.int32))


def _scale(frame: Frame) -> FloatArray:
    """Give what turns shares of the image into shares of the padded input, (4,)."""
    height, width = frame.height / frame.input_height, frame.width / frame.input_width
    return np.array([height, width, height, width], np.float32)
