"""The endless, seeded, resumable stream of serialized records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from holdfast.data.records.merged_records import Place
from holdfast.data.sample import Tensor

OPEN_FILES = 8  # read in turns, so that neighbors in a file are not neighbors in a batch
_READ_BUFFER_BYTES = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class Buckets:
    """Images of like aspect ratio go into one batch: padded to each other, they waste little."""

    batch_size: int

    def sort(self, records: tf.data.Dataset) -> tf.data.Dataset:
        """Reorder an epoch so that every `batch_size` records share a bucket.

        Only what is left over in each bucket at the end of the epoch is mixed, and what does not
        fill a batch then is left for the next epoch's shuffle.
        """
        grouped = records.group_by_window(
            aspect_bucket, lambda bucket, window: window.batch(self.batch_size), self.batch_size
        )
        # Full windows come first, the left-over ones at the end: batching again changes only those.
        return grouped.unbatch().batch(self.batch_size, drop_remainder=True).unbatch()


ASPECT_BUCKETS = 5  # more would leave more over, fewer pad more


def aspect_bucket(serialized: Tensor) -> Tensor:
    """Give int64 0..4 by width / height: below 1/2.1, 1/1.2, 1.2, 2.1, above; 2 if unknown."""
    sides = {key: tf.io.FixedLenFeature((), tf.int64, 1) for key in ("image/height", "image/width")}
    record = tf.io.parse_single_example(serialized, sides)
    height, width = (tf.cast(tf.maximum(record[key], 1), tf.float32) for key in sides)
    return tf.reduce_sum(tf.cast(width / height > _ASPECT_BOUNDS, tf.int64))


_ASPECT_BOUNDS = (1 / 2.1, 1 / 1.2, 1.2, 2.1)


@dataclass(frozen=True, kw_only=True)
class RecordStream:
    """Which records, in which order: decided by the seed and the epoch alone."""

    files: tuple[str, ...]
    num_records: int  # of all files, without those left out
    compressions: tuple[str, ...] = ()  # of each file: "", "GZIP" or "ZLIB"; () = none
    left_out: frozenset[Place] = frozenset()
    merged: Mapping[Place, bytes] = field(default_factory=dict)  # what is put behind a record
    seed: int = 0
    shuffle_records: int = 1  # 1 = in the order of the files
    buckets: Buckets | None = None

    @property
    def records_per_epoch(self) -> int:
        """How many records an epoch gives: with buckets, only whole batches."""
        if self.buckets is None:
            return self.num_records
        return self.num_records - self.num_records % self.buckets.batch_size

    def epoch(self, number: int | Tensor) -> tf.data.Dataset:
        """Give the serialized records of one epoch."""
        compressions = self.compressions or ("",) * len(self.files)
        files = tf.data.Dataset.from_tensor_slices((list(self.files), list(compressions)))
        if self.shuffle_records > 1:
            files = files.shuffle(len(self.files), self._seed(number, 0), False)
        records = files.interleave(self._read, cycle_length=min(OPEN_FILES, len(self.files)))
        if self.shuffle_records > 1:
            records = records.shuffle(self.shuffle_records, self._seed(number, 1), False)
        return records if self.buckets is None else self.buckets.sort(records)

    def endless(self, start: int = 0) -> tf.data.Dataset:
        """Give (position, serialized) of all epochs from a position on; skipping costs reading."""
        each = self.records_per_epoch
        first, offset = divmod(start, each)

        def positioned(number: Tensor) -> tf.data.Dataset:
            records = self.epoch(number).enumerate(number * each)
            return records.skip(tf.where(number == first, tf.constant(offset, tf.int64), 0))

        return tf.data.Dataset.range(first, tf.int64.max).flat_map(positioned)

    def _read(self, file: Tensor, compression: Tensor) -> tf.data.Dataset:
        records = tf.data.TFRecordDataset(file, compression, buffer_size=_READ_BUFFER_BYTES)
        if not self.left_out:
            return records
        excluded = _is_in(map(_key, sorted(self.left_out)))

        def placed(number: Tensor, record: Tensor) -> tuple[Tensor, Tensor]:
            return tf.strings.join([file, tf.strings.as_string(number)], "\n"), record

        kept = records.enumerate().map(placed).filter(lambda place, record: ~excluded(place))
        if not self.merged:
            return kept.map(lambda place, record: record)
        behind = _table({_key(place): each for place, each in self.merged.items()}, b"")
        # An example behind another one adds its features to it.
        return kept.map(lambda place, record: tf.strings.join([record, behind.lookup(place)]))

    def _seed(self, number: int | Tensor, purpose: int) -> Tensor:
        # tf.data takes one number for a seed: hash seed, purpose and epoch into it.
        base = tf.constant([self.seed & 0x7FFFFFFF, purpose], tf.int64)
        mixed = tf.random.experimental.stateless_fold_in(base, tf.cast(number, tf.int64))
        return tf.random.stateless_uniform((), mixed, minval=None, maxval=None, dtype=tf.int64)


def _key(place: Place) -> str:
    name, number = place
    return f"{name}\n{number}"


def _is_in(keys: Iterable[str]) -> Callable[[Tensor], Tensor]:
    table = _table(dict.fromkeys(keys, 1), 0)
    return lambda key: table.lookup(key) == 1


def _table(values: Mapping[str, Any], default: Any) -> tf.lookup.StaticHashTable:
    kind = tf.string if isinstance(default, bytes) else tf.int64
    keys = tf.constant(list(values), tf.string, (len(values),))
    entries = tf.constant(list(values.values()), kind, (len(values),))
    initializer = tf.lookup.KeyValueTensorInitializer(keys, entries)
    return tf.lookup.StaticHashTable(initializer, default)
