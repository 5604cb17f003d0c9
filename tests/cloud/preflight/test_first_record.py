from __future__ import annotations

import pytest
import tensorflow as tf

from holdfast.cloud.preflight.first_record import first_record_fault


@pytest.mark.parametrize("content", [b"", b"a", b"record" * 1000])
def test_a_file_that_tensorflow_wrote_is_fine_until_it_is_cut(content, tmp_path):
    path = tmp_path / "a.record"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(content)
    start, size = path.read_bytes()[:12], path.stat().st_size
    assert first_record_fault(start, size) == first_record_fault(start, None) == ""
    assert first_record_fault(start, size - 1) == "it ends inside its first record"


@pytest.mark.parametrize(
    "start", [b"item { id: 1", b"\x00" * 12, b"\x89PNG\r\n\x1a\n\x00\x00\x00\r"]
)
def test_other_files_are_told_from_records(start):
    assert first_record_fault(start, 100) == "it is not a TFRecord file"


def test_compressed_files_are_not_judged():
    assert first_record_fault(b"\x1f\x8b\x08\x00aaaaaaaa", 100) == ""
