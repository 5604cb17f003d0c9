"""Give the objects of a source the classes of another label map."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.sample import Sample
from holdfast.data.sources.classes import keypoint_names
from holdfast.data.sources.source import Entry, Reading

# A class that the label map does not have; it must not become one of the new label map by chance.
_UNKNOWN = 2**31 - 2


class Relabeling(NamedTuple):
    """Which class becomes which, 0-based, and where each keypoint stood."""

    classes: Mapping[int, int | None]  # before -> after; None: the object is left out
    keypoints: tuple[int | None, ...]  # of each keypoint after, its place before; None: nowhere

    def of(self, number: int) -> int | None:
        """Give the class that a class becomes."""
        return self.classes.get(number, number if number < 0 else _UNKNOWN)


def relabeling(
    before: StringIntLabelMap, after: StringIntLabelMap, renamed: Mapping[str, str] | None = None
) -> Relabeling:
    """Match classes by name; renamed says which names change, and to what.

    Classes that the label map `after` does not have are left out.
    """
    renamed = renamed or {}
    ids = {item.name: item.id for item in after.item}
    numbers = {item.id - 1: ids.get(renamed.get(item.name, item.name)) for item in before.item}
    places = {name: place for place, name in enumerate(keypoint_names(before))}
    return Relabeling(
        {old: None if new is None else new - 1 for old, new in numbers.items()},
        tuple(places.get(name) for name in keypoint_names(after)),
    )


def relabel(entry: Entry, change: Relabeling) -> Entry:
    """Give an entry that reads the same image with the other classes."""
    counts: Counter[int] = Counter()
    for number, count in entry.class_counts.items():
        if (new := change.of(number)) is not None:
            counts[new] += count
    is_whole = counts.total() == sum(entry.class_counts.values())
    made_from = f"{entry.fingerprint}\n{sorted(change.classes.items())}\n{change.keypoints}"
    return replace(
        entry,
        read=partial(_read, entry.read, change),
        class_counts=counts,
        # Areas are of all boxes: which of them are those that stay is not known before reading.
        box_areas=entry.box_areas if is_whole else (),
        fingerprint=hashlib.sha256(made_from.encode()).hexdigest(),
    )


def _read(read: Callable[[], Reading], change: Relabeling) -> Reading:
    sample, remarks = read()
    numbers = [change.of(number) for number in sample.classes.tolist()]
    kept = np.array([number is not None for number in numbers], bool)
    chosen = sample.with_objects(lambda values: values[kept])
    classes = np.array([number for number in numbers if number is not None], np.int32)
    # Scores are one a class, and mean nothing beside other classes.
    chosen = chosen._replace(classes=classes, multiclass_scores=None)
    return Reading(_with_keypoints(chosen, change.keypoints), remarks)


def _with_keypoints(sample: Sample, places: tuple[int | None, ...]) -> Sample:
    if sample.keypoints is None or not places:
        return sample._replace(keypoints=None, visibilities=None)
    before: NDArray[np.float32] = sample.keypoints  # (N, K, 2)
    after = np.full((len(before), len(places), 2), np.nan, np.float32)
    for new, old in enumerate(places):
        if old is not None:
            after[:, new] = before[:, old]
    return sample._replace(keypoints=after, visibilities=~np.isnan(after).any(axis=-1))
