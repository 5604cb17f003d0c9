"""`holdfast export --format onnx`: a folder that `predict` takes, or an error before any work."""

from __future__ import annotations

import json

import pytest
from PIL import Image
from tests.cli.commands import holdfast, words
from tests.models.detectors.center_net.small_centers import center_net
from tests.prediction.spread_weights import noise, save_project
from tests.training.small_training import config_text

from holdfast import extras
from holdfast.errors import HoldfastError
from holdfast.export.export_choices import ExportSettings, FormatName
from holdfast.export.formats import chosen_format
from holdfast.runtimes.onnx_session import OnnxSession

SIGMA = "model.ssd.post_processing.batch_non_max_suppression.soft_nms_sigma"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    save_project(folder, config_text(chance=False))
    return folder


def export(project, *arguments):
    model = (project / "pipeline.config", "--checkpoint", project / "checkpoints")
    return holdfast("export", *model, "--format", "onnx", *arguments)


def test_an_export_is_compared_and_detects_in_predict(project, tmp_path):
    out = tmp_path / "out"
    finished = export(project, "--out", out, "--json", "--max-detections", 7)
    assert finished.code == 0, finished.err
    assert "in onnxruntime" in words(finished.err)
    document = json.loads(finished.out)
    assert (document["format"], document["precision"]) == ("onnx", "float32")
    assert document["compared"]["objects"] > 10
    assert sorted(path.name for path in out.iterdir()) == [
        *("export.json", "label_map.pbtxt", "model.onnx", "pipeline.config")
    ]
    Image.fromarray(noise(60, 80)).save(tmp_path / "a.png")
    for model in (out, out / "model.onnx"):
        finished = holdfast("predict", model, tmp_path / "a.png", "--json", "--score", 0)
        assert finished.code == 0, finished.err
        (image,) = json.loads(finished.out)["images"]
        assert 0 < len(image["detections"]) <= 7
        assert image["detections"][0]["name"] in {"ellipse", "rectangle", "star", "triangle"}


def test_raw_outputs_are_compared_by_their_best_boxes(project, tmp_path):
    finished = export(project, "--out", tmp_path / "raw", "--raw", "--json")
    assert finished.code == 0, finished.err
    document = json.loads(finished.out)
    assert document["compared"]["objects"] > 100
    assert document["compared"]["map_after"] is None
    session = OnnxSession(tmp_path / "raw" / "model.onnx")
    assert set(session.outputs) == {"raw_detection_boxes", "raw_detection_scores"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--input", "tf_example"), "ONNX cannot decode images"),
        (("--raw", "--score-threshold", 0.5), "about the suppression, which --raw leaves out"),
        (("--precision", "int8"), "is not written in int8"),
        (("--set", f"{SIGMA}=0.5"), "ONNX has no soft suppression"),
        (("--format", "saved_model", "--raw"), "--raw is for ONNX"),
    ],
)
def test_what_onnx_cannot_carry_is_said_before_any_work(project, tmp_path, arguments, message):
    finished = export(project, "--out", tmp_path / "none", *arguments)
    assert finished.code == 2
    assert message in words(finished.err)
    assert list(tmp_path.iterdir()) == []


def test_a_center_net_has_no_raw_boxes():
    settings = ExportSettings(format=FormatName.ONNX, raw=True)
    with pytest.raises(HoldfastError, match="a CenterNet has none"):
        chosen_format(center_net(), settings)


def test_without_the_extra_the_error_says_how_to_get_it(project, tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    finished = export(project, "--out", tmp_path / "none")
    assert finished.code == 2
    assert 'pip install "holdfast[onnx]"' in words(finished.err)
