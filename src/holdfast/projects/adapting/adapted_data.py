"""The data that a config is adapted to: what the user names, else what the config reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.config.facts.learned_fields import learned_fields
from holdfast.config.facts.networks import detector_of
from holdfast.config.label_map import largest_id
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.conversion.open_sources import DataOptions
from holdfast.data.input.build_input import open_reader
from holdfast.data.splitting.split_names import TRAIN
from holdfast.data.survey.inspection import Records
from holdfast.data.survey.observe import Observation
from holdfast.data.survey.statistics import Statistics
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.errors import HoldfastError
from holdfast.models.detectors.build_layout import usable_records
from holdfast.progress import Watch, in_megabytes
from holdfast.projects.project_data import RecordsFolder, SplitOptions, open_dataset, prepare


@dataclass(frozen=True, kw_only=True)
class DataWish:
    """Data sets that the user names, and how to read them."""

    locations: tuple[str, ...]
    reading: DataOptions
    split: SplitOptions


@dataclass(frozen=True, kw_only=True)
class AdaptedData:
    """Data as a config reads it, and what is in it."""

    is_new: bool  # other than what the config reads
    seen: Sequence[Observation]  # the images to train on
    images: Mapping[str, int]  # by split
    classes: Mapping[str, int]  # boxes to train on, by class
    num_classes: int = 0
    most_boxes: int = 0  # of one image
    readers: Mapping[str, InputReader] = field(default_factory=dict)
    eval_split: str | None = None
    notes: tuple[str, ...] = ()


def open_data(
    wish: DataWish, config: TrainEvalPipelineConfig, out: Path, watch: Watch
) -> AdaptedData:
    """Read the data that the user names; what is not TFRecords yet is converted beside `out`."""
    detector = detector_of(config.model) if config.model else None
    learned = learned_fields(detector) if detector is not None else frozenset[str]()
    data = open_dataset(wish.locations, wish.reading, watch, learned)
    num_classes = largest_id(data.label_map)
    if num_classes < 1:
        raise HoldfastError(f"{' and '.join(wish.locations)} has no class: nothing is labeled.")
    place = RecordsFolder(out.parent, out.parent / f"{out.stem}_records")
    prepared = prepare(data, place, wish.split, watch, learned)
    records = open_reader(prepared.readers[TRAIN], out.parent, name=TRAIN)
    train = prepared.statistics[TRAIN]
    crowds = [each.boxes_per_image for each in prepared.statistics.values()]
    return AdaptedData(
        is_new=True,
        seen=_seen(records, train, watch),
        images={name: each.images for name, each in prepared.statistics.items()},
        classes=train.classes,
        num_classes=num_classes,
        most_boxes=max((each.maximum for each in crowds if each), default=0),
        readers=prepared.readers,
        eval_split=prepared.eval_split,
        notes=(*map(str, prepared.doubts), *prepared.notes),
    )


def own_data(config: TrainEvalPipelineConfig, folder: Path, watch: Watch) -> AdaptedData | None:
    """Read what the config trains on; None where that is not there."""
    if config.train_input_reader is None:
        return None
    try:
        records = open_reader(config.train_input_reader, folder, name="train_input_reader")
    except HoldfastError:
        return None
    statistics = record_statistics(records.files, records.layout, records.names)
    return AdaptedData(
        is_new=False,
        seen=_seen(records, statistics, watch),
        images={TRAIN: statistics.images},
        classes=statistics.classes,
    )


def _seen(records: Records, statistics: Statistics, watch: Watch) -> list[Observation]:
    with watch("read boxes", "MB") as report:
        return list(usable_records(records, statistics, in_megabytes(report)))
