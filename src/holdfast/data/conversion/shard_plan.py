"""Which image of a source goes into which shard."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from holdfast.data.sources.source import Entry, Source
from holdfast.data.splitting.contents import Contents
from holdfast.data.splitting.looking import Glance, look_at
from holdfast.data.splitting.split_images import ImageSplit, SplitImage, split_images
from holdfast.data.splitting.split_names import SPLITS, TRAIN
from holdfast.data.writers.shards import shard_names
from holdfast.errors import HoldfastError
from holdfast.units import count_text

IMAGES_PER_SHARD = 500
USUAL_VAL = 0.2  # the share of val, if nobody asks for another
Look = Callable[[Sequence[Entry], Callable[[int, int], None]], list[Glance]]
DUPLICATE = "another image has the same source id"
NO_SPLIT = "in none of the data's own splits"


class Shard(NamedTuple):
    """A file to write."""

    name: str
    split: str
    entries: tuple[Entry, ...]


class Refused(NamedTuple):
    """An image that is left out before it is read."""

    entry: Entry
    reason: str


class ShardPlan(NamedTuple):
    """All files to write, and what does not go into any."""

    shards: tuple[Shard, ...]
    refused: tuple[Refused, ...]
    notes: tuple[str, ...]


def plan_shards(
    source: Source,
    *,
    val: float = USUAL_VAL,
    seed: int = 0,
    num_shards: int | None = None,
    keep_splits: bool = True,
    look: Look = look_at,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ShardPlan:
    """Deal the images of a source to splits and shards; the seed decides, and nothing else.

    Splits that the data has are kept, unless keep_splits is off; else all images are looked at
    (progress: how many are, and how many there are), and a share `val` becomes val, like the rest
    and without near-duplicates in it. Inside a split the images are shuffled.
    """
    if not 0 <= val < 1:
        fix = "Give it as a share, such as 0.2 for a fifth."
        raise HoldfastError(f"The share of images for val is {val}; 0 <= val < 1.", fix=fix)
    if num_shards is not None and num_shards < 1:
        raise HoldfastError(f"{num_shards} shards cannot hold anything; the least is 1.")
    entries, refused = _without_duplicates(source.entries)
    own = _own_splits(entries) if keep_splits else None
    if own is None:
        own = _split(source, entries, val, seed, lambda entries: look(entries, progress))
        named = {entry.split for entry in entries if entry.split}
        if keep_splits and named and val:
            note = f"The data has no split but {named.pop()}: {val:.0%} of it becomes val."
            own = own._replace(notes=(note, *own.notes))
    elif val not in (0, USUAL_VAL):
        note = f"The data has splits, which are kept: --val {val:g} is not used, unless --resplit."
        own = own._replace(notes=(note, *own.notes))
    refused += [
        Refused(entry, NO_SPLIT) for entry, one in zip(entries, own.splits, strict=True) if not one
    ]
    shards = _shards(entries, own.splits, seed, num_shards)
    return ShardPlan(tuple(shards), tuple(refused), own.notes)


def _own_splits(entries: Sequence[Entry]) -> ImageSplit | None:
    """Give the splits that the data has, "" for an image of none; None if it has no two.

    Images beside a folder `test` or `val`, where there is no `train`, are those to train on.
    """
    counts = Counter(entry.split or "" for entry in entries)
    named, unnamed = counts.keys() - {""}, counts[""]
    if unnamed and named and TRAIN not in named:
        others = " and ".join(split for split in SPLITS if split in named)
        what = f"{count_text(unnamed, 'image')} of no split"
        note = f"The data names {others} but no train: {what} will be train."
        return ImageSplit([entry.split or TRAIN for entry in entries], (note,))
    return ImageSplit([entry.split or "" for entry in entries]) if len(named) > 1 else None


def _split(
    source: Source,
    entries: Sequence[Entry],
    val: float,
    seed: int,
    look: Callable[[Sequence[Entry]], list[Glance]],
) -> ImageSplit:
    if not val:
        return ImageSplit([TRAIN] * len(entries))
    unseen = [Glance(True, None)] * len(entries)
    seen = unseen if source.independent else look(entries)
    # What will be left out is no part of the share.
    usable = [index for index, glance in enumerate(seen) if glance.is_image]
    names = {item.id - 1: item.name for item in source.label_map.item}
    images = [
        SplitImage(
            entries[index].image_path or entries[index].source_id,
            Contents(_known(entries[index].class_counts, names), entries[index].box_areas),
            seen[index].appearance,
        )
        for index in usable
    ]
    split = split_images(images, val=val, seed=seed, class_names=names)
    splits = dict(zip(usable, split.splits, strict=True))
    return split._replace(splits=[splits.get(index, TRAIN) for index in range(len(entries))])


def _known(counts: Mapping[int, int], names: Mapping[int, str]) -> dict[int, int]:
    return {number: count for number, count in counts.items() if number in names}


def _without_duplicates(entries: Iterable[Entry]) -> tuple[list[Entry], list[Refused]]:
    seen: set[str] = set()
    kept, refused = [], []
    for entry in entries:
        if entry.source_id in seen:
            refused.append(Refused(entry, DUPLICATE))
        else:
            seen.add(entry.source_id)
            kept.append(entry)
    return kept, refused


def _shards(
    entries: Sequence[Entry], splits: Sequence[str], seed: int, num_shards: int | None
) -> list[Shard]:
    shards = []
    for split in SPLITS:
        chosen = [entry for entry, one in zip(entries, splits, strict=True) if one == split]
        order = np.random.default_rng(seed).permutation(len(chosen))
        count = min(len(chosen), num_shards or math.ceil(len(chosen) / IMAGES_PER_SHARD))
        names = shard_names(f"{split}.record", count)
        for name, part in zip(names, np.array_split(order, count) if count else [], strict=True):
            shards.append(Shard(name, split, tuple(chosen[index] for index in part)))
    return shards
