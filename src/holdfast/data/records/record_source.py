"""TFRecords as a source: every image read when it is asked for, to be converted like any other."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from holdfast.config.label_map import class_name, classes
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.records import data_files
from holdfast.data.records.label_map_files import open_label_map
from holdfast.data.records.record_classes import classes_of_records
from holdfast.data.records.record_keys import describe_counts
from holdfast.data.records.record_scan import Scanned, scan_records
from holdfast.data.records.record_set import find_record_files, label_map_beside, record_splits
from holdfast.data.sample import Sample
from holdfast.data.sources.classes import Classes, build_classes, keypoint_names
from holdfast.data.sources.record_masks import MaskFormat
from holdfast.data.sources.source import Entry, Reading, Source
from holdfast.data.sources.tfrecord import UNKNOWN_ID, RecordLayout, record_parser
from holdfast.data.survey.box_validity import Reason
from holdfast.data.survey.inspection import RECORDS
from holdfast.errors import HoldfastError
from holdfast.progress import Progress, silent
from holdfast.units import count_text

Parse = Callable[[bytes], Any]


def open_record_source(
    location: str,
    *,
    label_map_path: str | None = None,
    masks: bool = True,
    progress: Progress = silent,
) -> Source:
    """Open TFRecords as a source; the files are read once now, and image by image later.

    The label map is the given one, or that beside the files; without any, the classes are those
    that the records name. Records that hold the same image under the same id are one image, with
    the boxes of all of them. Progress of the first reading is told in bytes.
    """
    found = find_record_files(location)
    scanned = list(_scanned(found, progress))
    path = data_files.expand(label_map_path) if label_map_path else label_map_beside(found)
    given = open_label_map(path) if path else None
    known = _named(given) if given else classes_of_records(scanned)
    class_ids = _class_ids(given or known.label_map)
    label_map, num_keypoints, notes = _with_keypoints(known.label_map, scanned)
    kinds = {each.masks for each in scanned if each.masks}
    layout = RecordLayout(
        class_ids=class_ids,
        known_ids=tuple(item.id for item in label_map.item),
        masks=MaskFormat(kinds.pop()) if masks and len(kinds) == 1 else None,
        num_keypoints=num_keypoints,
    )
    groups = _groups(scanned)
    reader = _Reader(_parse_function(layout), class_ids)
    return Source(
        format=RECORDS,
        location=data_files.expand(location),
        label_map=label_map,
        entries=tuple(_entries(reader, groups)),
        masks=layout.masks is not None,
        notes=(*known.notes, *notes, *_unread(scanned), *_group_notes(groups)),
    )


def _scanned(found: Sequence[str], progress: Progress) -> Iterator[Scanned]:
    """Look at all records, those of each split together."""
    total = sum(stamp.size_bytes for stamp in map(data_files.stamp, found) if stamp)
    done = 0
    for split, paths in record_splits(found).items():
        for path in paths:
            for each in scan_records(path, split or None):
                done += each.stored_bytes
                progress(min(done, total), total)
                yield each


class _Reader(NamedTuple):
    """What reading one image needs to know about all of them."""

    parse: Parse
    class_ids: Mapping[str, int]


def _named(label_map: StringIntLabelMap) -> Classes:
    """Call every class as people do: by its display name where the label map has one."""
    items = classes(label_map)
    named = build_classes(
        {item.id: class_name(item) for item in items},
        {item.id: [point.label for point in item.keypoints] for item in items if item.keypoints},
    )
    shown = [item for item in items if class_name(item) != item.name and item.name]
    if not shown:
        return named
    note = f"Classes are called by their display names, such as {class_name(shown[0])!r}."
    return Classes(named.label_map, (*named.notes, note))


def _class_ids(label_map: StringIntLabelMap) -> dict[str, int]:
    """Map every text that a record may name a class by to its id."""
    return {
        text: item.id
        for item in classes(label_map)
        for text in (item.display_name, item.name)
        if text
    }


def _with_keypoints(
    label_map: StringIntLabelMap, scanned: Sequence[Scanned]
) -> tuple[StringIntLabelMap, int, list[str]]:
    """Find how many keypoints an object has; where the label map has no names, number them."""
    counts = {each.keypoints for each in scanned if each.keypoints}
    names = keypoint_names(label_map)
    if not counts:
        return label_map, 0, []
    if counts == {float(len(names))}:
        return label_map, len(names), []
    number = counts.pop()
    if names or counts or not number.is_integer():
        why = "their number differs from object to object, or from the label map"
        return label_map, 0, [f"The keypoints are not read: {why}."]
    names = tuple(f"keypoint_{index + 1}" for index in range(int(number)))
    called = {item.id: item.name for item in label_map.item}
    return build_classes(called, dict.fromkeys(called, names)).label_map, len(names), []


def _unread(scanned: Sequence[Scanned]) -> Iterator[str]:
    if any(each.has_scores for each in scanned):
        yield "The multiclass scores are not read."
    if len({each.masks for each in scanned if each.masks}) > 1:
        yield "The masks are not read: some are images, some numbers."


def _parse_function(layout: RecordLayout) -> Parse:
    parse = tf.function(
        record_parser(layout), input_signature=[tf.TensorSpec((), tf.string)], autograph=False
    )

    def parsed(record: bytes) -> Any:
        return tf.nest.map_structure(
            lambda each: each.numpy() if tf.is_tensor(each) else each, parse(record)
        )

    return parsed


def _groups(scanned: Sequence[Scanned]) -> list[list[Scanned]]:
    """Put the records of one image together: the same id, pixels and split."""
    groups: dict[object, list[Scanned]] = {}
    for index, each in enumerate(scanned):
        is_known = each.image and each.called
        key = (each.called, each.image, each.split) if is_known else index
        groups.setdefault(key, []).append(each)
    return list(groups.values())


def _group_notes(groups: Sequence[Sequence[Scanned]]) -> Iterator[str]:
    merged = [group for group in groups if len(group) > 1]
    if merged:
        records = count_text(sum(map(len, merged)), "record")
        images = count_text(len(merged), "image")
        example = merged[0][0]
        yield (
            f"{records} are of {images}, such as {example.called}: each image is written once, "
            "with all of its boxes."
        )


def _entries(reader: _Reader, groups: Sequence[Sequence[Scanned]]) -> Iterator[Entry]:
    for group, source_id in zip(groups, _source_ids(groups), strict=True):
        first = group[0]
        yield Entry(
            source_id=source_id,
            place=first.place,
            filename=first.filename or source_id,
            read=partial(_read, reader, group, source_id),
            split=first.split,
            class_counts=_class_counts(reader, group),
            box_areas=tuple(area for each in group for area in each.areas),
            fingerprint=hashlib.sha256("".join(each.digest for each in group).encode()).hexdigest(),
        )


def _source_ids(groups: Sequence[Sequence[Scanned]]) -> list[str]:
    """Name the images by their ids, or by their files where tools wrote one id for all."""
    ids = [group[0].called for group in groups]
    names = [group[0].filename for group in groups]
    if len(set(ids)) < len(ids) and len(set(names)) == len(names):
        return names
    taken: Counter[str] = Counter()
    unique = []
    for group, number in zip(groups, ids, strict=True):
        name = number or group[0].place.rpartition("/")[2].replace(", record ", "-")
        taken[name] += 1
        unique.append(name if taken[name] == 1 else f"{name}-{taken[name]}")
    return unique


def _class_counts(reader: _Reader, group: Sequence[Scanned]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for each in group:
        for text, number in each.labels:
            known = reader.class_ids.get(text, UNKNOWN_ID) if text else number
            counts[max(min(known or 0, UNKNOWN_ID), -1) - 1] += 1
    return counts


def _read(reader: _Reader, group: Sequence[Scanned], source_id: str) -> Reading:
    samples = [_sample(reader, each)._replace(source_id=source_id) for each in group]
    return Reading(_joined(samples) if len(samples) > 1 else samples[0])


def _sample(reader: _Reader, scanned: Scanned) -> Sample:
    if scanned.fault:
        raise HoldfastError(scanned.fault)
    record = scanned.read()
    try:
        parsed = reader.parse(record)
    except tf.errors.OpError:
        raise HoldfastError("Its lists or masks are not of the kind that is read.") from None
    reason = Reason(int(parsed.reason))
    if reason is not Reason.KEPT:
        detail = f" ({describe_counts(record)})" if reason is Reason.COUNTS_DIFFER else ""
        raise HoldfastError(f"{reason.text.capitalize()}{detail}.")
    sample: Sample = parsed.sample
    return sample


def _joined(samples: Sequence[Sample]) -> Sample:
    """Put the objects of several records together, each different one once."""
    whole = Sample(
        *(
            np.concatenate(values)
            if name not in ("image", "source_id") and values[0] is not None
            else values[0]
            for name, values in zip(Sample._fields, zip(*samples, strict=True), strict=True)
        )
    )
    keys = np.concatenate([whole.boxes, whole.classes[:, None].astype(np.float32)], axis=1)
    first = np.sort(np.unique(keys, axis=0, return_index=True)[1])
    return whole.with_objects(lambda values: values[first])
