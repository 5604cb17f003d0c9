"""From what `--data` names to the input readers of a config: opened, converted, looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.cli.new_folder import NewFolder, written_path
from holdfast.cli.new_records import RecordSet, input_paths, open_records
from holdfast.cli.progress import progress
from holdfast.config.schema.input_reader import InputReader, TFRecordInputReader
from holdfast.data import files
from holdfast.data.build import open_reader
from holdfast.data.conversion_result import Conversion
from holdfast.data.convert import convert
from holdfast.data.inspection import RECORDS, inspect_data, open_data
from holdfast.data.record_files import find_records, is_record_name
from holdfast.data.record_split import split_records
from holdfast.data.sources.find import open_source
from holdfast.data.sources.lookup import is_image
from holdfast.data.sources.source import Source
from holdfast.data.split import TEST, TRAIN, VAL
from holdfast.data.statistics import Statistics
from holdfast.errors import HoldfastError


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """How `holdfast convert` is to split and write the data."""

    val: float
    resplit: bool
    shards: int | None
    seed: int
    strict: bool


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Data that a config can name."""

    format: str
    readers: Mapping[str, InputReader]  # by split, paths as the config writes them
    statistics: Mapping[str, Statistics] = field(default_factory=dict)  # of what is used
    conversion: Conversion | None = None
    notes: tuple[str, ...] = ()

    @property
    def eval_split(self) -> str | None:
        """The split to evaluate on; None if nothing is held out."""
        return next((name for name in (VAL, TEST) if name in self.readers), None)


def open_dataset(
    location: str, *, format_name: str | None, label_map: str | None, seed: int
) -> Source | RecordSet:
    """Open labelled images of any format, or TFRecords."""
    if format_name == RECORDS or (format_name is None and _leads_to_records(location)):
        open_data(location, format_name)  # an error if it holds annotations too
        return open_records(location, label_map)
    if label_map is not None:
        raise HoldfastError(
            "--label-map goes with TFRecords; other formats name their classes themselves.",
            fix="Leave it out.",
        )
    try:
        # The recipes predict boxes: masks would only make the records larger.
        return open_source(location, format_name=format_name, masks=False, seed=seed)
    except HoldfastError:
        _refuse_without_images(location)
        raise


def prepare(data: Source | RecordSet, folder: NewFolder, options: SplitOptions) -> Prepared:
    """Make the readers of a config, converting what is not TFRecords yet, and look at all of it."""
    if isinstance(data, Source):
        prepared = _converted(data, folder, options)
    else:
        prepared = _taken(data, folder, options)
    used = [name for name in prepared.readers if name in (TRAIN, prepared.eval_split)]
    statistics = {
        name: _look(name, prepared.readers[name], folder.path, options.strict) for name in used
    }
    _refuse_untrainable(statistics.get(TRAIN), prepared.conversion)
    return replace(prepared, statistics=statistics)


def _leads_to_records(location: str) -> bool:
    return any(is_record_name(file) for file in find_records(location))


def _refuse_without_images(location: str) -> None:
    folder = files.expand(location)
    if files.is_folder(folder) and not any(map(is_image, files.walk(folder))):
        raise HoldfastError(
            f"{location} holds no images.",
            fix="Give the folder of a data set: images with COCO, Pascal VOC, YOLO or LabelMe "
            "annotations, or TFRecords.",
        ) from None


def _converted(source: Source, folder: NewFolder, options: SplitOptions) -> Prepared:
    with progress("convert", "images") as report:
        conversion = convert(
            source,
            str(folder.records),
            val=options.val,
            seed=options.seed,
            num_shards=options.shards,
            keep_splits=not options.resplit,
            strict=options.strict,
            progress=report,
        )
    paths = {name: [split.pattern] for name, split in conversion.splits.items() if split.images}
    return Prepared(
        format=conversion.format,
        readers=_readers(paths, conversion.label_map_path, folder.path),
        conversion=conversion,
        notes=conversion.notes,
    )


def _taken(records: RecordSet, folder: NewFolder, options: SplitOptions) -> Prepared:
    """Use records where they are; only if they have no splits, copy them into some."""
    splits, notes = dict(records.splits), []
    if options.resplit or TRAIN not in splits or not splits.keys() & {VAL, TEST}:
        every = [file for found in splits.values() for file in found]
        written = split_records(every, str(folder.records), val=options.val, seed=options.seed)
        splits = {name: [path] for name, path in written.items()}
        notes.append(f"The records are copied to split them: {options.val:.0%} become val.")
    elif unnamed := splits.pop("", ()):
        notes.append(f"{', '.join(unnamed)}: left out, being neither train, val nor test by name.")
    paths = {name: input_paths(found) for name, found in splits.items()}
    return Prepared(
        format=RECORDS,
        readers=_readers(paths, records.label_map_path, folder.path),
        notes=tuple(notes),
    )


def _readers(
    paths: Mapping[str, list[str]], label_map_path: str, folder: Path
) -> dict[str, InputReader]:
    """Make the readers, train first."""
    label_map = written_path(label_map_path, folder)
    readers = {}
    for name in (name for name in (TRAIN, VAL, TEST) if name in paths):
        inputs = tuple(written_path(path, folder) for path in paths[name])
        reader = InputReader(
            label_map_path=label_map, tf_record_input_reader=TFRecordInputReader(input_path=inputs)
        )
        if name != TRAIN:
            reader = reader.replace(shuffle=False, num_epochs=1)
        readers[name] = reader
    return readers


def _look(name: str, reader: InputReader, folder: Path, strict: bool) -> Statistics:
    """Read the records once, as training will; what is found stays beside them for it."""
    opened = open_reader(reader, folder, name=name)
    with progress(f"inspect {name}", "MB") as report:
        return inspect_data(
            opened,
            strict=strict,
            progress=lambda done, total: report(done // 10**6, total // 10**6),
        ).statistics


def _refuse_untrainable(train: Statistics | None, conversion: Conversion | None) -> None:
    if train is not None and train.boxes:
        return
    what = "No training image has a box" if train and train.images else "There is no image"
    left_out = [*_left_out(conversion), *_left_out(train)]
    why = f": {left_out[0]}" if left_out else ""
    fix = "`holdfast inspect` on the data lists what is left out; --resplit splits it anew."
    raise HoldfastError(f"{what} to train on{why}.", fix=fix)


def _left_out(of: Conversion | Statistics | None) -> list[str]:
    groups = of.left_out if of else ()
    return [f"{group.reason} ({group.examples[0]})" for group in groups]
