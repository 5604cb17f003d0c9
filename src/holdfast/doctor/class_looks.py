"""What the boxes of each class look like, well enough to notice classes that were exchanged.

A box is described by the colors of a 4 x 4 grid over it and by its size. The class of the nearest
box of another image is a poor classifier, but any data set that a detector can learn lifts it above
chance; if its answers agree with the labels no more often than chance, the labels are shuffled, and
if they agree after the classes are renamed, the names are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from holdfast.doctor.looks import ImageLook

_GRID = 4
_COLORS = 3 * _GRID**2
_MOST_OF_CLASS = 80  # boxes: a frequent class must not win by number
_LEAST_OF_CLASS = 10

# N boxes, D numbers that describe each


class DescribedBoxes(NamedTuple):
    """Boxes of a sample, about as many of each class."""

    numbers: NDArray[np.float32]  # (N, D)
    images: NDArray[np.int64]  # (N,) which image each is of
    classes: tuple[str, ...]  # N


class LookAgreement(NamedTuple):
    """How often the nearest box of another image has the same class."""

    share: float  # mean over classes
    chance: float
    certainty: float  # of the difference, in standard errors
    boxes: int
    classes: int


def describe_boxes(looks: Sequence[ImageLook]) -> DescribedBoxes:
    """Describe the boxes of some images; classes with too few boxes are left out."""
    by_class: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, look in enumerate(looks):
        for index, name in enumerate(look.image.class_names):
            by_class[name].append((number, index))
    random = np.random.default_rng(0)
    chosen: list[tuple[str, int, int]] = []
    for name, places in by_class.items():
        if len(places) >= _LEAST_OF_CLASS:
            picked = random.permutation(len(places))[:_MOST_OF_CLASS]
            chosen += [(name, *places[index]) for index in picked.tolist()]
    rows = [_described(looks[number], index) for _, number, index in chosen]
    return DescribedBoxes(
        numbers=np.array(rows, np.float32).reshape(len(rows), _COLORS + 2),
        images=np.array([number for _, number, _ in chosen], np.int64),
        classes=tuple(name for name, *_ in chosen),
    )


def agreement(boxes: DescribedBoxes) -> LookAgreement | None:
    """Compare labels with the nearest neighbors'; None where fewer than two classes can be."""
    names = sorted(set(boxes.classes))
    if len(names) < 2:
        return None
    (numbers,) = _scaled(boxes.numbers, boxes.numbers)
    distances = _distances(numbers, numbers)
    distances[boxes.images[:, None] == boxes.images[None]] = np.inf
    is_alone = ~np.isfinite(distances).any(axis=1)
    labels = np.array([names.index(name) for name in boxes.classes])
    is_same = labels[distances.argmin(axis=1)] == labels
    is_same = is_same[~is_alone]
    if not len(is_same):
        return None
    labels = labels[~is_alone]
    share = float(np.mean([is_same[labels == each].mean() for each in set(labels.tolist())]))
    chance = 1 / len(names)
    error = np.sqrt(chance * (1 - chance) / len(is_same))
    return LookAgreement(share, chance, float((share - chance) / error), len(is_same), len(names))


class Renaming(NamedTuple):
    """How the classes of one sample correspond to those of another, by their looks."""

    as_named: float  # share of boxes whose nearest of the other sample has the same name
    renamed: float  # the same with the best renaming
    names: dict[str, str]  # name -> the name of the class that looks like it, where they differ


def best_renaming(train: DescribedBoxes, evaluation: DescribedBoxes) -> Renaming | None:
    """Find which class of the training data each class of the evaluation data looks like.

    None where there are fewer than two classes in both.
    """
    names = sorted(set(train.classes) & set(evaluation.classes))
    if len(names) < 2:
        return None
    known, asked = _scaled(train.numbers, train.numbers, evaluation.numbers)
    nearest = _distances(asked, known).argmin(axis=1)
    counts = np.zeros((len(names), len(names)))
    for own, index in zip(evaluation.classes, nearest.tolist(), strict=True):
        other = train.classes[index]
        if own in names and other in names:
            counts[names.index(own), names.index(other)] += 1
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    columns = _assigned(shares)
    return Renaming(
        as_named=float(np.diag(shares).mean()),
        renamed=float(shares[np.arange(len(names)), columns].mean()),
        names={names[row]: names[column] for row, column in enumerate(columns) if row != column},
    )


def _assigned(shares: NDArray[np.float64]) -> list[int]:
    """Give each row a column of its own, the largest shares first."""
    left = shares.copy()
    columns = [0] * len(left)
    for _ in range(len(left)):
        row, column = np.unravel_index(int(left.argmax()), left.shape)
        columns[int(row)] = int(column)
        left[row, :] = left[:, column] = -1
    return columns


def _described(look: ImageLook, index: int) -> NDArray[np.float32]:
    height, width = look.thumbnail.shape[:2]
    box = look.image.boxes[index]
    frame = (box[1] * width, box[0] * height, box[3] * width, box[2] * height)
    left, top = (min(int(frame[0]), width - 1), min(int(frame[1]), height - 1))
    right, bottom = max(left + 1, round(float(frame[2]))), max(top + 1, round(float(frame[3])))
    crop = Image.fromarray(look.thumbnail[top:bottom, left:right])
    grid = np.asarray(crop.resize((_GRID, _GRID), Image.Resampling.BOX), np.float32)
    sides = np.log(np.maximum(look.image.sides[index], 1.0))
    return np.concatenate([grid.ravel(), sides.astype(np.float32)])


def _scaled(
    reference: NDArray[np.float32], *samples: NDArray[np.float32]
) -> list[NDArray[np.float32]]:
    """Bring all numbers to one scale; size counts as much as all colors together."""
    mean, deviation = reference.mean(axis=0), np.maximum(reference.std(axis=0), 1e-3)
    weights = np.array([1 / np.sqrt(_COLORS)] * _COLORS + [1 / np.sqrt(2)] * 2, np.float32)
    return [np.asarray((each - mean) / deviation * weights, np.float32) for each in samples]


def _distances(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1)[None]
    return np.asarray(squares - 2 * first @ second.T, np.float64)
