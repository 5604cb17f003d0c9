"""Which image of a source goes into which shard."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from holdfast.data.sources.source import Entry, Source
from holdfast.data.split import SPLITS, stratified
from holdfast.data.writers.shards import shard_names
from holdfast.errors import HoldfastError

IMAGES_PER_SHARD = 500
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


class Plan(NamedTuple):
    """All files to write, and what does not go into any."""

    shards: tuple[Shard, ...]
    refused: tuple[Refused, ...]
    notes: tuple[str, ...]


def plan_shards(
    source: Source,
    *,
    val: float = 0.2,
    seed: int = 0,
    num_shards: int | None = None,
    keep_splits: bool = True,
) -> Plan:
    """Deal the images of a source to splits and shards; the seed decides, and nothing else.

    Splits that the data has are kept, unless keep_splits is off; else a share `val` of the images
    becomes val, stratified over the classes. Inside a split the images are shuffled.
    """
    if not 0 <= val < 1:
        fix = "Give it as a share, such as 0.2 for a fifth."
        raise HoldfastError(f"The share of images for val is {val}; 0 <= val < 1.", fix=fix)
    if num_shards is not None and num_shards < 1:
        raise HoldfastError(f"{num_shards} shards cannot hold anything; the least is 1.")
    entries, refused = _without_duplicates(source.entries)
    named = {entry.split for entry in entries if entry.split}
    notes = []
    if keep_splits and len(named) > 1:
        refused += [Refused(entry, NO_SPLIT) for entry in entries if not entry.split]
        entries = [entry for entry in entries if entry.split]
        splits = [entry.split or "" for entry in entries]
    else:
        splits = stratified([entry.class_counts for entry in entries], val, seed)
        if keep_splits and named and val:
            notes.append(f"The data has no split but {named.pop()}: {val:.0%} of it becomes val.")
    shards = _shards(entries, splits, seed, num_shards)
    return Plan(tuple(shards), tuple(refused), tuple(notes))


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
