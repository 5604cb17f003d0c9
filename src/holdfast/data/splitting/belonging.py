"""Which images belong together and must not be separated by a split."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.data.splitting.appearance import NEIGHBORS, Appearance, alike, pairs_alike
from holdfast.data.splitting.tile_names import image_of_tile

# More images of one name are not copies of one: people call a thousand downloads `images.jpg`.
_MOST_COPIES = 50
_ROBOFLOW = re.compile(r"(?i)\.rf\.[0-9a-z_-]{6,}$")
_OLD_ENDING = re.compile(r"(?i)[_.](jpe?g|png|bmp|gif|webp|tiff?|jfif)$")
# Augmentor: FOLDER_original_NAME.jpg_UUID.jpg
_AUGMENTOR = re.compile(r"(?i)_original_(.+)_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_AUGMENTED = re.compile(r"(?i)[-_ ]aug(mented|mentation)?[-_ ]?\d*$")
_CHANGED = re.compile(
    r"(?i)[-_ ]((h|v|lr|ud)?[-_]?flip(ped)?|mirror(ed)?|rot(ate|ated|ation)?|(gaussian[-_]?)?blur"
    r"(red)?|nois[ey]|bright(er|ness)?|dark(er)?|contrast|gr[ae]y(scale)?|crop(ped)?|scaled?|"
    r"shear(ed)?|shift(ed)?|translated?|hue|sat(uration)?|gamma|clahe|cutout|zoom(ed)?)[-_ ]?\d*$"
)
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)$")


class Bonds(NamedTuple):
    """Equal labels, equal group; and an example of each reason that was found."""

    groups: NDArray[np.int64]  # (N,)
    copies: NDArray[np.int64]  # (N,) by name alone: copies that an augmentation made of an image
    reasons: dict[str, tuple[int, int]]  # why -> the first two images that are together for it


def find_bonds(names: Sequence[str], appearances: Sequence[Appearance | None]) -> Bonds:
    """Find copies by name, tiles of one image, frames of a video, and near-duplicates.

    names are the paths of the images, or at least their file names. Numbers alone do not make a
    video: many data sets number unrelated photographs, so that neighbors must look alike too.
    """
    together = _Together(len(names))
    for first, second in _copies(names):
        together.join(first, second, "augmented copies")
    copies = together.labels.copy()
    for first, second in _tiles(names):
        together.join(first, second, "tiles of one image")
    seen = [index for index, look in enumerate(appearances) if look is not None]
    looks = [look for look in appearances if look is not None]
    if looks:
        _join_alike(together, np.array(seen), np.stack(looks))
    for first, second in _frames(names, appearances):
        together.join(first, second, "frames of one video")
    return Bonds(together.labels, copies, together.reasons)


class _Together:
    """Labels of images that are joined pair by pair."""

    def __init__(self, count: int) -> None:
        self.labels = np.arange(count)
        self.reasons: dict[str, tuple[int, int]] = {}

    def join(self, first: int, second: int, reason: str) -> bool:
        """Give both groups the smaller of their labels; tell whether they were two."""
        small, large = sorted((int(self.labels[first]), int(self.labels[second])))
        if small == large:
            return False
        self.reasons.setdefault(reason, (first, second))
        self.labels[self.labels == large] = small
        return True


def _join_alike(together: _Together, seen: NDArray[np.int64], looks: NDArray[np.float32]) -> None:
    labels = together.labels[seen]
    for first, second in pairs_alike(looks, labels):
        if together.join(int(seen[first]), int(seen[second]), "near-duplicates"):
            labels[:] = together.labels[seen]


def _copies(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield pairs that are copies of one image by their names."""
    stems = [_stem(name) for name in names]
    originals = set(stems)
    holders: dict[str, list[int]] = defaultdict(list)
    for index, stem in enumerate(stems):
        holders[_original(stem, originals)].append(index)
    for indices in holders.values():
        # A name that was not changed is the name of a file, which is there once.
        changed = any(stems[index] != stems[indices[0]] for index in indices[1:])
        exported = any(_ROBOFLOW.search(_without_ending(names[index])) for index in indices)
        if (changed or exported) and len(indices) <= _MOST_COPIES:
            yield from ((indices[0], other) for other in indices[1:])


def _tiles(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield pairs of tiles that were cut from one image."""
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        image = image_of_tile(_without_ending(name))
        if image is not None and first.setdefault(image, index) != index:
            yield first[image], index


def _original(stem: str, originals: set[str]) -> str:
    """Give the name of the image that this one was made from: itself if that cannot be told.

    Words such as `dark` are part of many names: they count only beside an image without them.
    """
    if found := _AUGMENTOR.search(stem):
        return _without_ending(found[1])
    shorter = stem
    while (cut := _AUGMENTED.sub("", _CHANGED.sub("", shorter))) not in ("", shorter):
        shorter = cut
        if shorter in originals:
            return shorter
    return _AUGMENTED.sub("", stem) or stem


def _frames(
    names: Sequence[str], appearances: Sequence[Appearance | None]
) -> Iterator[tuple[int, int]]:
    """Yield neighbors of a numbered series that look like frames of one video."""
    series: dict[tuple[str, str, str], dict[int, list[int]]] = defaultdict(dict)
    for index, name in enumerate(names):
        if appearances[index] is not None and (found := _NUMBERED.match(_stem(name))):
            key = (posixpath.dirname(name), found[1], found[3])
            series[key].setdefault(int(found[2]), []).append(index)
    for numbered in series.values():
        ordered = [numbered[number] for number in sorted(numbered)]
        for before, after in pairwise(ordered):
            yield from _first_alike(before, after, appearances)


def _first_alike(
    before: Sequence[int], after: Sequence[int], appearances: Sequence[Appearance | None]
) -> Iterator[tuple[int, int]]:
    """Yield the first pair alike; several images have one number where a frame has copies."""
    pairs = ((first, second) for first in before[:4] for second in after[:4])
    for first, second in pairs:
        one, other = appearances[first], appearances[second]
        if one is not None and other is not None and alike(one, other, NEIGHBORS):
            yield first, second
            return


def _stem(name: str) -> str:
    """Give an image's name without folder, ending, and what Roboflow adds to it.

    >>> _stem("train/cat_jpg.rf.0123456789abcdef.jpg"), _stem("a/b.c.jpg")
    ('cat', 'b.c')
    """
    stem = _without_ending(name)
    return _OLD_ENDING.sub("", _ROBOFLOW.sub("", stem)) if _ROBOFLOW.search(stem) else stem


def _without_ending(name: str) -> str:
    return _OLD_ENDING.sub("", posixpath.basename(name))
