"""The files a config names: placeholders, eaten backslashes, missing files, label maps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.config.facts.networks import detector_of
from holdfast.config.label_map import largest_id, read_label_map
from holdfast.config.paths import (
    CHECKPOINT_PART,
    PLACEHOLDER,
    Base,
    Found,
    escaped_letters,
    expand,
    find_checkpoint,
    find_files,
    incomplete_shards,
    is_glob,
    is_remote,
    meant,
)
from holdfast.config.schema.input_reader import InputReader, InputType
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import ConfigError, Problem, errors_of

_REMOVED = "remove it"


class _Reader(NamedTuple):
    path: str
    reader: InputReader


def check_files(config: TrainEvalPipelineConfig, folder: Path) -> Iterator[Problem]:
    """Yield what is wrong with readers, their paths and label maps, each thing once."""
    yield from dict.fromkeys(_problems(config, folder))  # two readers often share a label map


def unsupported_settings(reader: InputReader, path: str) -> Iterator[Problem]:
    """Yield the settings of a reader that change what is read and that Holdfast cannot obey."""
    for name, (is_set, fix) in {
        "external_input_reader": (
            reader.external_input_reader is not None and reader.tf_record_input_reader is None,
            "write the data as TFRecords and name them in tf_record_input_reader",
        ),
        "input_type": (
            reader.input_type is InputType.TF_SEQUENCE_EXAMPLE,
            "write one tf.train.Example for each frame",
        ),
        "num_additional_channels": (reader.num_additional_channels > 0, "train on RGB alone"),
        "sample_from_datasets_weights": (
            bool(reader.sample_from_datasets_weights),
            "remove it; every record is read once in an epoch",
        ),
        "expand_labels_hierarchy": (
            reader.expand_labels_hierarchy,
            "expand the labels when the records are made",
        ),
        "load_context_features": (reader.load_context_features, _REMOVED),
        "load_dense_pose": (reader.load_dense_pose, "remove it, or use the boxes and keypoints"),
        "load_track_id": (reader.load_track_id, _REMOVED),
        "load_keypoint_depth_features": (reader.load_keypoint_depth_features, _REMOVED),
    }.items():
        if is_set:
            yield Problem(
                path=f"{path}.{name}",
                message="Holdfast does not support it",
                fix=fix,
                remedy=((f"{path}.{name}", ""),) if fix.startswith(_REMOVED) else (),
            )


def _problems(config: TrainEvalPipelineConfig, folder: Path) -> Iterator[Problem]:
    for path, reader in _readers(config):
        yield from _check_records(path, reader, folder)
        yield from unsupported_settings(reader, path)
        if reader.label_map_path:
            yield from _check_label_map(config, f"{path}.label_map_path", reader, folder)
    if config.train_config is not None and config.train_config.fine_tune_checkpoint:
        yield from _check_checkpoint(config.train_config.fine_tune_checkpoint, folder)
    if config.model is not None and config.model.center_net is not None:
        keypoints = config.model.center_net.keypoint_label_map_path
        if keypoints:
            yield from _check_path("model.center_net.keypoint_label_map_path", keypoints, folder)
    yield from _check_held_out(config)


def _readers(config: TrainEvalPipelineConfig) -> Iterator[_Reader]:
    if config.train_input_reader is not None:
        yield _Reader("train_input_reader", config.train_input_reader)
    for index, reader in enumerate(config.eval_input_reader):
        yield _Reader(f"eval_input_reader[{index}]", reader)


def _check_records(path: str, reader: InputReader, folder: Path) -> Iterator[Problem]:
    records = reader.tf_record_input_reader
    if records is None or not records.input_path:
        if reader.external_input_reader is None:
            yield Problem(
                path=f"{path}.tf_record_input_reader.input_path",
                message="it is missing",
                fix="name the TFRecord files",
            )
        return
    found = {}
    for index, pattern in enumerate(records.input_path):
        place = f"{path}.tf_record_input_reader.input_path[{index}]"
        found[place] = find_files(pattern, folder)
        yield from _check_path(place, pattern, folder)
        yield from _check_found(place, found[place])
    for shards in incomplete_shards(file for each in found.values() for file in each.files):
        yield Problem(
            path=next(place for place, each in found.items() if shards.first in each.files),
            severity="warning",
            message=f"{shards.present} of {shards.expected} shards are there",
            fix="copy the missing ones, or train on these alone on purpose",
        )


def _check_found(place: str, found: Found) -> Iterator[Problem]:
    for file in found.files:
        if file.is_dir():
            yield Problem(
                path=place, message=f"{file} is a folder", fix=f'write "{file / "*.record"}"'
            )
        elif file.stat().st_size == 0:
            yield Problem(path=place, message=f"{file} is empty", fix="make the records again")


def _check_label_map(
    config: TrainEvalPipelineConfig, place: str, reader: InputReader, folder: Path
) -> Iterator[Problem]:
    problems = list(_check_path(place, reader.label_map_path, folder))
    yield from problems
    found = find_files(reader.label_map_path, folder)
    if problems or not found.files:
        return
    file = found.files[0]
    try:
        label_map, judged = read_label_map(file)
    except ConfigError as error:
        yield Problem(path=place, message=str(error), fix="fix the label map")
        return
    for problem in judged:
        where = f"{file}, line {problem.line}" if problem.line else str(file)
        yield Problem(
            path=place,
            severity=problem.severity,
            message=f"{where}: {problem.message}",
            fix=problem.fix,
        )
    if not errors_of(judged):
        yield from _check_num_classes(config, largest_id(label_map), file)


def _check_num_classes(
    config: TrainEvalPipelineConfig, largest: int, file: Path
) -> Iterator[Problem]:
    detector = detector_of(config.model) if config.model else None
    if detector is None or detector.num_classes in (0, largest):
        return
    too_few = detector.num_classes < largest
    assert config.model is not None
    place = f"model.{config.model.which('model')}.num_classes"
    yield Problem(
        path=place,
        severity="error" if too_few else "warning",
        message=f"{detector.num_classes} classes, but the largest id in {file} is {largest}"
        + ("" if too_few else ": the others are never learned"),
        fix=f"set num_classes to {largest}",
        remedy=((place, str(largest)),),
    )


def _check_checkpoint(text: str, folder: Path) -> Iterator[Problem]:
    place = "train_config.fine_tune_checkpoint"
    problems = list(_check_written(place, text))
    yield from problems
    if part := CHECKPOINT_PART.search(text):
        yield Problem(
            path=place,
            message=f"{text} is one file of a checkpoint",
            fix=f'write the prefix, "{text[: part.start()]}"',
        )
    elif not problems:
        found = find_checkpoint(text, folder)
        if found.base is Base.NOWHERE:
            yield _missing(place, text, f"there is no checkpoint {text} (no {text}.index)")
        elif len(found.files) > 1:
            names = [file.name.removesuffix(".index") for file in found.files]
            yield Problem(
                path=place,
                message=f"the folder holds several checkpoints: {', '.join(names)}",
                fix=f'write the prefix of one, e.g. "{text.rstrip("/")}/{names[-1]}"',
            )


def _check_path(place: str, text: str, folder: Path) -> Iterator[Problem]:
    problems = list(_check_written(place, text))
    yield from problems
    if not problems and find_files(text, folder).base == Base.NOWHERE:
        what = f"{text} matches no file" if is_glob(text) else f"there is no file {text}"
        yield _missing(place, text, what)


def _check_written(place: str, text: str) -> Iterator[Problem]:
    if PLACEHOLDER in text:
        yield Problem(path=place, message=f"{PLACEHOLDER} was left in", fix="write the path")
    elif unset := _unset_variables(text):
        fix = "set it, or write the path"
        yield Problem(path=place, message=f"{unset[0]} is not set in the environment", fix=fix)
    elif eaten := [character for character in text if character < " "]:
        yield Problem(
            path=place,
            message=f"its `\\{escaped_letters(eaten[0])}` was read as an escape, not as a folder",
            fix=f'write "{meant(text)}"',
        )


def _unset_variables(text: str) -> list[str]:
    """List the environment variables of a remote path that are not set; no bucket has a `$`."""
    expanded = expand(text)
    return re.findall(r"\$\{?(\w+)", expanded) if is_remote(expanded) else []


def _missing(place: str, text: str, message: str) -> Problem:
    fix = "check the path; it is looked up from the working directory and the config's folder"
    if "\\" in text:
        fix = f'write "{text.replace(chr(92), "/")}"'
    return Problem(path=place, message=message, fix=fix)


def _check_held_out(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    def inputs(reader: InputReader) -> set[str]:
        records = reader.tf_record_input_reader
        return set(records.input_path) - {PLACEHOLDER} if records else set()

    train = inputs(config.train_input_reader) if config.train_input_reader else set()
    for index, reader in enumerate(config.eval_input_reader):
        if common := sorted(train & inputs(reader)):
            yield Problem(
                path=f"eval_input_reader[{index}].tf_record_input_reader.input_path",
                severity="warning",
                message=f"it evaluates on what it trains on: {common[0]}",
                fix="hold images out for evaluation (holdfast convert splits them)",
            )
