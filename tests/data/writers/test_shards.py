from __future__ import annotations

import pytest
import tensorflow as tf

from holdfast.data.writers.shards import shard_names, write_shard
from holdfast.errors import HoldfastError


def test_a_shard_holds_its_records_in_order(tmp_path):
    path = str(tmp_path / "new" / shard_names("train.record", 3)[1])
    size = write_shard(path, [b"one", b"two"])
    records = [record.numpy() for record in tf.data.TFRecordDataset(path)]
    assert records == [b"one", b"two"]
    assert size == (tmp_path / "new/train.record-00001-of-00003").stat().st_size


def test_a_shard_that_fails_on_the_way_leaves_the_old_one_alone(tmp_path):
    path = tmp_path / "shard"
    write_shard(str(path), [b"old"])

    def records():
        yield b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_shard(str(path), records())
    assert [entry.name for entry in tmp_path.iterdir()] == ["shard"]
    assert [record.numpy() for record in tf.data.TFRecordDataset(str(path))] == [b"old"]


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HoldfastError, match="cannot be written"):
        write_shard(str(tmp_path / "file/shard"), [b"one"])
