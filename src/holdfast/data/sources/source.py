"""What a source is: the images of a data set, each read when it is asked for."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.sample import Sample


class Reading(NamedTuple):
    """A sample, and in fixed words what was not taken as the files say it."""

    sample: Sample
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One image of a source, not read yet. `read` raises HoldfastError if it cannot be read."""

    source_id: str
    place: str  # for messages: the annotation file, and the number in it where it holds several
    filename: str
    read: Callable[[], Reading]
    split: str | None = None  # train, val or test if the data says so
    class_counts: Mapping[int, int] = field(default_factory=dict)  # class, 0-based -> objects
    box_areas: tuple[float, ...] = ()  # of its boxes, as shares of the image; () if not known
    fingerprint: str = ""  # differs when the annotation differs
    image_path: str = ""  # "" if the image has no file of its own


@dataclass(frozen=True, kw_only=True)
class Source:
    """All images of a data set with their classes; iterating reads them one by one."""

    format: str
    location: str
    label_map: StringIntLabelMap
    entries: tuple[Entry, ...]
    masks: bool = False  # whether samples have masks
    independent: bool = False  # no two images can belong together, so none has to be looked at
    notes: tuple[str, ...] = ()  # what was decided while opening and a user should know
    selection: str = ""  # which of its classes were asked for; "" = all as they are

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Sample]:
        return (entry.read().sample for entry in self.entries)


def shortest_names(paths: Sequence[str]) -> list[str]:
    """Name files by their base name if that tells them apart, else by their path.

    >>> shortest_names(["a/1.jpg", "b/2.jpg"]), shortest_names(["a/1.jpg", "b/1.jpg"])
    (['1.jpg', '2.jpg'], ['a/1.jpg', 'b/1.jpg'])
    """
    names = [posixpath.basename(path) for path in paths]
    return names if len(set(names)) == len(set(paths)) else list(paths)
