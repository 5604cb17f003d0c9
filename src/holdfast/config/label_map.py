"""Label maps: which class id has which name, read, judged and written as the OD API does."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.config.load import decoded_text, placed, read_text
from holdfast.config.schema.label_map_items import StringIntLabelMap, StringIntLabelMapItem
from holdfast.config.text.decode import Decoded, decode
from holdfast.config.text.encode import encode
from holdfast.errors import ConfigError, Problem, errors_of, in_file_order
from holdfast.files import write_text

BACKGROUND = "background"


class LabelMapReport(NamedTuple):
    """A label map as read: errors make it unusable, warnings say what the OD API makes of it."""

    label_map: StringIntLabelMap
    problems: tuple[Problem, ...]


def load_label_map(path: str | os.PathLike[str]) -> StringIntLabelMap:
    """Read a label map; ConfigError lists every mistake that makes it unusable."""
    return _usable(read_label_map(path), str(path))


def parse_label_map(content: bytes, source: str) -> StringIntLabelMap:
    """Take the content of a file for a label map; ConfigError as of `load_label_map`.

    source: what errors call it.
    """
    return _usable(_judged(decode(decoded_text(content, source), StringIntLabelMap)), source)


def save_label_map(label_map: StringIntLabelMap, path: str | os.PathLike[str]) -> None:
    """Write a label map as text, one item after the other."""
    write_text(Path(path), encode(label_map))


def read_label_map(path: str | os.PathLike[str]) -> LabelMapReport:
    """Read and judge a label map, keeping what is wrong with it beside it."""
    return _judged(decode(read_text(Path(path)), StringIntLabelMap))


def classes(label_map: StringIntLabelMap) -> tuple[StringIntLabelMapItem, ...]:
    """List the items that are classes: all but the background, the first of each id, by id."""
    first: dict[int, StringIntLabelMapItem] = {}
    for item in label_map.item:
        if item.id > 0:
            first.setdefault(item.id, item)
    return tuple(first[number] for number in sorted(first))


def class_name(item: StringIntLabelMapItem, *, use_display_name: bool = True) -> str:
    """Name a class for people: its display name, else its name, else its id."""
    shown = item.display_name if use_display_name and item.has("display_name") else item.name
    return shown or item.name or str(item.id)


def largest_id(label_map: StringIntLabelMap) -> int:
    """Give the largest id; num_classes must reach it, gaps included. 0 for an empty map."""
    return max((item.id for item in label_map.item), default=0)


def ids_by_text(label_map: StringIntLabelMap, *, use_display_name: bool = False) -> dict[str, int]:
    """Map the class text of records to ids; of equal names the last counts, as in the OD API."""
    return {
        item.display_name if use_display_name else item.name: item.id for item in label_map.item
    }


def _judged(decoded: Decoded[StringIntLabelMap]) -> LabelMapReport:
    judged = (placed(problem, decoded.positions) for problem in _judge(decoded.message))
    return LabelMapReport(decoded.message, in_file_order([*decoded.problems, *judged]))


def _usable(report: LabelMapReport, source: str) -> StringIntLabelMap:
    if errors := errors_of(report.problems):
        raise ConfigError(source, errors)
    return report.label_map


def _judge(label_map: StringIntLabelMap) -> Iterator[Problem]:
    """Yield what the OD API refuses as errors, and what it makes the best of as warnings."""
    if not label_map.item:
        yield Problem(message="it has no item", fix='write item { id: 1 name: "…" }')
    for index, item in enumerate(label_map.item):
        yield from _judge_id(item, f"item[{index}]")
        yield from _judge_name(item, f"item[{index}]")
        yield from _judge_keypoints(item, f"item[{index}].keypoints")
    yield from _judge_duplicates(label_map)
    yield from _judge_gaps(label_map)


def _judge_id(item: StringIntLabelMapItem, path: str) -> Iterator[Problem]:
    if item.id < 0:
        yield Problem(
            path=f"{path}.id", message=f"id {item.id} is negative", fix="count ids from 1"
        )
    if item.id != 0 or BACKGROUND in (item.name, item.display_name):
        return
    if item.has("id"):
        yield Problem(
            path=f"{path}.id",
            message="id 0 is reserved for the background",
            fix="count ids from 1, in the records too",
        )
    else:
        yield Problem(
            path=path,
            message=f"class {item.name!r} has no id",
            fix="add `id:`, counting from 1",
        )


def _judge_name(item: StringIntLabelMapItem, path: str) -> Iterator[Problem]:
    # Records may give a class by either; the OD API looks both up, whatever use_display_name says.
    if not item.name and not item.display_name:
        yield Problem(
            path=path,
            severity="warning",
            message=f"class {item.id} has no name: records that give it by text are not matched",
            fix="add `name:`",
        )


def _judge_keypoints(item: StringIntLabelMapItem, path: str) -> Iterator[Problem]:
    ids = Counter(keypoint.id for keypoint in item.keypoints)
    labels = Counter(keypoint.label for keypoint in item.keypoints)
    for what, counts in (("id", ids), ("label", labels)):
        for value in (value for value, count in counts.items() if count > 1):
            yield Problem(
                path=path,
                message=f"keypoint {what} {value!r} is given more than once",
                fix=f"give each keypoint of a class its own {what}",
            )


def _judge_duplicates(label_map: StringIntLabelMap) -> Iterator[Problem]:
    first_name: dict[int, str] = {}
    first_id: dict[str, int] = {}
    for index, item in enumerate(label_map.item):
        if item.id in first_name:
            yield Problem(
                path=f"item[{index}].id",
                severity="warning",
                message=f"id {item.id} is {first_name[item.id]!r} already: both become one class",
                fix="give each class its own id",
            )
        elif item.name and item.name in first_id:
            yield Problem(
                path=f"item[{index}].name",
                severity="warning",
                message=f"{item.name!r} is id {first_id[item.name]} already: text means the last",
                fix="give each class its own name",
            )
        first_name.setdefault(item.id, class_name(item))
        first_id.setdefault(item.name, item.id)


def _judge_gaps(label_map: StringIntLabelMap) -> Iterator[Problem]:
    used = {item.id for item in label_map.item if item.id > 0}
    largest = max(used, default=0)
    if unused := largest - len(used):
        yield Problem(
            severity="warning",
            message=f"{unused} of the ids 1 to {largest} are unused: num_classes must be {largest}",
            fix="fine if your records use these ids",
        )
