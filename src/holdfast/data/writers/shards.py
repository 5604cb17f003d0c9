"""TFRecord files in shards, each there as a whole or not at all."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

import tensorflow as tf

from holdfast.data.records import data_files
from holdfast.errors import HoldfastError


def shard_names(name: str, count: int) -> list[str]:
    """Name the shards of a set as the OD API does.

    >>> shard_names("train.record", 2)
    ['train.record-00000-of-00002', 'train.record-00001-of-00002']
    """
    return [f"{name}-{index:05d}-of-{count:05d}" for index in range(count)]


def write_shard(path: str, records: Iterable[bytes]) -> int:
    """Write serialized examples to a file and give its size in bytes.

    The file takes its name when it is complete; if anything goes wrong on the way, nothing is
    left of it.
    """
    temporary = data_files.temporary_name(path)
    try:
        tf.io.gfile.makedirs(posixpath.dirname(path) or ".")
        with tf.io.TFRecordWriter(temporary) as writer:
            for record in records:
                writer.write(record)
        tf.io.gfile.rename(temporary, path, overwrite=True)
    except (OSError, tf.errors.OpError) as error:
        raise HoldfastError(f"{path} cannot be written: {error}") from None
    finally:
        data_files.remove(temporary)
    return int(tf.io.gfile.stat(path).length)
