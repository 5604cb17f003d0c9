"""TFRecords that `holdfast new` is given: their splits and their label map."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.config.label_map import load_label_map
from holdfast.config.schema.label_map import StringIntLabelMap
from holdfast.data import files
from holdfast.data.record_files import find_records
from holdfast.data.split import named_split
from holdfast.errors import HoldfastError


@dataclass(frozen=True, kw_only=True)
class RecordSet:
    """Record files by split, and their label map."""

    location: str
    splits: Mapping[str, Sequence[str]]  # train, val, test -> files; "": of no split by name
    label_map: StringIntLabelMap
    label_map_path: str


def open_records(location: str, label_map_path: str | None) -> RecordSet:
    """Find the record files, the splits that their names tell, and the label map beside them."""
    location = files.expand(location)
    found = find_records(location)
    if not found:
        raise HoldfastError(f"{location} leads to no TFRecord file.", fix="Check the path.")
    path = files.expand(label_map_path) if label_map_path else _find_label_map(found)
    splits: dict[str, list[str]] = defaultdict(list)
    above = posixpath.commonpath([posixpath.dirname(file) or "." for file in found])
    for file in found:
        inside = posixpath.relpath(file, above)
        splits[named_split(inside, by_name=True) or ""].append(file)
    return RecordSet(
        location=location, splits=splits, label_map=load_label_map(path), label_map_path=path
    )


def input_paths(record_files: Iterable[str]) -> list[str]:
    """Name files as an input reader does: the shards of one set by a pattern.

    >>> input_paths(["a-00000-of-00002", "a-00001-of-00002", "b.record"])
    ['a-?????-of-00002', 'b.record']
    """
    return list(dict.fromkeys(_SHARD.sub(_pattern, file) for file in record_files))


_SHARD = re.compile(r"\d+(?=-of-\d+[^/]*$)")


def _pattern(number: re.Match[str]) -> str:
    return "?" * len(number[0])


def _find_label_map(found: Sequence[str]) -> str:
    folders = dict.fromkeys(posixpath.dirname(file) or "." for file in found)
    places = dict.fromkeys([*folders, *(posixpath.dirname(folder) or "." for folder in folders)])
    for folder in places:
        maps = files.glob(files.join(folder, "*.pbtxt"))
        if len(maps) == 1:
            return maps[0]
        if maps:
            names = ", ".join(posixpath.basename(each) for each in maps)
            fix = f"Say which with --label-map: {names}."
            raise HoldfastError(f"{folder} holds {len(maps)} label maps.", fix=fix)
    raise HoldfastError(
        f"There is no label map (.pbtxt) beside {found[0]}.", fix="Give it with --label-map."
    )
