"""The size of a model is that of its files, or of its weights."""

from __future__ import annotations

import os

from holdfast.prediction.model_size import exported_file, model_size


def test_a_file_is_as_large_as_it_is_and_zeros_zip_well(tmp_path):
    (tmp_path / "a.tflite").write_bytes(bytes(3_000_000))
    for path in (tmp_path, tmp_path / "a.tflite"):
        size = model_size(path)
        assert size.num_bytes == 3_000_000
        assert size.zipped_bytes < 10_000
    (tmp_path / "a.tflite").write_bytes(os.urandom(10_000))
    assert model_size(tmp_path).zipped_bytes >= 10_000


def test_a_saved_model_is_graph_and_variables_and_nothing_else(tmp_path):
    folder = tmp_path / "saved_model"
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"graph")
    (folder / "variables" / "variables.index").write_bytes(b"index")
    (tmp_path / "label_map.pbtxt").write_bytes(b"not counted")
    assert model_size(tmp_path).num_bytes == len(b"graphindex")
    assert model_size(folder).num_bytes == len(b"graphindex")


def test_two_files_in_one_folder_are_no_model(tmp_path):
    for name in ("a.tflite", "b.onnx"):
        (tmp_path / name).write_bytes(b"x")
    assert exported_file(tmp_path) is None
    assert exported_file(tmp_path / "b.onnx") == tmp_path / "b.onnx"
