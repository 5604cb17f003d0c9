"""TFRecords that `holdfast new` is given: their splits and their label map."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.records import data_files
from holdfast.data.records.label_map_files import open_label_map
from holdfast.data.records.record_set import find_record_files, label_map_beside, record_splits
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
    found = find_record_files(location)
    path = data_files.expand(label_map_path) if label_map_path else label_map_beside(found)
    if path is None:
        raise HoldfastError(
            f"There is no label map (.pbtxt) beside {found[0]}.", fix="Give it with --label-map."
        )
    return RecordSet(
        location=data_files.expand(location),
        splits=record_splits(found),
        label_map=open_label_map(path),
        label_map_path=path,
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
