"""`holdfast export`: a folder that is whole and right, or none."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from tests.prediction.spread_weights import noise, save_project
from tests.training.small_training import config_text

import holdfast as library
from holdfast.export import formats

from .commands import holdfast, words


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    save_project(folder, config_text(chance=False))
    return folder


def export(project, *arguments):
    model = (project / "pipeline.config", "--checkpoint", project / "checkpoints")
    return holdfast("export", *model, *arguments)


@pytest.fixture(scope="module")
def exported(project):
    finished = export(project, "--out", project / "exported", "--json")
    assert finished.code == 0, finished.err
    return project / "exported", json.loads(finished.out)


def test_the_document_says_what_was_written_and_how_it_compares(exported):
    folder, document = exported
    assert document["ok"] is True
    assert (document["format"], document["precision"]) == ("saved_model", "float32")
    on_disk = {str(path) for path in folder.rglob("*") if path.is_file()}
    assert set(document["files"]) == on_disk
    assert json.loads((folder / "export.json").read_text()) == document
    compared = document["compared"]
    assert compared["images"] == 6
    assert compared["source"] == "eval_input_reader"
    assert compared["objects"] > 10
    assert compared["largest_score_difference"] < 1e-3
    assert compared["smallest_iou"] > 0.99
    assert compared["largest_raw_score_difference"] < 1e-3
    assert 0.0 <= compared["map_before"] <= 1.0
    assert compared["map_after"] == pytest.approx(compared["map_before"], abs=0.01)


def test_an_export_is_loaded_as_any_model(project, exported):
    folder, _ = exported
    original = library.load_model(project / "pipeline.config", checkpoint=project / "checkpoints")
    images = [noise(50, 70), noise(50, 70, 1), noise(80, 44, 2)]
    for place in (folder, folder / "saved_model"):
        model = library.load_model(place)
        assert model.names == original.names
        found, expected = model(images), original(images)
        np.testing.assert_array_equal(found.count, expected.count)
        np.testing.assert_array_equal(found.classes, expected.classes)
        np.testing.assert_allclose(found.scores, expected.scores, atol=1e-4)
        np.testing.assert_allclose(found.boxes, expected.boxes, atol=1e-4)
        assert found.classes.dtype == np.int32


def test_predict_takes_an_export(exported, tmp_path):
    folder, _ = exported
    Image.fromarray(noise(60, 80)).save(tmp_path / "a.png")
    finished = holdfast("predict", folder, tmp_path / "a.png", "--json", "--score", 0.1)
    assert finished.code == 0, finished.err
    (image,) = json.loads(finished.out)["images"]
    assert image["detections"][0]["name"] in {"ellipse", "rectangle", "star", "triangle"}


def test_records_are_taken_and_limits_kept(project, tmp_path):
    out = tmp_path / "examples"
    limits = ("--score-threshold", 0.2, "--max-detections", 3)
    finished = export(project, "--out", out, "--input", "tf_example", *limits)
    assert finished.code == 0, finished.err
    assert "smallest IoU of boxes" in finished.out
    original = library.load_model(project / "pipeline.config", checkpoint=project / "checkpoints")
    model = library.load_model(out)
    image = [noise(50, 70)]
    found, expected = model(image), original(image)
    assert found.scores.shape == (1, 3)
    kept = min(3, int((expected.scores[0] > 0.2).sum()))
    assert found.count.tolist() == [kept]
    np.testing.assert_allclose(found.scores[0, :kept], expected.scores[0, :kept], atol=1e-4)


def test_an_export_that_differs_is_an_error_and_leaves_nothing(project, tmp_path, monkeypatch):
    run = formats.run_saved_model

    def spoiled(*arguments):
        found = run(*arguments)
        found[0]["detection_scores"] = found[0]["detection_scores"] + 0.01
        return found

    monkeypatch.setattr(formats, "run_saved_model", spoiled)
    finished = export(project, "--out", tmp_path / "gone")
    assert finished.code == 1
    assert "finds something else than the detector" in words(finished.err)
    assert list(tmp_path.iterdir()) == []


def test_int8_is_written_from_the_training_data_and_predicts(project, tmp_path):
    arguments = ("--format", "tflite", "--precision", "int8", "--fast-nms", "--json")
    finished = export(project, "--out", tmp_path / "out", *arguments)
    assert finished.code == 0, finished.err
    document = json.loads(finished.out)
    assert (document["format"], document["precision"]) == ("tflite", "int8")
    assert document["bytes"] == (tmp_path / "out" / "model.tflite").stat().st_size
    assert "use_class_agnostic_nms: true" in (tmp_path / "out" / "pipeline.config").read_text()
    Image.fromarray(noise(60, 80)).save(tmp_path / "a.png")
    model = tmp_path / "out" / "model.tflite"
    finished = holdfast("predict", model, tmp_path / "a.png", "--json", "--score", 0.1)
    assert finished.code == 0, finished.err
    (image,) = json.loads(finished.out)["images"]
    assert image["detections"][0]["name"] in {"ellipse", "rectangle", "star", "triangle"}


def test_int8_without_training_data_says_what_it_needs(project, tmp_path):
    nowhere = "train_input_reader.tf_record_input_reader.input_path=nowhere.record"
    arguments = ("--format", "tflite", "--precision", "int8", "--set", nowhere)
    finished = export(project, "--out", tmp_path / "gone", *arguments)
    assert finished.code == 2
    assert "int8 needs images to choose its ranges by" in words(finished.err)
    assert list(tmp_path.iterdir()) == []


def test_what_a_format_is_not_written_in_is_refused_before_any_work(project, tmp_path):
    finished = export(project, "--out", tmp_path / "gone", "--precision", "int8")
    assert finished.code == 2
    assert "A saved_model is not written in int8" in words(finished.err)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_replaced(project, exported):
    folder, document = exported
    finished = export(project, "--out", folder)
    assert finished.code == 2
    assert "an export replaces nothing" in words(finished.err)
    assert json.loads((folder / "export.json").read_text()) == document


def test_a_file_in_the_way_is_told_before_any_work(project, exported):
    finished = export(project, "--out", exported[0] / "export.json" / "inner")
    assert finished.code == 2
    assert "export.json is a file, and a folder is needed there" in words(finished.err)


def test_a_config_alone_is_refused(project, tmp_path):
    finished = holdfast("export", project / "pipeline.config", "--out", tmp_path / "none")
    assert finished.code == 2
    assert "without a checkpoint there are no weights" in words(finished.err)


def test_the_commands_are_defined_without_tensorflow():
    code = (
        "import sys, holdfast.cli.export_command, holdfast.cli.predict_command\n"
        "print(*{'tensorflow', 'numpy'} & set(sys.modules))"
    )
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert finished.stdout.split() == []


def test_an_export_goes_to_the_store_and_is_used_from_there(project, store):
    place = "gs://cells/exported"
    finished = export(project, "--out", place, "--json")
    assert finished.code == 0, finished.err
    files = json.loads(finished.out)["files"]
    assert set(files) == {f"gs://cells/{name}" for name in store.names("cells", "exported/")}
    written = store.objects["cells"]["exported/export.json"].content
    assert json.loads(written)["files"] == files
    assert len(library.load_model(place)([noise(60, 80)]).scores) == 1
