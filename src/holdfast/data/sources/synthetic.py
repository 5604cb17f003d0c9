"""Scenes made from a seed: shapes on textured ground, with exact boxes, masks and keypoints."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

import numpy as np

from holdfast.data.sources.annotated_objects import (
    LabeledObject,
    box_around,
    build_sample,
    relative_areas,
)
from holdfast.data.sources.classes import build_classes
from holdfast.data.sources.image_files import Picture, Size
from holdfast.data.sources.outlines import Bitmap
from holdfast.data.sources.source import Entry, Reading, Source
from holdfast.data.sources.source_formats import DEFAULTS, OpenOptions, source_format
from holdfast.data.sources.synthetic_drawing import coverage, draw_scene
from holdfast.data.sources.synthetic_shapes import (
    KEYPOINTS,
    SHAPES,
    Figure,
    Random,
    SyntheticScene,
    arrange,
)
from holdfast.errors import HoldfastError

_CLASSES = tuple(SHAPES)
_TIPS = tuple(f"tip_{number}" for number in range(1, max(KEYPOINTS.values()) + 1))
_SMALLEST_SIZE, _LARGEST_SIZE = 32, 4096
_MOST_IMAGES = 100_000


def make_synthetic(
    count: int, scene: SyntheticScene | None = None, *, seed: int = 0, masks: bool = True
) -> Source:
    """Give `count` images of a scene; image n is the same whatever the count.

    Shapes turn, overlap and differ in size and color; color says nothing about the class. Boxes,
    masks and keypoints are those of the whole shape, also where another one covers it, cut at the
    border of the image; a keypoint outside of the image is not labeled.
    """
    scene = scene or SyntheticScene()
    if scene.size < _SMALLEST_SIZE:
        raise HoldfastError(f"Synthetic images need {_SMALLEST_SIZE} pixels, not {scene.size}.")
    names = dict(enumerate(_CLASSES, start=1))
    tips = {number: _TIPS[: KEYPOINTS[name]] for number, name in names.items()}
    return Source(
        format="synthetic",
        location=f"{count}@{scene.size}",
        label_map=build_classes(names, tips).label_map,
        entries=tuple(_entry(scene, seed, index, masks) for index in range(count)),
        masks=masks,
        independent=True,
    )


@source_format(
    "synthetic",
    title="scenes made on the spot",
    candidates=lambda paths: [],
    is_one=lambda path: False,
)
def open_synthetic(location: str, options: OpenOptions = DEFAULTS) -> Source:
    """Open synthetic data from a text: the number of images, and behind `@` their size."""
    found = re.fullmatch(r"(\d{1,9})(?:@(\d{1,9}))?", location.strip())
    if not found or int(found[1]) == 0:
        fix = "Write the number of images, and optionally their size in pixels: 500, 500@128."
        raise HoldfastError(f"Synthetic data cannot be made from {location[:40]!r}.", fix=fix)
    count, size = int(found[1]), int(found[2] or SyntheticScene().size)
    if count > _MOST_IMAGES or size > _LARGEST_SIZE:
        raise HoldfastError(
            f"Synthetic data of {count} images of {size} pixels is too much.",
            fix=f"At most {_MOST_IMAGES} images of {_LARGEST_SIZE} pixels can be made.",
        )
    return make_synthetic(count, SyntheticScene(size=size), seed=options.seed, masks=options.masks)


def _entry(scene: SyntheticScene, seed: int, index: int, masks: bool) -> Entry:
    figures = arrange(scene, _random(seed, index, "layout"))
    return Entry(
        source_id=f"scene-{index:06d}",
        place=f"synthetic scene {index} of seed {seed}",
        filename=f"scene-{index:06d}.jpg",
        read=partial(_read, scene, seed, index, masks),
        class_counts=Counter(_CLASSES.index(figure.kind) for figure in figures),
        box_areas=relative_areas(
            (box_around(figure.outline.clip(0, scene.size)) for figure in figures),
            Size(scene.size, scene.size),
        ),
        fingerprint=f"{scene}, seed {seed}",
    )


def _read(scene: SyntheticScene, seed: int, index: int, masks: bool) -> Reading:
    figures = arrange(scene, _random(seed, index, "layout"))
    encoded = draw_scene(figures, scene.size, _random(seed, index, "pixels"))
    picture = Picture(encoded, Size(scene.size, scene.size))
    objects = [_object(figure, scene.size) for figure in figures]
    sample = build_sample(
        f"scene-{index:06d}", picture, objects, masks=masks, num_keypoints=len(_TIPS)
    )
    return Reading(sample)


def _random(seed: int, index: int, purpose: str) -> Random:
    """Give each image and purpose its own numbers, so that none depends on how many were drawn."""
    return np.random.default_rng([seed, index, ("layout", "pixels").index(purpose)])


def _object(figure: Figure, size: int) -> LabeledObject:
    cover = coverage(figure.outline, size)
    mask = (cover.share >= 0.5).astype(np.uint8)
    keypoints = np.full((len(_TIPS), 2), np.nan)
    inside = ((figure.keypoints >= 0) & (figure.keypoints <= size)).all(axis=1)
    keypoints[: len(figure.keypoints)][inside] = figure.keypoints[inside][:, ::-1]
    return LabeledObject(
        class_index=_CLASSES.index(figure.kind),
        box=box_around(figure.outline.clip(0, size)),
        outline=Bitmap(mask, cover.left, cover.top),
        area=float(mask.sum()),
        truncated=bool((figure.outline < 0).any() or (figure.outline > size).any()),
        keypoints=keypoints,
    )
