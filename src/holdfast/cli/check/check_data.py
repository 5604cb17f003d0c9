"""The data that `holdfast check --data` names: as a config would name it, and judged."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.progress_bar import progress
from holdfast.cli.quiet import load_tensorflow
from holdfast.config.label_map import largest_id, load_label_map
from holdfast.config.nearby import find_inside, role_of, shard_pattern
from holdfast.config.paths import expand, find_files, is_remote
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.suggestions.change import distance, shown
from holdfast.config.suggestions.found_data import num_classes_of
from holdfast.config.suggestions.named_data import NamedData
from holdfast.errors import HoldfastError, Problem

if TYPE_CHECKING:
    from holdfast.data.survey.inspection import Inspection

_MEGABYTE = 10**6


@dataclass(frozen=True, kw_only=True)
class LookedAt:
    """Data as a config's readers take it, what is wrong with it, and the command that makes it."""

    data: NamedData
    problems: tuple[Problem, ...]
    first: str | None = None
    as_it_is: tuple[Problem, ...] = ()  # of the config that reads this data: the options mend them


def look_at_data(location: str, config: TrainEvalPipelineConfig, folder: Path) -> LookedAt:
    """Read all of the data, which is remembered; HoldfastError if there is none.

    config, folder: whose label map serves where none lies beside the records.
    """
    location = expand(location)
    if is_remote(location):
        fix = "Copy it here, or name the paths with --set."
        raise HoldfastError(f"{location} is remote: --data looks at local data.", fix=fix)
    load_tensorflow()
    from holdfast.data.records.record_files import find_records, is_record_name

    records = [file for file in find_records(location) if is_record_name(file)]
    if not records:
        return _look_at_annotations(location)
    looked_at = _look_at_records(records, _label_map_of(config, folder))
    return replace(looked_at, as_it_is=_as_it_is(records, config, folder, looked_at))


# TFRecords, made by anyone.


def _look_at_records(files: Sequence[str], usual_label_map: str) -> LookedAt:
    train, evaluation = _by_purpose(files)
    label_map = _label_map_beside(train) or usual_label_map
    inspections = {
        reader: _inspected(each, label_map, reader)
        for reader, each in (("train_input_reader", train), ("eval_input_reader", evaluation))
        if each
    }
    problems = [
        replace(problem, path=reader)
        for reader, each in inspections.items()
        for problem in each.problems
    ]
    names = {name for each in inspections.values() for name in each.statistics.classes}
    if not label_map and any(not name.isdecimal() for name in names):
        label_map = os.path.join(os.path.dirname(train[0]), "label_map.pbtxt")
        problems.append(_without_label_map(label_map, sorted(names)))
    data = NamedData(
        train=_patterns(train),
        evaluation=_patterns(evaluation),
        label_map=shown(label_map) if label_map else "",
        num_classes=_num_classes(label_map, names),
    )
    return LookedAt(data=data, problems=tuple(problems))


def _as_it_is(
    records: Sequence[str], config: TrainEvalPipelineConfig, folder: Path, looked_at: LookedAt
) -> tuple[Problem, ...]:
    """Judge records that the config reads already, but with another label map than theirs."""
    reader = config.train_input_reader
    inputs = reader.tf_record_input_reader if reader else None
    given = {os.path.realpath(file) for file in records}
    read = [
        str(file)
        for path in (inputs.input_path if inputs else ())
        for file in find_files(path, folder).files
    ]
    read = [file for file in read if os.path.realpath(file) in given]
    label_map = _label_map_of(config, folder)
    if not read or not label_map or shown(label_map) == looked_at.data.label_map:
        return ()
    problems = _inspected(read, label_map, "train_input_reader").problems
    return tuple(replace(problem, path="train_input_reader") for problem in problems)


def _by_purpose(files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell the files to train on, and those to evaluate on, by their names."""
    roles: dict[str | None, list[str]] = {}
    for file in files:
        roles.setdefault(role_of(file), []).append(file)
    train = roles.get("train") or roles.get(None)
    if train is None:
        raise HoldfastError(
            f"By their names, all records are for evaluation: {files[0]}.",
            fix="Name the folder that holds those for training, too.",
        )
    return train, roles.get("val") or roles.get("test") or []


def _patterns(files: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(shown(shard_pattern(os.path.abspath(file))) for file in files))


def _label_map_beside(records: Sequence[str]) -> str:
    """Find the label map nearest to the records; "" if there is none."""
    found = find_inside(Path(os.path.abspath(records[0])).parent).label_maps
    usable = (each for each in found if num_classes_of(each) is not None)
    return min(usable, key=lambda each: distance(each, records[:1]), default="")


def _label_map_of(config: TrainEvalPipelineConfig, folder: Path) -> str:
    """Give the config's own label map, if it is one that can be used."""
    train = config.train_input_reader
    files = find_files(train.label_map_path, folder).files if train else ()
    return str(files[0]) if files and num_classes_of(files[0]) is not None else ""


def _inspected(files: Sequence[str], label_map_path: str, reader: str) -> Inspection:
    from holdfast.data.survey.inspection import inspect_data, records_of

    label_map = load_label_map(label_map_path) if label_map_path else None
    with progress(f"look at {reader}", "MB") as report:
        return inspect_data(
            records_of(list(files), label_map),
            progress=lambda done, total: report(done // _MEGABYTE, total // _MEGABYTE),
        )


def _num_classes(label_map: str, names: Collection[str]) -> int:
    """Give the largest id: of the label map, else of the data, where classes may be ids."""
    known = num_classes_of(label_map) if label_map else None
    return known or max((int(each) for each in names if each.isdecimal()), default=len(names)) or 1


def _without_label_map(path: str, names: Sequence[str]) -> Problem:
    return Problem(
        path="train_input_reader.label_map_path",
        message=f"the records have no label map; their classes are {', '.join(names[:10])}",
        fix=f'write {path} with their ids: item {{ id: 1 name: "{names[0]}" }} …',
    )


# Annotations of another format, to be converted first.


def _look_at_annotations(location: str) -> LookedAt:
    from holdfast.data.sources.open_source import open_source
    from holdfast.data.survey.inspection import inspect_data

    source = open_source(location, masks=False)
    with progress("look at the data", "images") as report:
        inspection = inspect_data(source, progress=report)
    splits = {entry.split for entry in source.entries} - {None}
    held_out = "test" if len(splits) > 1 and "val" not in splits else "val"
    out = _free_folder(location)
    data = NamedData(
        train=(f"{out}/train.record-*",),
        evaluation=(f"{out}/{held_out}.record-*",),
        label_map=f"{out}/label_map.pbtxt",
        num_classes=largest_id(source.label_map),
        exists=False,
    )
    problems = tuple(replace(each, path="--data") for each in inspection.problems)
    first = shlex.join(["holdfast", "convert", location, out])
    return LookedAt(data=data, problems=problems, first=first)


def _free_folder(location: str) -> str:
    """Name a folder for the records that is not there yet."""
    name = os.path.basename(location.rstrip("/")).partition(".")[0]
    names = ["records", f"{name}_records", *(f"{name}_records_{i}" for i in range(2, 100))]
    return next(each for each in names if not os.path.exists(each))
