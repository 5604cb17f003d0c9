"""A TFLite file is loaded as any model: it finds what its detector finds, and names it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.prediction.spread_weights import noise, save_project
from tests.training.small_training import config_text

import holdfast
from holdfast.checkpoints.trained_model import choose_trained
from holdfast.export.export_choices import ExportSettings, FormatName
from holdfast.export.export_model import export_model

NAMES = {1: "ellipse", 2: "rectangle", 3: "star", 4: "triangle"}
PADDED = (
    "keep_aspect_ratio_resizer { min_dimension: 64 max_dimension: 64 pad_to_max_dimension: true }"
)
IMAGES = [noise(50, 70), noise(80, 44, 1)]


def padded_text():
    """Give a config whose images keep their shape: the network sees margins."""
    fixed = "fixed_shape_resizer { height: 64 width: 64 }"
    text = config_text(chance=False)
    assert fixed in text
    return text.replace(fixed, PADDED)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    save_project(folder, padded_text())
    return folder


@pytest.fixture(scope="module")
def exported(project):
    chosen = choose_trained(project / "pipeline.config", str(project / "checkpoints"))
    settings = ExportSettings(format=FormatName.TFLITE, images=4)
    result = export_model(chosen, project / "exported", settings)
    compared = result.document()["compared"]
    assert compared["objects"] > 10
    assert compared["largest_raw_score_difference"] < 1e-3
    assert compared["map_after"] == pytest.approx(compared["map_before"], abs=0.01)
    return project / "exported"


@pytest.mark.parametrize("place", [".", "model.tflite"])
def test_a_file_finds_what_its_detector_finds(project, exported, place):
    original = holdfast.load_model(project / "pipeline.config", checkpoint=project / "checkpoints")
    model = holdfast.load_model(exported / place)
    assert model.names == NAMES
    found, expected = model(IMAGES), original(IMAGES)
    assert np.ptp(expected.scores[0, : expected.count[0]]) > 0.1  # scores that say something
    for row, count in enumerate(found.count):
        # In the file, boxes in the margin use up places.
        assert 5 <= count <= expected.count[row]
        best = (row, slice(count))
        np.testing.assert_array_equal(found.classes[best], expected.classes[best])
        np.testing.assert_allclose(found.scores[best], expected.scores[best], atol=1e-4)
        np.testing.assert_allclose(found.boxes[best], expected.boxes[best], atol=1e-4)
        assert not found.scores[row, count:].any()
    assert found.classes.dtype == np.int32


def test_a_file_alone_takes_names_and_normalization_from_itself(exported, tmp_path):
    (tmp_path / "alone.tflite").write_bytes((exported / "model.tflite").read_bytes())
    alone, beside = (holdfast.load_model(each) for each in (tmp_path, exported))
    assert alone.names == NAMES
    square = [noise(64, 64)]  # without its config, other images would be stretched
    np.testing.assert_allclose(alone(square).scores, beside(square).scores, atol=1e-5)


def test_a_file_cut_in_half_is_an_error(exported, tmp_path):
    content = (exported / "model.tflite").read_bytes()
    for share in (0.3, 0.5, 0.8):
        (tmp_path / "cut.tflite").write_bytes(content[: int(len(content) * share)])
        with pytest.raises(holdfast.HoldfastError, match="cannot be run"):
            holdfast.load_model(tmp_path / "cut.tflite")


def test_outputs_of_another_order_are_understood(exported, tmp_path):
    """The OD API's own converter leaves the order to chance."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf((exported / "model.tflite").read_bytes(), 0)
    boxes, classes, scores, count = model.subgraphs[0].outputs
    model.subgraphs[0].outputs = [scores, boxes, count, classes]
    model.metadata = []
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    (tmp_path / "model.tflite").write_bytes(bytes(builder.Output()))
    other, own = (holdfast.load_model(each) for each in (tmp_path, exported))
    assert other.names == {}
    square = [noise(64, 64)]
    np.testing.assert_allclose(other(square).boxes, own(square).boxes, atol=1e-5)
    np.testing.assert_array_equal(other(square).classes, own(square).classes)
