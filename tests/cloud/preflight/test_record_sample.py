from __future__ import annotations

import tensorflow as tf

from holdfast.cloud.preflight.record_sample import first_records, mean_record_bytes


def test_a_sample_is_a_file_of_whole_records(tmp_path):
    path, sample = tmp_path / "a.record", tmp_path / "sample.record"
    records = [bytes([number]) * (number + 1) * 10 for number in range(9)]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
    sample.write_bytes(first_records(path, 5, 10**6))
    assert list(tf.data.TFRecordDataset(str(sample)).as_numpy_iterator()) == records[:5]
    assert mean_record_bytes(sample.read_bytes()) == sum(map(len, records[:5])) / 5 + 16
    sample.write_bytes(first_records(path, 9, 60))
    assert list(tf.data.TFRecordDataset(str(sample)).as_numpy_iterator()) == records[:2]


def test_a_file_that_ends_inside_a_record_gives_those_before(tmp_path):
    path = tmp_path / "a.record"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b"whole")
        writer.write(b"cut")
    path.write_bytes(path.read_bytes()[:-1])
    assert len(first_records(path, 5, 100)) == 16 + 5
    assert (first_records(path, 0, 100), mean_record_bytes(b"")) == (b"", 0.0)
