"""Split images into train and val: the asked share, both sides alike, nothing torn apart."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from holdfast.data.splitting.appearance import Appearance
from holdfast.data.splitting.balance import choose_groups
from holdfast.data.splitting.belonging import Bonds, find_bonds
from holdfast.data.splitting.contents import Contents
from holdfast.data.splitting.quota import adds_up, choose_counts, nearest_total, wanted_images
from holdfast.data.splitting.split_names import TRAIN, VAL

_RUNS = 4  # so many runs of a group that had to be cut make up validation


class SplitImage(NamedTuple):
    """An image as far as a split looks at it."""

    name: str  # its path, or at least its file name
    contents: Contents
    appearance: Appearance | None = None  # None if it cannot be decoded


class ImageSplit(NamedTuple):
    """The split of each image, and what a user should know about it."""

    splits: list[str]
    notes: tuple[str, ...] = ()


def split_images(
    images: Sequence[SplitImage],
    *,
    val: float,
    seed: int,
    class_names: Mapping[int, str] | None = None,
) -> ImageSplit:
    """Put a share `val` of the images into val and the others into train; the seed decides.

    The number of images is the nearest that groups of images that belong together allow; if all
    stand alone, that is `val` times their number, rounded. Classes, objects per image and sizes
    of boxes are distributed alike on both sides. A class is on both sides if it is in more than
    one group, else in train; where the number of images does not allow that, the number counts.
    """
    wanted = wanted_images(len(images), val)
    if not wanted:
        return ImageSplit([TRAIN] * len(images))
    random = np.random.default_rng(seed)
    bonds = find_bonds([image.name for image in images], [image.appearance for image in images])
    groups = _by_label(bonds.groups.tolist())
    groups, cut = _cut_oversized(groups, wanted, images, bonds)
    chosen = _choose([image.contents for image in images], groups, wanted, random)
    splits = [TRAIN] * len(images)
    for group in chosen:
        for image in groups[group]:
            splits[image] = VAL
    notes = (
        *_bond_notes(images, groups, bonds),
        *cut,
        *_share_notes(splits.count(VAL), wanted, len(images)),
        *_class_notes(images, splits, class_names or {}),
    )
    return ImageSplit(splits, notes)


def _by_label(labels: Sequence[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for index, label in enumerate(labels):
        groups.setdefault(label, []).append(index)
    return list(groups.values())


def _sizes(groups: Sequence[Sequence[int]]) -> Counter[int]:
    return Counter(len(group) for group in groups)


def _choose(
    contents: Sequence[Contents],
    groups: Sequence[Sequence[int]],
    wanted: int,
    random: np.random.Generator,
) -> set[int]:
    """Choose the groups of val; the only group of a class is left for train if others suffice."""
    in_groups = Counter(
        number
        for group in groups
        for number in {number for image in group for number in contents[image].class_counts}
    )
    allowed = [
        all(in_groups[number] > 1 for image in group for number in contents[image].class_counts)
        for group in groups
    ]
    total = nearest_total(_sizes(groups), wanted)
    free = _sizes([group for group, one in zip(groups, allowed, strict=True) if one])
    if not adds_up(free, total):
        allowed, free = [True] * len(groups), _sizes(groups)
    counts = choose_counts(free, total, wanted / len(contents), random)
    return choose_groups(contents, groups, counts, allowed, random)


def _cut_oversized(
    groups: list[list[int]], wanted: int, images: Sequence[SplitImage], bonds: Bonds
) -> tuple[list[list[int]], list[str]]:
    """Cut the largest groups while val could only get less than half or more than twice its share.

    One fixed camera makes a whole data set look alike. Cut into runs of neighbors by name, only
    images beside a cut have their like on the other side.
    """
    notes = []
    while not wanted / 2 <= nearest_total(_sizes(groups), wanted) <= 2 * wanted:
        largest = max(groups, key=len)
        if len(largest) == 1:
            break
        runs = _runs(largest, max(1, wanted // _RUNS), images, bonds)
        notes.append(
            f"{len(largest)} of {len(images)} images look alike or are frames of one video, too "
            f"many for one side: they are cut into {len(runs)} runs by name."
        )
        groups = [group for group in groups if group is not largest] + runs
    return groups, notes


def _runs(
    group: Sequence[int], length: int, images: Sequence[SplitImage], bonds: Bonds
) -> list[list[int]]:
    """Cut a group into runs by name, without separating copies of one image if that can be."""
    ordered = sorted(group, key=lambda index: _natural(images[index].name))
    places: dict[int, int] = {}
    for index in ordered:
        places.setdefault(int(bonds.copies[index]), len(places))
    if len(places) == 1:  # nothing but copies of one image
        pieces = [[index] for index in ordered]
    else:
        pieces = [[] for _ in places]
        for index in ordered:
            pieces[places[int(bonds.copies[index])]].append(index)
    runs: list[list[int]] = [[]]
    for piece in pieces:
        if len(runs[-1]) >= length:
            runs.append([])
        runs[-1] += piece
    return runs


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort numbers by their value: frame_2 before frame_10."""
    parts = re.findall(r"\d+|\D+", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _bond_notes(
    images: Sequence[SplitImage], groups: Sequence[Sequence[int]], bonds: Bonds
) -> list[str]:
    together = sum(len(group) for group in groups if len(group) > 1)
    if not together:
        return []
    examples = (
        f"{reason} ({posixpath.basename(images[first].name)}, "
        f"{posixpath.basename(images[second].name)})"
        for reason, (first, second) in bonds.reasons.items()
    )
    number = sum(len(group) > 1 for group in groups)
    stay = "a group that stays" if number == 1 else f"{number} groups that each stay"
    what = f"{together} of {len(images)} images are in {stay} on one side"
    return [f"{what}: {', '.join(examples)}."]


def _share_notes(got: int, wanted: int, images: int) -> list[str]:
    if abs(got - wanted) <= 1:
        return []
    why = "images that belong together are not separated"
    return [f"val gets {got} of {images} images, not {wanted}: {why}."]


def _class_notes(
    images: Sequence[SplitImage], splits: Sequence[str], names: Mapping[int, str]
) -> list[str]:
    """Name the classes that only one side has."""
    on: dict[str, set[int]] = {TRAIN: set(), VAL: set()}
    for image, split in zip(images, splits, strict=True):
        on[split].update(image.contents.class_counts)
    notes = []
    for split, other in ((VAL, TRAIN), (TRAIN, VAL)):
        if missing := sorted(on[other] - on[split]):
            called = [names.get(number, f"class {number}") for number in missing[:5]]
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            notes.append(
                f"Too few images to be on both sides; not in {split}: {', '.join(called)}{more}."
            )
    return notes
