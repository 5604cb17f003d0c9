"""Open what a user names: one data set or several, of any format, with the classes asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from holdfast.data.conversion.shard_plan import plan_shards
from holdfast.data.records import data_files
from holdfast.data.records.record_files import find_records, is_record_name
from holdfast.data.records.record_source import open_record_source
from holdfast.data.sources.choose_classes import ClassChoice, choose_classes
from holdfast.data.sources.combine import combine
from holdfast.data.sources.open_source import holds_annotations, open_source
from holdfast.data.sources.source import Source
from holdfast.data.survey.inspection import RECORDS, refuse_images
from holdfast.errors import HoldfastError
from holdfast.progress import Progress, silent


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """How to read data sets."""

    format_name: str | None = None  # of all of them; None: found from the files of each
    label_map: str | None = None  # of TFRecords; None: that beside them
    images: str | None = None  # folder of the images; None: that of the annotations
    masks: bool = True
    seed: int = 0  # of synthetic data, and of splits
    val: float = 0.2  # the share of a set without splits, beside others that have some
    choice: ClassChoice = field(default_factory=ClassChoice)


def open_sources(
    locations: Sequence[str],
    how: DataOptions,
    progress: Progress = silent,
) -> Source:
    """Open data sets as one source; several are combined, then classes are chosen.

    TFRecords are read for that, which is told in bytes.
    """
    of_records = [_leads_to_records(location, how.format_name) for location in locations]
    if how.label_map is not None and not any(of_records):
        raise HoldfastError(
            "--label-map goes with TFRecords; other formats name their classes themselves.",
            fix="Leave it out.",
        )
    if all(of_records):
        refuse_images(how.images)
    sources = [
        _open_records(location, how, progress) if is_records else _open_annotations(location, how)
        for location, is_records in zip(locations, of_records, strict=True)
    ]
    source = combine(_divided(sources, how)) if len(sources) > 1 else sources[0]
    return choose_classes(source, how.choice)


def _open_records(location: str, how: DataOptions, progress: Progress) -> Source:
    return open_record_source(
        location, label_map_path=how.label_map, masks=how.masks, progress=progress
    )


def _open_annotations(location: str, how: DataOptions) -> Source:
    return open_source(
        location, format_name=how.format_name, masks=how.masks, seed=how.seed, images=how.images
    )


def _leads_to_records(location: str, format_name: str | None) -> bool:
    """Tell records from annotations; where a folder has both, annotations are what is read."""
    if format_name is not None:
        return format_name == RECORDS
    location = data_files.expand(location)
    if not any(is_record_name(file) for file in find_records(location)):
        return False
    return not data_files.is_folder(location) or not holds_annotations(location)


def _divided(sources: Sequence[Source], how: DataOptions) -> list[Source]:
    """Split those that have no splits on their own, where others bring train and val along."""
    named = {entry.split for source in sources for entry in source.entries if entry.split}
    if len(named) < 2:
        return list(sources)  # all are split together
    return [
        source if any(entry.split for entry in source.entries) else _split(source, how)
        for source in sources
    ]


def _split(source: Source, how: DataOptions) -> Source:
    plan = plan_shards(source, val=how.val, seed=how.seed)
    chosen = {id(entry): shard.split for shard in plan.shards for entry in shard.entries}
    entries = tuple(replace(entry, split=chosen.get(id(entry))) for entry in source.entries)
    note = f"It has no splits, unlike the others: {how.val:.0%} of it becomes val."
    return replace(source, entries=entries, notes=(*source.notes, note, *plan.notes))
