"""What the augmentations of a config do to a few images: boxes that stay, time that it takes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from holdfast.config.facts.input_sizes import InputShape, input_shape
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.augment.views import with_pixels
from holdfast.data.input.build_input import build_augmentations
from holdfast.data.sample import Sample
from holdfast.doctor.box_overlap import overlaps
from holdfast.doctor.data_case import SampledImage

_MOST_IMAGES = 32  # with 2 draws each: shares are known to a few per cent
_DRAWS = 2
# Pixels of the network's input. Finer than half of the finest stride, 8, a box is a smear.
_SMALLEST_SIDE = 4.0
_LEAST_CONTRAST = 2.0  # levels of 255: what deviates less inside a box is blank
_SAME_PLACE = 0.5  # IoU of a box with itself before, where the pixels stayed as they were


class StepTrial(NamedTuple):
    """One augmentation: the boxes that are left after it, and its time."""

    name: str
    boxes: int
    usable: int  # boxes that are large enough in the network's input, show something, and in place
    image_seconds: float


class AugmentationTrial(NamedTuple):
    """What the augmentations did, one after the other."""

    images: int
    boxes: int  # before
    usable: int  # before
    decode_seconds: float  # an image
    steps: tuple[StepTrial, ...]
    smallest_side: float  # of boxes that are usable

    @property
    def kept(self) -> float:
        """The share of the usable boxes that is left in the end."""
        return self.steps[-1].usable / max(self.usable, 1) if self.steps else 1.0

    @property
    def image_seconds(self) -> float:
        """What all augmentations of an image take."""
        return sum(step.image_seconds for step in self.steps)


def try_augmentations(
    config: TrainEvalPipelineConfig, images: Sequence[SampledImage]
) -> AugmentationTrial | None:
    """Augment some images as training does; None where none of them has a box."""
    train = config.train_config
    steps = build_augmentations(train.data_augmentation_options if train else (), config.parts)
    shape = input_shape(config.model) if config.model is not None else None
    chosen = [each for each in images if len(each.observation.boxes)]
    chosen = chosen[:: max(len(chosen) // _MOST_IMAGES, 1)][:_MOST_IMAGES]
    if not chosen:
        return None
    books = _Books([_name(step) for step in steps])
    for number, image in enumerate(chosen):
        start = time.perf_counter()
        sample = image.sample()
        books.decoded(time.perf_counter() - start, number)
        for draw in range(_DRAWS):
            books.began(sample, shape)
            augmented, displaced = sample, 0
            for index, step in enumerate(steps):
                start, before = time.perf_counter(), augmented
                augmented = step(augmented, np.array([number * _DRAWS + draw, index], np.int32))
                np.asarray(with_pixels(augmented).image)
                books.timed(index, time.perf_counter() - start, number)
                displaced += _displaced(before, augmented)
                books.augmented(index, augmented, _usable(augmented, shape) - displaced)
    return books.trial(len(chosen))


class _Books:
    """The account of a trial. Times of the first image, with which all is set up, do not count."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.boxes, self.usable = 0, 0
        self.after = np.zeros((len(names), 2), np.int64)  # boxes, usable ones
        self.decoding: list[float] = []
        self.seconds: list[list[float]] = [[] for _ in names]

    def decoded(self, seconds: float, number: int) -> None:
        if number:
            self.decoding.append(seconds)

    def began(self, sample: Sample, shape: InputShape | None) -> None:
        self.boxes += len(sample.boxes)
        self.usable += _usable(sample, shape)

    def augmented(self, index: int, sample: Sample, usable: int) -> None:
        self.after[index] += (len(sample.boxes), max(usable, 0))

    def timed(self, index: int, seconds: float, number: int) -> None:
        if number:
            self.seconds[index].append(seconds)

    def trial(self, images: int) -> AugmentationTrial:
        steps = (
            StepTrial(name, int(boxes), int(usable), _median(seconds))
            for name, (boxes, usable), seconds in zip(
                self.names, self.after, self.seconds, strict=True
            )
        )
        return AugmentationTrial(
            images=images,
            boxes=self.boxes,
            usable=self.usable,
            decode_seconds=_median(self.decoding),
            steps=tuple(steps),
            smallest_side=_SMALLEST_SIDE,
        )


def _usable(sample: Sample, shape: InputShape | None) -> int:
    """Count the boxes that show something, and are large enough in the network's input."""
    boxes = np.clip(np.asarray(sample.boxes).reshape(-1, 4), 0, 1)
    pixels = _pixels(sample)
    height, width = (shape.height, shape.width) if shape else pixels.shape[:2]
    sides = (boxes[:, 2:] - boxes[:, :2]) * np.array([height, width])
    large = boxes[(sides >= _SMALLEST_SIDE).all(axis=-1)]
    return sum(_shows_something(pixels, box) for box in large)


def _shows_something(pixels: np.ndarray, box: np.ndarray) -> bool:
    frame = box * np.tile(pixels.shape[:2], 2)
    top, left = np.floor(frame[:2]).astype(int)
    bottom, right = np.ceil(frame[2:]).astype(int)
    return float(pixels[top:bottom, left:right].std(axis=(0, 1)).max()) >= _LEAST_CONTRAST


def _displaced(before: Sample, after: Sample) -> int:
    """Count the boxes that were moved away from pixels that stayed where they were."""
    old, new = (np.asarray(each.boxes).reshape(-1, 4) for each in (before, after))
    if old.shape != new.shape or np.array_equal(old, new):
        return 0
    pixels = _pixels(after)
    if not np.array_equal(_pixels(before), pixels):
        return 0
    return int((np.diagonal(overlaps(new, old)) < _SAME_PLACE).sum())


def _pixels(sample: Sample) -> np.ndarray:
    return np.asarray(with_pixels(sample).image)


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else 0.0


def _name(step: Any) -> str:
    function = step.func if isinstance(step, partial) else step
    return str(getattr(function, "__name__", function))
