"""Label maps and records behind a URL, in TensorFlow's file system of the memory."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

from holdfast.cli.inspect.inspect_readers import open_all
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.input.build_input import open_reader
from holdfast.data.records.label_map_files import open_label_map
from holdfast.data.records.record_source import open_record_source
from holdfast.data.sources.synthetic import make_synthetic
from holdfast.data.sources.synthetic_shapes import SyntheticScene
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.errors import ConfigError, HoldfastError
from holdfast.projects.given_records import open_records

REMOTE = "ram://bucket/records"
READER = f"""
label_map_path: "{REMOTE}/label_map.pbtxt"
tf_record_input_reader {{ input_path: "{REMOTE}/train.record-*" }}
"""


@pytest.fixture(scope="module")
def made():
    source = make_synthetic(4, SyntheticScene(size=48))
    convert(source, REMOTE, val=0)
    return source


def test_a_label_map_is_read_here_and_behind_a_url(made, tmp_path, monkeypatch):
    local = tmp_path / "labels.pbtxt"
    local.write_text('item { id: 1 name: "cat" }')
    assert open_label_map(str(local)).item[0].name == "cat"
    monkeypatch.setenv("BUCKET", REMOTE)
    assert open_label_map("$BUCKET/label_map.pbtxt") == made.label_map


def test_a_remote_label_map_that_is_broken_or_missing_is_named(made):
    with tf.io.gfile.GFile("ram://bucket/broken.pbtxt", "w") as stream:
        stream.write("item {")
    with pytest.raises(ConfigError, match=r"ram://bucket/broken.pbtxt"):
        open_label_map("ram://bucket/broken.pbtxt")
    with pytest.raises(HoldfastError, match=r"ram://bucket/gone.pbtxt cannot be read"):
        open_label_map("ram://bucket/gone.pbtxt")


def test_training_reads_remote_records_and_their_label_map(made, tmp_path):
    records = open_reader(decode(READER, InputReader).message, tmp_path)
    statistics = record_statistics(records.files, records.layout, records.names)
    assert statistics.images == 4
    assert set(statistics.classes) <= {item.name for item in made.label_map.item}


def test_inspect_reads_a_config_with_remote_records(made, tmp_path):
    path = tmp_path / "pipeline.config"
    path.write_text(f"train_input_reader {{ {READER} }}")
    opened = open_all(str(path), None, None)
    assert set(opened.sets["train"].names.values()) == {each.name for each in made.label_map.item}
    other = open_all(str(path), None, f"{REMOTE}/label_map.pbtxt")
    assert other.sets["train"].names == opened.sets["train"].names


def test_records_to_convert_or_to_start_from_may_be_remote(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert open_record_source(REMOTE).label_map == made.label_map
    given = open_records(REMOTE, None)
    assert given.label_map == made.label_map
    assert given.label_map_path == f"{REMOTE}/label_map.pbtxt"
    assert not list(Path().iterdir())
