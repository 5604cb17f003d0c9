"""The endless, seeded, resumable stream of serialized records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import tensorflow as tf

from holdfast.data.sample import Tensor

OPEN_FILES = 8  # read in turns, so that neighbours in a file are not neighbours in a batch
_READ_BUFFER_BYTES = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class RecordStream:
    """Which records, in which order: decided by the seed and the epoch alone."""

    files: tuple[str, ...]
    num_records: int  # of all files, without those left out
    compression: str = ""
    left_out: frozenset[tuple[str, int]] = frozenset()  # (file, number of the record in it)
    seed: int = 0
    shuffle_records: int = 1  # 1 = in the order of the files

    def epoch(self, number: int | Tensor) -> tf.data.Dataset:
        """Give the serialized records of one epoch."""
        files = tf.data.Dataset.from_tensor_slices(list(self.files))
        if self.shuffle_records > 1:
            files = files.shuffle(len(self.files), self._seed(number, 0), False)
        records = files.interleave(self._read, cycle_length=min(OPEN_FILES, len(self.files)))
        if self.shuffle_records > 1:
            records = records.shuffle(self.shuffle_records, self._seed(number, 1), False)
        return records

    def endless(self, start: int = 0) -> tf.data.Dataset:
        """Give (position, serialized) of all epochs from a position on; skipping costs reading."""
        first, offset = divmod(start, self.num_records)

        def positioned(number: Tensor) -> tf.data.Dataset:
            records = self.epoch(number).enumerate(number * self.num_records)
            return records.skip(tf.where(number == first, tf.constant(offset, tf.int64), 0))

        return tf.data.Dataset.range(first, tf.int64.max).flat_map(positioned)

    def _read(self, file: Tensor) -> tf.data.Dataset:
        records = tf.data.TFRecordDataset(
            file, compression_type=self.compression, buffer_size=_READ_BUFFER_BYTES
        )
        if not self.left_out:
            return records
        excluded = _is_in(f"{name}\n{number}" for name, number in sorted(self.left_out))

        def keep(number: Tensor, record: Tensor) -> Tensor:
            return ~excluded(tf.strings.join([file, tf.strings.as_string(number)], "\n"))

        return records.enumerate().filter(keep).map(lambda number, record: record)

    def _seed(self, number: int | Tensor, purpose: int) -> Tensor:
        # tf.data takes one number for a seed: hash seed, purpose and epoch into it.
        base = tf.constant([self.seed & 0x7FFFFFFF, purpose], tf.int64)
        mixed = tf.random.experimental.stateless_fold_in(base, tf.cast(number, tf.int64))
        return tf.random.stateless_uniform((), mixed, minval=None, maxval=None, dtype=tf.int64)


def _is_in(keys: Iterable[str]) -> Callable[[Tensor], Tensor]:
    names: Sequence[str] = list(keys)
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(names, tf.ones(len(names), tf.int64)), 0
    )
    return lambda key: table.lookup(key) == 1
