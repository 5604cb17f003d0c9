"""The changes that other data asks for: paths, label map, number of classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.config.facts.networks import detector_of
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.suggestions.change import EVALUATION, INPUT, LABEL_MAP, TRAIN
from holdfast.data.splitting.split_names import TRAIN as TRAIN_SPLIT
from holdfast.projects.adapting.field_change import FieldChange, change

_ROOM = 100  # boxes of an image that a reader makes room for, unless told otherwise


def data_changes(
    config: TrainEvalPipelineConfig,
    readers: Mapping[str, InputReader],
    eval_split: str | None,
    images: Mapping[str, int],
    most_boxes: int,
) -> Iterator[FieldChange]:
    """Let the readers of a config read other records.

    readers: by split, paths as the new config writes them. images: by split.
    """
    yield from _reader_changes(config, TRAIN, readers[TRAIN_SPLIT], "train")
    if most_boxes > _ROOM:
        why = f"An image has {most_boxes} boxes."
        yield from change(config, f"{TRAIN}.max_number_of_boxes", most_boxes, why)
    for index in reversed(range(1, len(config.eval_input_reader))):
        yield FieldChange(
            path=f"{EVALUATION}[{index}]",
            before=config.eval_input_reader[index],
            after=None,
            why="The data has one set to evaluate on.",
        )
    if eval_split is None:
        if config.eval_input_reader:
            yield from change(config, EVALUATION, None, "The data holds nothing out.")
        return
    yield from _evaluation_changes(config, readers[eval_split], eval_split)
    if config.eval_config is not None and config.eval_config.has("num_examples"):
        why = f"So many images are in {eval_split}."
        yield from change(config, "eval_config.num_examples", images[eval_split], why)


def class_changes(
    config: TrainEvalPipelineConfig, num_classes: int, why: str
) -> Iterator[FieldChange]:
    """Give the detector so many classes."""
    assert config.model is not None
    if detector_of(config.model) is not None:
        place = f"model.{config.model.which('model')}.num_classes"
        yield from change(config, place, num_classes, why)


def label_map_changes(config: TrainEvalPipelineConfig, path: str) -> Iterator[FieldChange]:
    """Let all readers take another label map."""
    if config.train_input_reader is not None:
        yield from change(config, f"{TRAIN}.{LABEL_MAP}", path, "As asked for.")
    for index, reader in enumerate(config.eval_input_reader):
        if reader.label_map_path != path:
            yield FieldChange(
                path=f"{EVALUATION}[{index}].{LABEL_MAP}",
                before=reader.label_map_path or None,
                after=path,
                why="As asked for.",
            )


def _reader_changes(
    config: TrainEvalPipelineConfig, place: str, reader: InputReader, split: str
) -> Iterator[FieldChange]:
    why = f"The {split} images of the data."
    yield from change(config, f"{place}.{INPUT}", _inputs(reader), why)
    yield from change(config, f"{place}.{LABEL_MAP}", reader.label_map_path, "The data's classes.")
    for name in ("load_instance_masks", "mask_type", "num_keypoints"):
        if reader.has(name):
            value = getattr(reader, name)
            yield from change(config, f"{place}.{name}", value, "As the records have them.")


def _evaluation_changes(
    config: TrainEvalPipelineConfig, reader: InputReader, split: str
) -> Iterator[FieldChange]:
    """Change the first reader of an evaluation, or add one."""
    why = f"The {split} images of the data."
    if not config.eval_input_reader:
        yield FieldChange(path=f"{EVALUATION}[0]", before=None, after=reader, why=why)
        return
    before = config.eval_input_reader[0]
    inputs = before.tf_record_input_reader
    values = {
        INPUT: (inputs.input_path if inputs else None, _inputs(reader), why),
        LABEL_MAP: (before.label_map_path or None, reader.label_map_path, "The data's classes."),
    }
    for name in ("load_instance_masks", "mask_type", "num_keypoints"):
        if reader.has(name):
            was = getattr(before, name) if before.has(name) else None
            values[name] = (was, getattr(reader, name), "As the records have them.")
    for name, (was, after, reason) in values.items():
        if was != after:
            yield FieldChange(path=f"{EVALUATION}[0].{name}", before=was, after=after, why=reason)


def _inputs(reader: InputReader) -> tuple[str, ...]:
    assert reader.tf_record_input_reader is not None
    return reader.tf_record_input_reader.input_path
