"""Several sources as one: classes united by name, images told apart, splits kept."""

from __future__ import annotations

import os
import posixpath
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.records import data_files
from holdfast.data.sources.classes import build_classes, listed, union
from holdfast.data.sources.relabel import relabel, relabeling
from holdfast.data.sources.source import Entry, Reading, Source


def combine(sources: Sequence[Source]) -> Source:
    """Make one source of several, in their order.

    Classes of equal name are one. Those of the first source keep their ids; new ones of the others
    are counted on. Where two sources use the same image id or file name, every image is called by
    its source too.
    """
    names = _short_names([source.location for source in sources])
    label_map = _united([source.label_map for source in sources])
    entries = [
        [_placed(relabel(entry, change), name) for entry in source.entries]
        for source, name in zip(sources, names, strict=True)
        for change in (relabeling(source.label_map, label_map),)
    ]
    return Source(
        format=" + ".join(dict.fromkeys(source.format for source in sources)),
        location=" + ".join(map(_real, (source.location for source in sources))),
        label_map=label_map,
        entries=tuple(entry for part in _told_apart(entries, names) for entry in part),
        masks=any(source.masks for source in sources),
        independent=all(source.independent for source in sources),
        notes=(*_notes(sources, names), *_class_notes(sources, names, label_map)),
    )


def _real(location: str) -> str:
    is_place = "://" not in location and data_files.exists(location)
    return os.path.realpath(location) if is_place else location


def _short_names(locations: Sequence[str]) -> list[str]:
    """Call each source by the end of its path, with a number where that is not enough."""
    names = [posixpath.basename(location.rstrip("/")) or location for location in locations]
    counts, seen = Counter(names), Counter[str]()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if counts[name] == 1 else f"{name}-{seen[name]}")
    return unique


def _united(label_maps: Sequence[StringIntLabelMap]) -> StringIntLabelMap:
    ids: dict[str, int] = {}
    keypoints: dict[int, list[Sequence[str]]] = defaultdict(list)
    for label_map in label_maps:
        for item in sorted(label_map.item, key=lambda each: each.id):
            is_first = label_map is label_maps[0]
            number = item.id if is_first else max(ids.values(), default=0) + 1
            number = ids.setdefault(item.name, number)
            if item.keypoints:
                keypoints[number].append([point.label for point in item.keypoints])
    names = {number: name for name, number in ids.items()}
    return build_classes(
        names, {number: union(lists) for number, lists in keypoints.items()}
    ).label_map


def _placed(entry: Entry, name: str) -> Entry:
    return replace(entry, place=f"{name}: {entry.place}")


def _told_apart(parts: Sequence[Sequence[Entry]], names: Sequence[str]) -> list[list[Entry]]:
    """Put the source's name before ids or file names that two sources have."""
    ids = _are_shared([{entry.source_id for entry in part} for part in parts])
    filenames = _are_shared([{entry.filename for entry in part} for part in parts])
    return [
        [_called(entry, name if ids else "", name if filenames else "") for entry in part]
        for part, name in zip(parts, names, strict=True)
    ]


def _are_shared(sets: Sequence[set[str]]) -> bool:
    return len(set().union(*sets)) < sum(map(len, sets))


def _called(entry: Entry, before_id: str, before_filename: str) -> Entry:
    source_id = f"{before_id}/{entry.source_id}" if before_id else entry.source_id
    filename = f"{before_filename}/{entry.filename}" if before_filename else entry.filename
    return replace(
        entry,
        source_id=source_id,
        filename=filename,
        read=partial(_read_as, source_id, entry.read),
    )


def _read_as(source_id: str, read: Callable[[], Reading]) -> Reading:
    sample, remarks = read()
    return Reading(sample._replace(source_id=source_id), remarks)


def _notes(sources: Sequence[Source], names: Sequence[str]) -> Iterator[str]:
    for source, name in zip(sources, names, strict=True):
        yield from (f"{name}: {note}" for note in source.notes)
    without = [name for source, name in zip(sources, names, strict=True) if not source.masks]
    if 0 < len(without) < len(sources):
        yield f"{', '.join(without)}: without outlines, so their masks are empty."


def _class_notes(
    sources: Sequence[Source], names: Sequence[str], label_map: StringIntLabelMap
) -> Iterator[str]:
    """Say which classes were united, which have other ids now, and which may be meant alike."""
    ids = {item.name: item.id for item in label_map.item}
    counts = Counter(item.name for source in sources for item in source.label_map.item)
    if shared := [name for name in ids if counts[name] > 1]:
        yield f"Merged by name, from several sources: {listed(shared)}."
    for source, name in zip(sources, names, strict=True):
        moved = [
            f"{item.name} {item.id} -> {ids[item.name]}"
            for item in source.label_map.item
            if ids[item.name] != item.id
        ]
        if moved:
            yield f"{name}: class ids change: {listed(moved)}."
    if any(counts[name] < len(sources) for name in ids):
        yield (
            "Not every source has every class: where a source shows an object of a class that it "
            "does not label, that object counts as background."
        )
    yield from _alike(ids)


def _alike(ids: Mapping[str, int]) -> Iterator[str]:
    """Point at names that differ only in case, spaces or dashes: nobody else would see it."""
    found = defaultdict(list)
    for name in ids:
        found["".join(filter(str.isalnum, name.casefold())) or name].append(name)
    for group in found.values():
        if len(group) > 1:
            others, last = ",".join(group[1:]), group[0]
            names = " and ".join(map(repr, group))
            yield f'{names} are two classes; --map "{others}={last}" makes them one.'
