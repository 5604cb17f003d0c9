"""Turn any source into TFRecord shards and a label map, image by image."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from holdfast.config.label_map import save_label_map
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.conversion.books import Encoded, refusal, refuse_first, uncut
from holdfast.data.conversion.conversion_result import Conversion, group_incidents, summarize_splits
from holdfast.data.conversion.cut_tiles import TileRule, cutter
from holdfast.data.conversion.judge import Judge, judge_validity
from holdfast.data.conversion.shard_manifest import ShardManifest, ShardRecord, origin_of
from holdfast.data.conversion.shard_plan import ShardPlan, plan_shards
from holdfast.data.conversion.shard_work import Work
from holdfast.data.conversion.stored_looks import StoredLooks
from holdfast.data.conversion.two_passes import TwoPasses
from holdfast.data.part_of_work import PartOfWork
from holdfast.data.records import data_files
from holdfast.data.sample import Sample
from holdfast.data.sources.source import Entry, Source
from holdfast.data.writers.shards import write_shard
from holdfast.data.writers.tf_example import encode_example
from holdfast.errors import HoldfastError
from holdfast.progress import Progress, silent

LABEL_MAP_NAME = "label_map.pbtxt"


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
    tile_rule: TileRule | None = None,
    part: PartOfWork | None = None,
    progress: Progress = silent,
) -> Conversion:
    """Write a source as OD API TFRecords `train.record-00000-of-00004`, … and label_map.pbtxt.

    One image is in memory at a time. Called again with the same settings it goes on where it was
    stopped: finished shards of unchanged files are kept. What cannot be read or does not pass the
    judge (None: the checks that training makes) is left out and listed in the result; strict makes
    the first such thing an error. With a tile_rule, tiles are written instead of images; those of
    one image are always in one split.

    A part writes its share of the shards and notes them beside those of the other parts, which
    other processes write at the same time; the call without a part that follows takes them over,
    does what is missing, and gives the result of all.
    """
    out = data_files.expand(out).rstrip("/")
    source = _to_be_cut(source, tile_rule) if tile_rule else source
    passes = TwoPasses(progress)
    manifest, looks = ShardManifest(out, part), StoredLooks(out, part)
    manifest.refuse_other(origin_of(source))
    plan = plan_shards(
        source,
        val=val,
        seed=seed,
        num_shards=num_shards,
        keep_splits=keep_splits,
        look=looks.look_at,
        progress=passes.comparing,
    )
    plan = plan._replace(shards=tuple(part.of(plan.shards))) if part else plan
    if strict:
        refuse_first([refusal(one) for one in plan.refused])
    _prepare(manifest, source, [shard.name for shard in plan.shards])
    work = Work(
        source,
        manifest,
        judge or judge_validity(source.label_map),
        partial(_encode, source.label_map),
        write_shard,
        strict=strict,
        progress=passes.writing,
        cut_of_split=partial(cutter, tile_rule) if tile_rule else lambda split: uncut,
    )
    records = work.do_all(plan.shards)
    if part is None:
        manifest.take_over_parts()
        looks.remove()
    return _conversion(out, source, plan, records, shards_kept=work.kept, part=part)


def _encode(label_map: StringIntLabelMap, entry: Entry, sample: Sample) -> Encoded[bytes]:
    return Encoded(encode_example(sample, label_map, filename=entry.filename))


def _to_be_cut(source: Source, rule: TileRule) -> Source:
    selection = f"{source.selection} {rule}".strip()
    return replace(source, selection=selection, notes=(*source.notes, rule.note))


def label_map_bytes(label_map: StringIntLabelMap) -> bytes:
    """Give the content of a label map's file."""
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / LABEL_MAP_NAME
        save_label_map(label_map, local)
        return local.read_bytes()


def _conversion(
    out: str,
    source: Source,
    plan: ShardPlan,
    records: Sequence[ShardRecord],
    *,
    shards_kept: int,
    part: PartOfWork | None,
) -> Conversion:
    refused = [refusal(one) for one in plan.refused]
    unwritten = [one for record in records for one in record.left_out]
    return Conversion(
        out=out,
        format=source.format,
        label_map_path=data_files.join(out, LABEL_MAP_NAME),
        label_map=source.label_map,
        splits=summarize_splits(
            plan.shards,
            records,
            lambda split, shards: data_files.join(out, f"{split}.record-?????-of-{shards:05d}"),
        ),
        images_left_out=len(refused) + len({one.place for one in unwritten if one.whole_image}),
        left_out=group_incidents([*refused, *unwritten]),
        remarks=group_incidents(one for record in records for one in record.remarks),
        notes=(*source.notes, *plan.notes),
        shards_kept=shards_kept,
        part=str(part) if part else None,
    )


def _prepare(manifest: ShardManifest, source: Source, names: Sequence[str]) -> None:
    """Make the folder ready; files that are there and not ours are never overwritten."""
    content = label_map_bytes(source.label_map)
    _refuse_foreign(manifest, content, names)
    data_files.write_bytes(data_files.join(manifest.folder, LABEL_MAP_NAME), content)
    manifest.begin(names, origin_of(source))


def _refuse_foreign(manifest: ShardManifest, label_map: bytes, names: Iterable[str]) -> None:
    folder, noted = manifest.folder, manifest.noted()
    there = set(data_files.list_folder(folder)) if data_files.is_folder(folder) else set()
    foreign = [data_files.join(folder, name) for name in names if name in there - noted]
    path = data_files.join(folder, LABEL_MAP_NAME)
    if not noted and data_files.exists(path) and data_files.read_bytes(path) != label_map:
        foreign.append(path)
    if foreign:
        raise HoldfastError(
            f"{foreign[0]} is there already, and not from a conversion into this folder.",
            fix="Choose another folder, or move the file away.",
        )
