"""How two data sets differ: sizes, boxes, classes and pixels, each compared by a stated test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.doctor.looks import ImageLook
from holdfast.doctor.two_samples import SampleComparison, compare_counts, compare_numbers
from holdfast.doctor.whole_images import WholeImage

_LEAST_IMAGES = 10


class Shift(NamedTuple):
    """How far apart two data sets are in one respect."""

    name: str
    comparison: SampleComparison
    train: str  # what is typical there
    evaluation: str


def shifts_between(
    train: Sequence[WholeImage],
    evaluation: Sequence[WholeImage],
    train_looks: Sequence[ImageLook],
    evaluation_looks: Sequence[ImageLook],
) -> Iterator[Shift]:
    """Compare all images of two data sets, and the pixels of some; nothing where they are few."""
    if min(len(train), len(evaluation)) < _LEAST_IMAGES:
        return
    of_images: dict[str, Callable[[WholeImage], float]] = {
        "image area": lambda image: float(image.height * image.width),
        "aspect ratio": lambda image: image.width / max(image.height, 1),
        "boxes per image": lambda image: float(len(image.boxes)),
    }
    for name, measure in of_images.items():
        yield _compared(name, list(map(measure, train)), list(map(measure, evaluation)))
    sizes = [list(_box_sizes(images)) for images in (train, evaluation)]
    if min(map(len, sizes)) >= _LEAST_IMAGES:
        yield _compared("box size", *sizes)
        yield _compared_classes(train, evaluation)
    yield from _pixel_shifts(train_looks, evaluation_looks)


def _pixel_shifts(train: Sequence[ImageLook], evaluation: Sequence[ImageLook]) -> Iterator[Shift]:
    if min(len(train), len(evaluation)) < _LEAST_IMAGES:
        return
    for name in ("brightness", "contrast", "saturation"):
        columns = [
            [float(getattr(look.measures, name)) for look in looks] for looks in (train, evaluation)
        ]
        yield _compared(name, *columns)


def _box_sizes(images: Sequence[WholeImage]) -> Iterator[float]:
    """Yield the median side of each image's boxes, as a share of the image."""
    for image in images:
        if len(image.boxes):
            sides = np.sqrt((image.boxes[:, 2:] - image.boxes[:, :2]).prod(axis=-1))
            yield float(np.median(sides))


def _compared(name: str, train: Sequence[float], evaluation: Sequence[float]) -> Shift:
    first, second = np.array(train), np.array(evaluation)
    medians = (f"{np.median(each):.3g}" for each in (first, second))
    return Shift(name, compare_numbers(first, second), *medians)


def _compared_classes(train: Sequence[WholeImage], evaluation: Sequence[WholeImage]) -> Shift:
    names = sorted({name for image in (*train, *evaluation) for name in image.class_names})
    place = {name: index for index, name in enumerate(names)}
    first, second = _class_counts(train, place), _class_counts(evaluation, place)
    shares = [each.sum(axis=0) / max(each.sum(), 1) for each in (first, second)]
    widest = int(np.abs(shares[0] - shares[1]).argmax())
    texts = (f"{each[widest]:.0%} {names[widest]!r}" for each in shares)
    return Shift("classes", compare_counts(first, second), *texts)


def _class_counts(images: Sequence[WholeImage], place: dict[str, int]) -> NDArray[np.int64]:
    counts = np.zeros((len(images), len(place)), np.int64)
    for row, image in enumerate(images):
        for name in image.class_names:
            counts[row, place[name]] += 1
    return counts
