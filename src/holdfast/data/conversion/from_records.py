"""Turn any source, TFRecords among them, into a data set that other tools read."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from holdfast.data.conversion.books import Encoded, refusal, refuse_first
from holdfast.data.conversion.conversion_result import Conversion, group_incidents, summarize_splits
from holdfast.data.conversion.judge import Judge, Verdict, judge_validity
from holdfast.data.conversion.out_folder import OutFolder
from holdfast.data.conversion.shard_manifest import Incident, ShardManifest, origin_of, shard_key
from holdfast.data.conversion.shard_plan import Shard, ShardPlan, plan_shards
from holdfast.data.conversion.shard_work import Work
from holdfast.data.conversion.to_records import LABEL_MAP_NAME, label_map_bytes
from holdfast.data.conversion.two_passes import TwoPasses
from holdfast.data.records import data_files
from holdfast.data.sample import Sample
from holdfast.data.sources.image_files import NOT_TURNED, read_header, without_exif
from holdfast.data.sources.lookup import stem
from holdfast.data.sources.source import Entry, Source
from holdfast.data.splitting.split_names import SPLITS
from holdfast.data.writers.file_names import file_name, file_stems
from holdfast.data.writers.shards import shard_names
from holdfast.data.writers.writer import Line, OutImage, Writer
from holdfast.data.writers.writer_formats import make_writer
from holdfast.progress import Progress, silent

RENAMED = "image files are renamed, so that names are safe and told apart"
_IMAGES_PER_PART = 500  # what is done again after a kill is at most this
_LARGEST_ID = 2**53  # that every reader of JSON takes for a whole number


def convert_to(
    to: str,
    source: Source,
    out: str,
    *,
    val: float = 0.2,
    seed: int = 0,
    keep_splits: bool = True,
    strict: bool = False,
    progress: Progress = silent,
) -> Conversion:
    """Write a source as coco, voc, yolo or csv, with the images as they are stored.

    All goes to the folder `out`.partial, which takes its name when it is complete; called again
    after an interruption, this goes on there. A folder that is there already is never written to.
    Splits and what is left out are as in `convert`.
    """
    out = data_files.expand(out).rstrip("/")
    writer = make_writer(to, source.label_map, masks=source.masks)
    passes = TwoPasses(progress)
    plan = plan_shards(
        source, val=val, seed=seed, keep_splits=keep_splits, progress=passes.comparing
    )
    refused = [refusal(one) for one in plan.refused]
    if strict:
        refuse_first(refused)
    parts = _parts(source, plan)
    folder = OutFolder(out, origin_of(source, to), _digest(parts, source))
    kept = len(parts)
    if not folder.is_complete:
        manifest = folder.begin([part.name for part in parts])
        scribe = _Scribe(writer, folder, parts)
        judge = _judge(writer, judge_validity(source.label_map))
        work = Work(
            source,
            manifest,
            judge,
            scribe.encode,
            scribe.write,
            strict=strict,
            progress=passes.writing,
        )
        work.do_all(parts)
        _finish(writer, folder, manifest, parts, source)
        folder.publish()
        kept = work.kept
    return _result(to, source, out, writer, plan, parts, refused, kept)


class _Output(NamedTuple):
    """What an image becomes."""

    line: Line
    contents: Mapping[str, bytes]  # path in the folder -> content, the image among them


class _Scribe:
    """Describes and writes images; keeps the names and numbers of all of them."""

    def __init__(self, writer: Writer, folder: OutFolder, parts: Sequence[Shard]) -> None:
        self.writer, self.folder = writer, folder
        entries = [entry for part in parts for entry in part.entries]
        called = [entry.filename or entry.source_id for entry in entries]
        ids = [entry.source_id for entry in entries]
        self.stems = dict(zip(ids, file_stems(called), strict=True))
        self.numbers = dict(zip(ids, _numbers(ids), strict=True))
        self.splits = {entry.source_id: part.split for part in parts for entry in part.entries}

    def encode(self, entry: Entry, sample: Sample) -> Encoded[_Output]:
        """Describe an image; nothing is written yet."""
        header, encoded, remarks = read_header(sample.image), sample.image, []
        if header.orientation != 1:
            # The boxes are of the pixels as stored; most readers of image files would turn them.
            encoded, remarks = without_exif(encoded, header), [NOT_TURNED]
        name = self.stems[entry.source_id]
        if name != stem((entry.filename or entry.source_id).rpartition("/")[2]):
            remarks.append(RENAMED)
        image = OutImage(
            number=self.numbers[entry.source_id],
            name=file_name(name, entry.filename, header.format),
            split=self.splits[entry.source_id],
            size=header.size,
            sample=sample,
        )
        written = self.writer.write(image)
        texts = {path: text.encode("utf-8", "replace") for path, text in written.files.items()}
        place = data_files.join(self.writer.image_folder(image.split), image.name)
        return Encoded(
            _Output(written.line, {place: encoded} | texts), (*remarks, *written.remarks)
        )

    def write(self, path: str, outputs: Iterator[_Output]) -> int:
        """Write the files of images as they come, and then what is to be remembered of them."""
        lines = []
        for line, contents in outputs:
            sizes = [self.folder.write(place, [content]) for place, content in contents.items()]
            lines.append(json.dumps(line | {"bytes": sum(sizes)}) + "\n")
        remembered = "".join(lines).encode()
        data_files.write_bytes(path, remembered)
        return len(remembered)


def _parts(source: Source, plan: ShardPlan) -> list[Shard]:
    """Cut the splits of a plan into parts, with the images in the order of the source."""
    splits = {id(entry): shard.split for shard in plan.shards for entry in shard.entries}
    parts = []
    for split in SPLITS:
        chosen = [entry for entry in source.entries if splits.get(id(entry)) == split]
        count = math.ceil(len(chosen) / _IMAGES_PER_PART)
        names = shard_names(f"{split}.part", count)
        indices = np.array_split(np.arange(len(chosen)), count) if count else []
        for name, part in zip(names, indices, strict=True):
            parts.append(Shard(name, split, tuple(chosen[index] for index in part)))
    return parts


def _numbers(source_ids: Sequence[str]) -> list[int]:
    """Give each image a number: its own id, as in COCO, if all have one; else count from 1."""
    if all(each.isascii() and each.isdigit() and int(each) < _LARGEST_ID for each in source_ids):
        numbers = [int(each) for each in source_ids]
        if len(set(numbers)) == len(numbers):
            return numbers
    return list(range(1, len(source_ids) + 1))


def _digest(parts: Sequence[Shard], source: Source) -> str:
    keys = [shard_key(part, source) for part in parts]
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()


def _judge(writer: Writer, judge: Judge) -> Judge:
    """Judge by the checks of training, then by what the format holds."""

    def judged(sample: Sample) -> Verdict:
        kept, faults = judge(sample)
        if kept is None:
            return Verdict(kept, faults)
        selected, more = writer.select(kept)
        return Verdict(selected, faults + more)

    return judged


def _lines(paths: Sequence[str]) -> Iterator[Line]:
    for path in paths:
        yield from map(json.loads, data_files.read_bytes(path).splitlines())


def _finish(
    writer: Writer,
    folder: OutFolder,
    manifest: ShardManifest,
    parts: Sequence[Shard],
    source: Source,
) -> None:
    """Write what speaks of all images, from what the parts have noted about each."""
    paths = {part.name: data_files.join(folder.unfinished, part.name) for part in parts}
    splits = {
        split: partial(_lines, [paths[part.name] for part in parts if part.split == split])
        for split in dict.fromkeys(part.split for part in parts)
    }
    for path, pieces in writer.finish(splits):
        folder.write(path, (piece.encode("utf-8", "replace") for piece in pieces))
    folder.write(LABEL_MAP_NAME, [label_map_bytes(source.label_map)])
    for name, path in paths.items():
        record = manifest.shards[name]
        assert record is not None  # all parts are done
        size_bytes = sum(line["bytes"] for line in _lines([path]))
        manifest.shards[name] = replace(record, size_bytes=size_bytes)
    manifest.save()
    for path in paths.values():
        data_files.remove(path)


def _result(
    to: str,
    source: Source,
    out: str,
    writer: Writer,
    plan: ShardPlan,
    parts: Sequence[Shard],
    refused: Sequence[Incident],
    kept: int,
) -> Conversion:
    found = ShardManifest(out).shards
    records = [record for part in parts if (record := found[part.name])]
    unwritten = [one for record in records for one in record.left_out]
    splits = summarize_splits(
        parts, records, lambda split, shards: data_files.join(out, writer.annotations(split))
    )
    return Conversion(
        out=out,
        to=to,
        format=source.format,
        label_map_path=data_files.join(out, LABEL_MAP_NAME),
        label_map=source.label_map,
        splits=splits,
        images_left_out=len(refused) + len({one.place for one in unwritten if one.whole_image}),
        left_out=group_incidents([*refused, *unwritten]),
        remarks=group_incidents(one for record in records for one in record.remarks),
        notes=(*source.notes, *plan.notes, *writer.notes()),
        shards_kept=kept,
    )
