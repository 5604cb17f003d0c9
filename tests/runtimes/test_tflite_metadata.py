"""What is written about a file is read again, also of files that others wrote."""

from __future__ import annotations

import io
import zipfile

import pytest

from holdfast.runtimes.tflite_metadata import ImageInput, metadata_tables, read_input, read_labels

OUTPUTS = ("location", "category", "score", "number of detections")


def with_file(content, name, text):
    stream = io.BytesIO(content)
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr(name, text)
    return stream.getvalue()


def test_normalization_is_read_as_written():
    wanted = ImageInput((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    tables = metadata_tables("detector", wanted, OUTPUTS)
    assert tables[4:8] == b"M001"
    assert read_input(tables) == wanted


def test_one_number_is_that_of_all_channels():
    tables = metadata_tables("detector", ImageInput((127.5,), (128.0,)), OUTPUTS)
    assert read_input(tables) == ImageInput((127.5,) * 3, (128.0,) * 3)


@pytest.mark.parametrize("name", ["labelmap.txt", "labels.txt"])
def test_classes_are_named_by_their_lines(name):
    content = with_file(b"the model" * 100, name, "cat\n???\ndog\n")
    assert read_labels(content) == {0: "cat", 2: "dog"}


def test_a_file_without_an_archive_names_no_class():
    assert read_labels(b"the model" * 100) == {}
    assert read_labels(with_file(b"model", "other.bin", "")) == {}
