"""Images that are the same, or look it: between two data sets, and inside of one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from holdfast.data.input.decode_images import decoded_image
from holdfast.data.splitting.appearance import Alike, alike, pairs_alike
from holdfast.data.survey.inspection import Records
from holdfast.doctor.appearances import Appearances, encoded_images
from holdfast.doctor.box_overlap import overlaps
from holdfast.doctor.whole_images import WholeImage
from holdfast.errors import HoldfastError

# Frames of a video look alike, too: a copy differs by its compression alone.
_COPY = Alike(4, 0.99)
_SIDE, _BLOCK = 128, 8  # pixels of the gray copy that is compared, and of a block of it
_MOST_DIFFERENCE = 10.0  # gray levels between blocks of two copies; a thing that moved makes more
_SAME_BOX = 0.5  # IoU: two people draw one box about as differently
_MOST_COMPARED = 300  # pairs whose pixels are decoded

Gray = NDArray[np.float32]


class Twins(NamedTuple):
    """Two images that are one."""

    first: WholeImage
    second: WholeImage


def twins_between(train: Appearances, evaluation: Appearances) -> list[Twins]:
    """Find evaluation images that are in the training data, too, in whatever orientation.

    One pair for each image of the evaluation.
    """
    looks = np.concatenate([train.looks, evaluation.looks])
    sides = np.array([0] * len(train.images) + [1] * len(evaluation.images), np.int64)
    found: dict[int, Twins] = {}
    for first, second in pairs_alike(looks, sides):
        # pairs_alike gives the smaller index first, and training images come first.
        place = second - len(train.images)
        found.setdefault(place, Twins(train.images[first], evaluation.images[place]))
    return [found[place] for place in sorted(found)]


def copies_in(appearances: Appearances, records: Records) -> list[Twins]:
    """Find images that are in one data set twice, as they stand; each copy pairs with the first.

    Of what is not the same file, pixels are compared, too: frames of a video in which something
    small moved have the same appearance.
    """
    exact, kept = _same_files(appearances)
    looks = appearances.looks[kept]
    images = [appearances.images[index] for index in kept]
    pairs = [
        Twins(images[first], images[second])
        for first, second in pairs_alike(looks, np.arange(len(looks)), _COPY)
        if alike(looks[first], looks[second], _COPY)
    ]
    return exact + _same_pixels(pairs[:_MOST_COMPARED], records)


def have_same_boxes(twins: Twins) -> bool:
    """Tell whether every box has a partner of its class in the other image."""
    first, second = twins
    if len(first.boxes) != len(second.boxes):
        return False
    if not len(first.boxes):
        return True
    is_same = np.array(first.class_names)[:, None] == np.array(second.class_names)[None]
    is_partner = is_same & (overlaps(first.boxes, second.boxes) >= _SAME_BOX)
    return bool(is_partner.any(axis=0).all() and is_partner.any(axis=1).all())


def _same_files(appearances: Appearances) -> tuple[list[Twins], list[int]]:
    """Pair images of equal content; give also the places of the first of each."""
    first: dict[bytes, int] = {}
    pairs = []
    for index, image in enumerate(appearances.images):
        known = first.setdefault(image.content, index)
        if known != index:
            pairs.append(Twins(appearances.images[known], image))
    return pairs, list(first.values())


def _same_pixels(pairs: list[Twins], records: Records) -> list[Twins]:
    wanted = {image.place for pair in pairs for image in pair}
    grays = {
        place: gray
        for place, encoded in encoded_images(records, list(wanted))
        if (gray := _gray(encoded)) is not None
    }
    same, seen = [], set()
    for pair in pairs:
        one, other = (grays.get(image.place) for image in pair)
        is_new = pair.second.place not in seen  # the eight orientations may tell of it again
        if one is None or other is None or not is_new:
            continue
        if np.abs(one - other).max() <= _MOST_DIFFERENCE:
            same.append(pair)
            seen.add(pair.second.place)
    return same


def _gray(encoded: bytes) -> Gray | None:
    """Give the mean gray of the blocks of an image; None if it does not decode."""
    try:
        with decoded_image(encoded) as pixels:
            small = (
                Image.fromarray(pixels).convert("L").resize((_SIDE, _SIDE), Image.Resampling.BOX)
            )
    except HoldfastError:
        return None
    count = _SIDE // _BLOCK
    blocks = np.asarray(small, np.float32).reshape(count, _BLOCK, count, _BLOCK)
    return np.asarray(blocks.mean(axis=(1, 3)), np.float32)
