"""Find out what data there is, look at all of it, and say what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from holdfast.config.label_map import class_name, classes
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.records import data_files
from holdfast.data.records.record_files import find_records, holds_no_record, read_records
from holdfast.data.records.record_keys import strange_keys
from holdfast.data.records.record_shapes import first_examples, mask_format, num_keypoints
from holdfast.data.sources.classes import keypoint_names
from holdfast.data.sources.open_source import find_format, open_source
from holdfast.data.sources.source import Source
from holdfast.data.sources.tfrecord import RecordLayout
from holdfast.data.survey.box_validity import Reason
from holdfast.data.survey.observe import Observation
from holdfast.data.survey.statistics import Statistics, describe
from holdfast.data.survey.statistics_cache import OnEach, record_statistics, source_statistics
from holdfast.data.survey.usable import data_problems
from holdfast.errors import HoldfastError, Problem
from holdfast.progress import Progress, silent
from holdfast.units import count_text

RECORDS = "tfrecord"
_ANNOTATION_ENDINGS = (".csv", ".json", ".tsv", ".xml", ".yaml", ".yml")
_RECORDS_LOOKED_AT = 20  # for misspelled keys: what one record of a tool has, all have


@dataclass(frozen=True, kw_only=True)
class Records:
    """TFRecord files and how to read them."""

    files: tuple[str, ...]
    layout: RecordLayout
    names: Mapping[int, str] | None = None  # label map: id -> name
    # Label map: id -> names of its keypoints and their places among all of the data's.
    keypoints: Mapping[int, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What is in the data, and what a user should know about it."""

    statistics: Statistics
    has_masks: bool = False
    num_keypoints: int = 0  # of each object
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()  # that no box can be used, or else the doubts


def open_data(
    location: str,
    format_name: str | None = None,
    label_map: StringIntLabelMap | None = None,
    *,
    images: str | None = None,
) -> Records | Source:
    """Open TFRecords (a file, a pattern, a folder of them) or a data set of another format.

    images is the folder of the images, where it is not that of the annotations.
    """
    location = data_files.expand(location)
    match format_name or _find_format(location):
        case "tfrecord":
            refuse_images(images)
            found = find_records(location)
            if not found:
                raise HoldfastError(f"{location} matches no TFRecord file.", fix="Check the path.")
            return records_of(found, label_map)
        case _:
            return open_source(location, format_name=format_name, images=images)


def refuse_images(images: str | None) -> None:
    """Raise an error if a folder of images is given for records."""
    if images is not None:
        fix = "Leave it out: records hold their images themselves."
        raise HoldfastError("--images applies to annotations, not to TFRecords.", fix=fix)


def records_of(
    record_files: list[str], label_map: StringIntLabelMap | None, layout: RecordLayout | None = None
) -> Records:
    """Say how to read record files with a label map, or without."""
    layout = layout or RecordLayout()
    if label_map is None:
        return Records(files=tuple(record_files), layout=layout)
    names = {item.id: class_name(item) for item in classes(label_map)}
    texts = {
        text: item.id for item in classes(label_map) for text in (item.display_name, item.name)
    }
    layout = RecordLayout(
        class_ids={text: number for text, number in texts.items() if text},
        known_ids=tuple(names),
        masks=layout.masks,
        num_keypoints=layout.num_keypoints,
        num_multiclass_scores=layout.num_multiclass_scores,
    )
    keypoints = {
        item.id: {point.label: point.id for point in item.keypoints}
        for item in classes(label_map)
        if item.keypoints
    }
    return Records(files=tuple(record_files), layout=layout, names=names, keypoints=keypoints)


def inspect_data(
    data: Records | Source,
    *,
    strict: bool = False,
    progress: Progress = silent,
) -> Inspection:
    """Look at everything once; strict makes the first thing that is left out an error.

    Progress is told in bytes of the files for records, else in images.
    """
    on_each = _watch(data, strict, progress)
    if isinstance(data, Source):
        statistics = source_statistics(data, on_each=on_each, use_cache=not strict)
        names = {item.id: class_name(item) for item in classes(data.label_map)}
        return Inspection(
            statistics=statistics,
            has_masks=data.masks,
            num_keypoints=len(keypoint_names(data.label_map)),
            notes=data.notes,
            problems=data_problems(statistics, names.values()),
        )
    empty = [file for file in data.files if holds_no_record(file)]
    if len(empty) == len(data.files) or (strict and empty):
        raise HoldfastError(f"{empty[0]} holds no record.", fix="Make the file again.")
    statistics = record_statistics(
        data.files, data.layout, data.names, on_each=on_each, use_cache=not strict
    )
    notes = [f"{file} holds no record." for file in empty]
    examples = first_examples(data.files)
    return Inspection(
        statistics=statistics,
        has_masks=mask_format(examples) is not None,
        num_keypoints=num_keypoints(examples),
        notes=(*notes, *_merge_notes(statistics), *_key_notes(data, statistics)),
        problems=data_problems(statistics, data.names.values() if data.names else None),
    )


def _find_format(location: str) -> str:
    """Tell records from annotations; a folder that holds both has no telling."""
    if not data_files.is_folder(location):
        is_annotation = location.lower().endswith((*_ANNOTATION_ENDINGS, ".zip", ".rar", ".7z"))
        return find_format(location) if is_annotation and data_files.exists(location) else RECORDS
    if not find_records(location):
        return find_format(location)
    try:
        other = find_format(location)
    except HoldfastError:
        return RECORDS
    raise HoldfastError(
        f"{location} holds TFRecords and {other} annotations.",
        fix=f"Choose one with --format {RECORDS} or --format {other}.",
    )


def _watch(data: Records | Source, strict: bool, progress: Progress) -> OnEach:
    total = len(data) if isinstance(data, Source) else _size_bytes(data)
    done = 0

    def on_each(observation: Observation) -> None:
        nonlocal done
        if strict:
            refuse(observation)
        done += 1 if isinstance(data, Source) else observation.stored_bytes
        progress(min(done, total), total)

    return on_each


def refuse(observation: Observation) -> None:
    """Raise an error that names the image and box if anything of it is left out."""
    faults = [(number, why) for number, why in enumerate(observation.box_reasons) if why]
    if observation.reason:
        what = observation.reason.text
    elif faults:
        what = f"box {faults[0][0]}: {faults[0][1].text}"
    else:
        return
    fix = "Correct it, or inspect without --strict to leave it out."
    why = f" ({observation.detail})" if observation.detail else ""
    raise HoldfastError(f"{describe(observation._replace(detail=''))}: {what}{why}.", fix=fix)


def _size_bytes(data: Records) -> int:
    stamps = (data_files.stamp(file) for file in data.files)
    return sum(stamp.size_bytes for stamp in stamps if stamp)


def _merge_notes(statistics: Statistics) -> Iterator[str]:
    if not statistics.records_merged:
        return
    (file, number), _ = statistics.records_merged[0]
    images = len({first for _, first in statistics.records_merged})
    count = len(statistics.records_merged)
    yield (
        f"{count_text(count, 'record')} ({file}, record {number}{', …' if count > 1 else ''}) "
        f"{'shows an image' if count == 1 else 'show images'} of earlier records, with other "
        f"boxes: merged into {count_text(images, 'image')}."
    )


def _key_notes(data: Records, statistics: Statistics) -> Iterator[str]:
    """Name keys that are probably misspelled, where something that should be there is not."""
    missing = {Reason.NO_IMAGE.text, Reason.COUNTS_DIFFER.text, Reason.UNREADABLE.text}
    is_missing = any(each.reason in missing for each in statistics.left_out)
    if statistics.boxes + statistics.boxes_left_out and not is_missing:
        return
    records = (record for file in data.files for record in islice(read_records(file), 2))
    strange = strange_keys(islice(records, _RECORDS_LOOKED_AT))
    for each in strange:
        if each.meant:
            yield f"Holdfast does not read the key `{each.key}`: did you mean `{each.meant}`?"
    if others := [each.key for each in strange if not each.meant]:
        yield f"Holdfast does not read the keys {', '.join(others[:10])}."
    if not statistics.boxes + statistics.boxes_left_out:
        yield "There is no box: boxes are read from image/object/bbox/ymin, xmin, ymax, xmax."
