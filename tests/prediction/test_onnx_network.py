"""An ONNX file detects as its detector does; a file of anything else is an error."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from tests.prediction.spread_weights import noise, save_project
from tests.training.small_training import config_text

import holdfast
from holdfast import extras
from holdfast.export.onnx_file import write_onnx

NAMES = {1: "ellipse", 2: "rectangle", 3: "star", 4: "triangle"}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    _, detector = save_project(folder, config_text(chance=False))
    write_onnx(detector, folder / "exported" / "model.onnx", names=NAMES)
    return folder


def test_a_file_and_its_folder_detect_as_the_detector_does(project):
    original = holdfast.load_model(project / "pipeline.config", checkpoint=project / "checkpoints")
    images = [noise(50, 70), noise(50, 70, 1), noise(80, 44, 2)]
    expected = original(images)
    assert np.ptp(expected.scores[0, : expected.count[0]]) > 0.1
    for place in ("exported", "exported/model.onnx"):
        model = holdfast.load_model(project / place)
        assert model.names == NAMES
        for found in (model(images), model(np.stack(images[:2]))):
            rows = len(found.count)
            np.testing.assert_array_equal(found.count, expected.count[:rows])
            np.testing.assert_array_equal(found.classes, expected.classes[:rows])
            np.testing.assert_allclose(found.scores, expected.scores[:rows], atol=1e-4)
            np.testing.assert_allclose(found.boxes, expected.boxes[:rows], atol=1e-4)


def other_network(kind, outputs):
    image = helper.make_tensor_value_info("input_tensor", kind, ["b", "h", "w", 3])
    nodes = [helper.make_node("Shape", ["input_tensor"], [name]) for name in outputs]
    given = [helper.make_tensor_value_info(name, TensorProto.INT64, [4]) for name in outputs]
    graph = helper.make_graph(nodes, "other", [image], given)
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


DETECTS = ("detection_boxes", "detection_scores", "detection_classes", "num_detections")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (other_network(TensorProto.UINT8, ["logits"]), "of another network .* detection_boxes"),
        (other_network(TensorProto.FLOAT, DETECTS), "its input is not uint8 images"),
        (other_network(TensorProto.UINT8, ["raw_detection_boxes"]), "exported with --raw"),
    ],
)
def test_a_file_of_another_network_is_an_error(tmp_path, model, message):
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(holdfast.HoldfastError, match=message):
        holdfast.load_model(tmp_path)


@pytest.mark.parametrize("kind", ["empty", "text", "cut"])
def test_a_broken_file_is_an_error(project, tmp_path, kind):
    whole = (project / "exported" / "model.onnx").read_bytes()
    content = {"empty": b"", "text": b"not a network", "cut": whole[: len(whole) // 2]}[kind]
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(holdfast.HoldfastError, match="is not an ONNX file that can be loaded: "):
        holdfast.load_model(tmp_path / "model.onnx")


def test_of_several_files_one_has_to_be_named(project, tmp_path):
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(holdfast.HoldfastError, match=r"Give one of a\.onnx, b\.onnx"):
        holdfast.load_model(tmp_path)


def test_without_the_extra_one_line_says_how_to_get_it(project, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(holdfast.HoldfastError, match=r'pip install "holdfast\[onnx\]"'):
        holdfast.load_model(project / "exported")
