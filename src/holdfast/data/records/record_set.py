"""A set of TFRecord files: which split each is of by its name, and the label map beside them."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Mapping, Sequence

from holdfast.data.records import data_files
from holdfast.data.records.record_files import find_records
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError


def find_record_files(location: str) -> list[str]:
    """List the record files that a path, pattern or folder stands for; none is an error."""
    found = find_records(data_files.expand(location))
    if not found:
        raise HoldfastError(f"{location} matches no TFRecord file.", fix="Check the path.")
    return found


def record_splits(found: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Sort files by the split that their names tell; "" for those of no split."""
    splits: dict[str, list[str]] = defaultdict(list)
    above = posixpath.commonpath([posixpath.dirname(file) or "." for file in found])
    for file in found:
        inside = posixpath.relpath(file, above)
        splits[named_split(inside, by_name=True) or ""].append(file)
    return splits


def label_map_beside(found: Sequence[str]) -> str | None:
    """Find the label map beside record files, or one level up; None if there is none."""
    folders = dict.fromkeys(posixpath.dirname(file) or "." for file in found)
    places = dict.fromkeys([*folders, *(posixpath.dirname(folder) or "." for folder in folders)])
    for folder in places:
        maps = data_files.glob(data_files.join(folder, "*.pbtxt"))
        if len(maps) == 1:
            return maps[0]
        if maps:
            names = ", ".join(posixpath.basename(each) for each in maps)
            fix = f"Choose one with --label-map: {names}."
            raise HoldfastError(f"{folder} holds {len(maps)} label maps.", fix=fix)
    return None
