"""The shards of a conversion, done one after the other; what is there already is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic

from holdfast.data.conversion.books import Books, Cut, Encode, Output, refuse_first, uncut
from holdfast.data.conversion.judge import Judge
from holdfast.data.conversion.shard_manifest import ShardManifest, ShardRecord, shard_key
from holdfast.data.conversion.shard_plan import Shard
from holdfast.data.records import data_files
from holdfast.data.sources.source import Source
from holdfast.progress import Progress

Write = Callable[[str, Iterator[Output]], int]  # a file; gives its size in bytes


class Work(Generic[Output]):
    """Turns shards of a source into files."""

    def __init__(
        self,
        source: Source,
        manifest: ShardManifest,
        judge: Judge,
        encode: Encode[Output],
        write: Write[Output],
        *,
        strict: bool,
        progress: Progress,
        cut_of_split: Callable[[str], Cut] = lambda split: uncut,
    ) -> None:
        self.cut_of_split = cut_of_split
        self.source, self.manifest, self.judge = source, manifest, judge
        self.encode, self.write = encode, write
        self.strict, self.progress = strict, progress
        self.images_done = self.images_in_all = self.kept = 0

    def do_all(self, shards: Sequence[Shard]) -> list[ShardRecord]:
        """Write every shard that is not there already."""
        self.images_in_all = sum(len(shard.entries) for shard in shards)
        return [self._do(shard) for shard in shards]

    def _do(self, shard: Shard) -> ShardRecord:
        key = shard_key(shard, self.source)
        record = self.manifest.finished(shard.name, key)
        if record is None:
            record = self._write(shard, key)
            self.manifest.finish(shard.name, record)
        else:
            self.kept += 1
            self._advance(len(shard.entries))
        if self.strict:
            refuse_first(record.left_out)
        return record

    def _write(self, shard: Shard, key: str) -> ShardRecord:
        books = Books(
            self.source.label_map,
            self.judge,
            self.encode,
            strict=self.strict,
            cut=self.cut_of_split(shard.split),
        )

        def outputs() -> Iterator[Output]:
            for entry in shard.entries:
                yield from books.outputs(entry)
                self._advance(1)

        size_bytes = self.write(data_files.join(self.manifest.folder, shard.name), outputs())
        return ShardRecord(
            key=key,
            size_bytes=size_bytes,
            images=books.images,
            objects=dict(books.objects),
            left_out=tuple(books.left_out),
            remarks=tuple(books.remarks),
        )

    def _advance(self, images: int) -> None:
        self.images_done += images
        self.progress(self.images_done, self.images_in_all)
