"""Copy TFRecords that have no splits into train and val."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import tensorflow as tf
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from holdfast.data import files
from holdfast.data.record_files import read_records
from holdfast.data.split import TRAIN, VAL, stratified
from holdfast.data.writers.shards import shard_names, write_shard


def split_records(
    record_files: Sequence[str], folder: str, *, val: float, seed: int = 0
) -> dict[str, str]:
    """Write every record, unchanged, to train.record or val.record in the folder.

    A share `val` of the records becomes val, stratified over the classes. Gives the files by
    split; a split without any record has none.
    """
    chosen = stratified(_class_counts(record_files), val, seed)
    written = {}
    for split in (TRAIN, VAL):
        if split in chosen:
            path = files.join(folder, *shard_names(f"{split}.record", 1))
            records = (record for file in record_files for record in read_records(file))
            pairs = zip(records, chosen, strict=True)
            write_shard(path, (record for record, one in pairs if one == split))
            written[split] = path
    return written


def _class_counts(record_files: Sequence[str]) -> list[Counter[int]]:
    """Count the objects of each class, numbered as they come, in each record."""
    numbers: dict[bytes | int, int] = {}
    return [
        Counter(numbers.setdefault(name, len(numbers)) for name in _classes(record))
        for file in record_files
        for record in read_records(file)
    ]


def _classes(record: bytes) -> Sequence[bytes | int]:
    """List the class of each object, by text or by number; () for what is no example."""
    try:
        feature = tf.train.Example.FromString(record).features.feature
    except DecodeError:
        return ()
    texts = feature["image/object/class/text"].bytes_list.value
    return list(texts) or list(feature["image/object/class/label"].int64_list.value)
