"""Turn any source into TFRecord shards and a label map, image by image."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from holdfast.config.label_map import save_label_map
from holdfast.config.schema.label_map import StringIntLabelMap
from holdfast.data import files
from holdfast.data.conversion_judge import Fault, Judge, judge_validity
from holdfast.data.conversion_manifest import Incident, Manifest, ShardRecord, shard_key
from holdfast.data.conversion_plan import Refused, Shard, plan_shards
from holdfast.data.conversion_result import (
    Conversion,
    describe,
    group_incidents,
    summarise_splits,
)
from holdfast.data.sources.source import Entry, Source
from holdfast.data.writers.shards import write_shard
from holdfast.data.writers.tf_example import encode_example
from holdfast.errors import HoldfastError

LABEL_MAP_NAME = "label_map.pbtxt"
UNREADABLE = "cannot be read"
IN_LEFT_OUT = "in an image that is left out"


Progress = Callable[[int, int], None]  # images done, images in all


def convert(
    source: Source,
    out: str,
    *,
    val: float = 0.2,
    seed: int = 0,
    num_shards: int | None = None,
    keep_splits: bool = True,
    strict: bool = False,
    judge: Judge | None = None,
    progress: Progress = lambda done, total: None,
) -> Conversion:
    """Write a source as OD API TFRecords `train.record-00000-of-00004`, … and label_map.pbtxt.

    One image is in memory at a time. Called again with the same settings it goes on where it was
    stopped: finished shards of unchanged files are kept. What cannot be read or does not pass the
    judge (None: the checks that training makes) is left out and listed in the result; strict makes
    the first such thing an error.
    """
    out = files.expand(out).rstrip("/")
    plan = plan_shards(source, val=val, seed=seed, num_shards=num_shards, keep_splits=keep_splits)
    refused = [_refusal(one) for one in plan.refused]
    if strict:
        _refuse_first(refused)
    manifest = _prepare(out, source.label_map, [shard.name for shard in plan.shards])
    judge = judge or judge_validity(source.label_map)
    work = _Work(source, out, manifest, judge, strict, progress)
    total = sum(len(shard.entries) for shard in plan.shards)
    records = [work.do(shard, total) for shard in plan.shards]
    left_out = [*refused, *(one for record in records for one in record.left_out)]
    return Conversion(
        out=out,
        format=source.format,
        label_map_path=files.join(out, LABEL_MAP_NAME),
        label_map=source.label_map,
        splits=summarise_splits(out, plan.shards, records),
        images_left_out=len({one.place for one in left_out if one.whole_image}),
        left_out=group_incidents(left_out),
        remarks=group_incidents(one for record in records for one in record.remarks),
        notes=(*source.notes, *plan.notes),
        shards_kept=work.kept,
    )


class _Work:
    """The shards of one conversion, done one after the other."""

    def __init__(
        self,
        source: Source,
        out: str,
        manifest: Manifest,
        judge: Judge,
        strict: bool,
        progress: Progress,
    ) -> None:
        self.source, self.out, self.manifest = source, out, manifest
        self.judge, self.strict, self.progress = judge, strict, progress
        self.images_done = self.kept = 0

    def do(self, shard: Shard, total: int) -> ShardRecord:
        """Write a shard, or keep it if it is there already."""
        key = shard_key(shard, self.source)
        record = self.manifest.finished(shard.name, key)
        if record is None:
            record = self._write(shard, key, total)
            self.manifest.finish(shard.name, record)
        else:
            self.kept += 1
            self.images_done += len(shard.entries)
            self.progress(self.images_done, total)
        if self.strict:
            _refuse_first(record.left_out)
        return record

    def _write(self, shard: Shard, key: str, total: int) -> ShardRecord:
        books = _Books(self.source.label_map, self.judge, self.strict)

        def examples() -> Iterator[bytes]:
            for entry in shard.entries:
                yield from books.examples(entry)
                self.images_done += 1
                self.progress(self.images_done, total)

        size_bytes = write_shard(files.join(self.out, shard.name), examples())
        return ShardRecord(
            key=key,
            size_bytes=size_bytes,
            images=books.images,
            objects=dict(books.objects),
            left_out=tuple(books.left_out),
            remarks=tuple(books.remarks),
        )


class _Books:
    """Reads, judges and encodes entries, and keeps account of them."""

    def __init__(self, label_map: StringIntLabelMap, judge: Judge, strict: bool) -> None:
        self.label_map, self.judge, self.strict = label_map, judge, strict
        self.names = {item.id - 1: item.name for item in label_map.item}
        self.images = 0
        self.objects: Counter[str] = Counter()
        self.left_out: list[Incident] = []
        self.remarks: list[Incident] = []

    def examples(self, entry: Entry) -> Iterator[bytes]:
        """Yield the entry as a serialised example, or nothing if it has to be left out."""
        try:
            sample, remarks = entry.read()
            kept, faults = self.judge(sample)
            encoded = kept and encode_example(kept, self.label_map, filename=entry.filename)
        except HoldfastError as error:
            self._leave_out(_unreadable(entry, error))
            return
        if kept is None:
            others = len(sample.boxes) - sum(fault.boxes for fault in faults)
            faults += (Fault(IN_LEFT_OUT, others),) if others or not faults else ()
        for reason, boxes in faults:
            self._leave_out(_incident(entry, reason, boxes=boxes, whole_image=kept is None))
        if kept is not None and encoded is not None:
            self.images += 1
            self.objects.update(self.names[number] for number in kept.classes.tolist())
            self.remarks += [_incident(entry, remark) for remark in remarks]
            yield encoded

    def _leave_out(self, incident: Incident) -> None:
        self.left_out.append(incident)
        if self.strict:
            _refuse_first(self.left_out)


def _incident(
    entry: Entry, reason: str, *, detail: str = "", boxes: int = 0, whole_image: bool = False
) -> Incident:
    return Incident(
        reason=reason,
        source_id=entry.source_id,
        place=entry.place,
        detail=detail,
        boxes=boxes,
        whole_image=whole_image,
    )


def _unreadable(entry: Entry, error: HoldfastError) -> Incident:
    boxes = sum(entry.class_counts.values())
    return _incident(entry, UNREADABLE, detail=error.message, boxes=boxes, whole_image=True)


def _refusal(refused: Refused) -> Incident:
    boxes = sum(refused.entry.class_counts.values())
    return _incident(refused.entry, refused.reason, boxes=boxes, whole_image=True)


def _refuse_first(incidents: Sequence[Incident]) -> None:
    for incident in incidents:
        what = f"{describe(incident)}: {incident.reason}"
        raise HoldfastError(what, fix="Correct it, or convert without --strict to leave it out.")


def _prepare(out: str, label_map: StringIntLabelMap, names: Sequence[str]) -> Manifest:
    """Make the folder ready; files that are there and not ours are never overwritten."""
    manifest = Manifest(out)
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / LABEL_MAP_NAME
        save_label_map(label_map, local)
        content = local.read_bytes()
    _refuse_foreign(manifest, content, names)
    files.write_bytes(files.join(out, LABEL_MAP_NAME), content)
    manifest.begin(names)
    return manifest


def _refuse_foreign(manifest: Manifest, label_map: bytes, names: Iterable[str]) -> None:
    paths = [files.join(manifest.folder, name) for name in names if name not in manifest.shards]
    foreign = [path for path in paths if files.exists(path)]
    path = files.join(manifest.folder, LABEL_MAP_NAME)
    if not manifest.shards and files.exists(path) and files.read_bytes(path) != label_map:
        foreign.append(path)
    if foreign:
        raise HoldfastError(
            f"{foreign[0]} is there already, and not from a conversion into this folder.",
            fix="Choose another folder, or move the file away.",
        )
