"""Label maps of data sets: ids, names and keypoints gathered from what the files say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from holdfast.config.schema.label_map_items import (
    KeypointMap,
    StringIntLabelMap,
    StringIntLabelMapItem,
)


class Classes(NamedTuple):
    """A label map and what had to be decided to make it."""

    label_map: StringIntLabelMap
    notes: tuple[str, ...]


def build_classes(
    names: Mapping[int, str], keypoints: Mapping[int, Sequence[str]] | None = None
) -> Classes:
    """Make a label map from id -> name, and id -> keypoint names for classes that have them.

    Keypoints of equal name share one id over all classes, so K is the number of different names.
    """
    unique, notes = _unique_names(names)
    keypoints = keypoints or {}
    numbers = {name: index for index, name in enumerate(union(keypoints.values()))}
    items = []
    for number in sorted(unique):
        points = tuple(
            KeypointMap(id=numbers[label], label=label) for label in keypoints.get(number, ())
        )
        item = StringIntLabelMapItem(name=unique[number], id=number)
        items.append(item.replace(keypoints=points) if points else item)
    return Classes(StringIntLabelMap(item=tuple(items)), notes)


def keypoint_names(label_map: StringIntLabelMap) -> tuple[str, ...]:
    """List the keypoints of all classes by their id; () if no class has any."""
    labels = {point.id: point.label for item in label_map.item for point in item.keypoints}
    return tuple(labels[number] for number in sorted(labels))


def union(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Give the different names, in the order in which they first appear."""
    return tuple(dict.fromkeys(name for names in lists for name in names))


def sorted_names(names: Iterable[str]) -> dict[int, str]:
    """Give names the ids 1, 2, … in alphabetical order, for formats that do not number them."""
    return dict(enumerate(sorted(set(names)), start=1))


def listed(texts: Sequence[str], most: int = 10) -> str:
    """Name the first few, and count the others.

    >>> listed(["cat", "dog"]), listed(["cat", "dog", "cow", "hen"], most=2)
    ('cat, dog', 'cat, dog and 2 more')
    """
    others = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {others} more" if others > 0 else "")


def _unique_names(names: Mapping[int, str]) -> tuple[dict[int, str], tuple[str, ...]]:
    """Tell classes of equal name apart: records name classes by text, which must be unique."""
    unique: dict[int, str] = {}
    notes = []
    for number, name in sorted(names.items()):
        chosen = name if name.strip() else f"class_{number}"
        if chosen in unique.values():
            chosen = f"{chosen} ({number})"
            notes.append(f"Two classes are called {name!r}: id {number} is written as {chosen!r}.")
        unique[number] = chosen
    return unique, tuple(notes)
