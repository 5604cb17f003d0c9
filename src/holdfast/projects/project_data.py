"""From what `--data` names to the input readers of a config: opened, converted, looked at."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from holdfast.config.schema.input_reader import (
    InputReader,
    InstanceMaskType,
    TFRecordInputReader,
)
from holdfast.data.conversion.conversion_result import Conversion
from holdfast.data.conversion.open_sources import DataOptions, open_sources
from holdfast.data.conversion.to_records import convert
from holdfast.data.input.build_input import open_reader
from holdfast.data.records import data_files
from holdfast.data.records.record_files import find_records, is_record_name
from holdfast.data.records.record_shapes import first_examples, mask_format, num_keypoints
from holdfast.data.records.record_split import split_records
from holdfast.data.sources.lookup import is_image
from holdfast.data.sources.record_masks import MaskFormat
from holdfast.data.sources.source import Source
from holdfast.data.splitting.split_names import TEST, TRAIN, VAL
from holdfast.data.survey.inspection import (
    RECORDS,
    Inspection,
    inspect_data,
    open_data,
    refuse_images,
)
from holdfast.data.survey.statistics import Statistics
from holdfast.data.survey.usable import much_left_out, refuse_unusable
from holdfast.errors import HoldfastError, Problem, warnings_of
from holdfast.progress import Watch, in_megabytes
from holdfast.projects.given_records import RecordSet, input_paths, open_records
from holdfast.projects.project_folder import NewFolder, written_path


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """How `holdfast convert` is to split and write the data."""

    val: float
    resplit: bool
    shards: int | None
    seed: int
    strict: bool


class RecordsFolder(NamedTuple):
    """Where a config is, and where records that are made for it go."""

    path: Path
    records: Path


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Data that a config can name."""

    format: str
    readers: Mapping[str, InputReader]  # by split, paths as the config writes them
    statistics: Mapping[str, Statistics] = field(default_factory=dict)  # of what is used
    conversion: Conversion | None = None
    notes: tuple[str, ...] = ()
    doubts: tuple[Problem, ...] = ()  # what makes a training on it doubtful, by split

    @property
    def eval_split(self) -> str | None:
        """The split to evaluate on; None if nothing is held out."""
        return next((name for name in (VAL, TEST) if name in self.readers), None)


def open_dataset(
    locations: Sequence[str],
    how: DataOptions,
    watch: Watch,
    learned: Collection[str] = (),
) -> Source | RecordSet:
    """Open labeled images of any format, several sets as one, or TFRecords.

    learned: what the network learns beside boxes. Masks that it does not learn are not read: they
    would only make the records larger.

    Records that are taken as they are stay where they are; combined with others, or with some of
    their classes only, they are a source like any other.
    """
    for location in locations:
        if how.format_name is None and _leads_to_records(location):
            open_data(location)  # an error if it holds annotations too
    if len(locations) == 1 and not any(how.choice):
        (location,) = locations
        if how.format_name == RECORDS or (how.format_name is None and _leads_to_records(location)):
            refuse_images(how.images)
            return open_records(location, how.label_map)
    try:
        with watch("read", "MB") as report:
            reading = replace(how, masks="masks" in learned)
            source = open_sources(locations, reading, in_megabytes(report))
    except HoldfastError:
        for location in locations:
            _refuse_without_images(location, how.images)
        raise
    if "masks" in learned and not source.masks:
        raise _without_masks(" and ".join(locations))
    return source


def prepare(
    data: Source | RecordSet,
    folder: NewFolder | RecordsFolder,
    options: SplitOptions,
    watch: Watch,
    learned: Collection[str] = (),
) -> Prepared:
    """Make the readers of a config, converting what is not TFRecords yet, and look at all of it."""
    if isinstance(data, Source):
        prepared = _converted(data, folder, options, watch)
    else:
        prepared = _taken(data, folder, options)
    if learned:
        readers = {
            name: _with_shapes(reader, name, folder.path, learned)
            for name, reader in prepared.readers.items()
        }
        prepared = replace(prepared, readers=readers)
    used = [name for name in prepared.readers if name in (TRAIN, prepared.eval_split)]
    looked = {
        name: _look(name, prepared.readers[name], folder.path, options.strict, watch)
        for name in used
    }
    _refuse_untrainable(looked.get(TRAIN), prepared.conversion)
    doubts = [
        replace(problem, path=name)
        for name, each in looked.items()
        for problem in warnings_of(each.problems)
    ]
    return replace(
        prepared,
        statistics={name: each.statistics for name, each in looked.items()},
        notes=(
            *(f"{name}: {note}" for name, each in looked.items() for note in each.notes),
            *prepared.notes,
        ),
        doubts=(*_lost_on_the_way(prepared.conversion), *doubts),
    )


def _leads_to_records(location: str) -> bool:
    return any(is_record_name(file) for file in find_records(location))


def _refuse_without_images(location: str, images: str | None) -> None:
    folder = data_files.expand(images or location)
    if data_files.is_folder(folder) and not any(map(is_image, data_files.walk(folder))):
        raise HoldfastError(
            f"{images or location} holds no images.",
            fix="Give the folder of a data set: images with COCO, Pascal VOC, YOLO or LabelMe "
            "annotations, or TFRecords.",
        ) from None


def _converted(
    source: Source, folder: NewFolder | RecordsFolder, options: SplitOptions, watch: Watch
) -> Prepared:
    with watch("convert", "images") as report:
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


def _taken(
    records: RecordSet, folder: NewFolder | RecordsFolder, options: SplitOptions
) -> Prepared:
    """Use records where they are; only if they have no splits, copy them into some."""
    splits, notes = dict(records.splits), []
    if options.resplit or TRAIN not in splits or not splits.keys() & {VAL, TEST}:
        every = [file for found in splits.values() for file in found]
        written = split_records(every, str(folder.records), val=options.val, seed=options.seed)
        splits = {name: [path] for name, path in written.paths.items()}
        notes.append(f"The records are copied to split them: {options.val:.0%} become val.")
        notes += written.notes
    elif unnamed := splits.pop("", ()):
        notes.append(
            f"{', '.join(unnamed)}: left out, as their names are neither train, val nor test."
        )
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


def _with_shapes(
    reader: InputReader, name: str, folder: Path, learned: Collection[str]
) -> InputReader:
    """Let a reader load the masks and keypoints that the network learns, as they are stored."""
    examples = first_examples(open_reader(reader, folder, name=name).files)
    if "masks" in learned:
        stored = mask_format(examples)
        if stored is None:
            raise _without_masks(name)
        is_png = stored is MaskFormat.PNG
        kind = InstanceMaskType.PNG_MASKS if is_png else InstanceMaskType.NUMERICAL_MASKS
        reader = reader.replace(load_instance_masks=True, mask_type=kind)
    if "keypoints" in learned:
        reader = reader.replace(num_keypoints=num_keypoints(examples))
    return reader


def _without_masks(location: str) -> HoldfastError:
    return HoldfastError(
        f"{location} has no masks, and the network of this recipe learns them.",
        fix="Give data with outlines or masks of objects, or take a recipe that finds boxes.",
    )


def _look(name: str, reader: InputReader, folder: Path, strict: bool, watch: Watch) -> Inspection:
    """Read the records once, as training will; what is found stays beside them for it."""
    opened = open_reader(reader, folder, name=name)
    with watch(f"inspect {name}", "MB") as report:
        return inspect_data(
            opened,
            strict=strict,
            progress=in_megabytes(report),
        )


def _lost_on_the_way(conversion: Conversion | None) -> tuple[Problem, ...]:
    """Warn if much of the data was left out when it was converted: the records do not show it."""
    if conversion is None:
        return ()
    return much_left_out(
        images=conversion.images,
        boxes=conversion.boxes,
        images_left_out=conversion.images_left_out,
        boxes_left_out=sum(group.boxes for group in conversion.left_out),
        reason=conversion.left_out[0].reason if conversion.left_out else "",
    )


def _refuse_untrainable(train: Inspection | None, conversion: Conversion | None) -> None:
    """Refuse data without a box to train on; what converting left out of it is named first."""
    left_out = conversion.left_out if conversion else ()
    if train is not None and (train.statistics.boxes or not left_out):
        refuse_unusable(train.problems, TRAIN)
        return
    has_images = train is not None and train.statistics.images
    what = "No training image has a box" if has_images else "There is no image"
    why = f": {left_out[0].reason} ({left_out[0].examples[0]})" if left_out else ""
    fix = "`holdfast inspect` on the data lists what is left out; --resplit makes a new split."
    raise HoldfastError(f"{what} to train on{why}.", fix=fix)
