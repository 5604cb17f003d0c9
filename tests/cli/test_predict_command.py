"""`holdfast predict`: pictures, JSON and COCO's results, whatever lies in the folder."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image
from tests.prediction.spread_weights import noise, save_project
from tests.training.small_training import config_text

import holdfast as library

from .commands import holdfast, words


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    save_project(folder, config_text(chance=False))
    photos = folder / "photos"
    (photos / "inner").mkdir(parents=True)
    Image.fromarray(noise(60, 80)).save(photos / "12.png")
    Image.fromarray(noise(64, 48, 1)).save(photos / "b.jpg")
    Image.fromarray(noise(50, 50, 2)).save(photos / "inner" / "c.webp", lossless=True)
    (photos / "broken.jpg").write_bytes((photos / "b.jpg").read_bytes()[:200])
    (photos / "text.png").write_text("not an image")
    (photos / "gone.jpg").symlink_to("nowhere.jpg")
    return folder


def predict(project, *arguments):
    model = (project / "pipeline.config", "--checkpoint", project / "checkpoints")
    return holdfast("predict", *model, *arguments)


def test_the_document_says_what_the_model_finds(project, tmp_path):
    finished = predict(project, project / "photos", "--json", "--score", 0.3)
    assert finished.code == 0, finished.err
    document = json.loads(finished.out)
    assert [each["file"].rpartition("/")[2] for each in document["images"]] == [
        *("12.png", "b.jpg", "c.webp")
    ]
    model = library.load_model(project / "pipeline.config", checkpoint=project / "checkpoints")
    first = document["images"][0]
    assert (first["width"], first["height"]) == (80, 60)
    found = model([noise(60, 80)])
    kept = found.scores[0] >= 0.3
    assert 0 < kept.sum() < found.count[0]  # the threshold cuts
    detections = first["detections"]
    boxes = [each["box"] for each in detections]
    np.testing.assert_allclose(boxes, found.boxes[0][kept], atol=1e-4)
    assert [each["id"] for each in detections] == (found.classes[0][kept] + 1).tolist()
    assert [each["name"] for each in detections] == [
        model.name_of(each["id"]) for each in detections
    ]
    assert set(detections[0]) == {"box", "id", "name", "score"}


def test_files_that_cannot_be_read_are_named_and_passed_over(project):
    finished = predict(project, project / "photos", "--json")
    unreadable = json.loads(finished.out)["unreadable"]
    names = [each["file"].rpartition("/")[2] for each in unreadable]
    assert names == ["broken.jpg", "gone.jpg", "text.png"]
    assert all(each["why"] for each in unreadable)
    assert "not readable:" in finished.err
    nothing = predict(project, project / "photos" / "text.png", "--json")
    assert nothing.code == 1


def test_pictures_lie_as_the_images_do_and_show_something(project, tmp_path):
    out = tmp_path / "found"
    finished = predict(project, project / "photos", "--out", out, "--score", 0.2)
    assert finished.code == 0, finished.err
    written = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert written == ["12.png", "b.jpg", "inner/c.webp.png", "predictions.json"]
    with Image.open(out / "12.png") as picture:
        pixels = np.asarray(picture)
    assert pixels.shape == (5 * 60, 5 * 80, 3)  # enlarged: labels would cover it
    assert (pixels != noise(60, 80).repeat(5, axis=0).repeat(5, axis=1)).any()
    assert "images a second" in words(finished.out)


def test_coco_results_have_pixels_and_the_numbers_of_the_files(project, tmp_path):
    file = tmp_path / "results.json"
    finished = predict(project, project / "photos" / "12.png", "--coco", file, "--json")
    results = json.loads(file.read_text())
    (image,) = json.loads(finished.out)["images"]
    assert len(results) == len(image["detections"]) > 0
    top, left, bottom, right = image["detections"][0]["box"]
    assert results[0]["image_id"] == 12
    assert results[0]["category_id"] == image["detections"][0]["id"]
    expected = [left * 80, top * 60, (right - left) * 80, (bottom - top) * 60]
    np.testing.assert_allclose(results[0]["bbox"], expected, atol=1e-3)


def test_only_the_chosen_classes_are_kept(project):
    photos = project / "photos"
    everything = json.loads(predict(project, photos, "--json", "--score", 0.1).out)
    ids = {each["id"] for image in everything["images"] for each in image["detections"]}
    assert len(ids) > 1
    chosen = json.loads(predict(project, photos, "--json", "--score", 0.1, "--classes", "star").out)
    assert {each["id"] for image in chosen["images"] for each in image["detections"]} <= {3}
    finished = predict(project, photos, "--classes", "stra")
    assert finished.code == 2
    assert "It has star" in words(finished.err)


def test_one_tile_as_large_as_the_image_finds_the_same(project):
    photo = project / "photos" / "12.png"
    whole = json.loads(predict(project, photo, "--json").out)
    tiled = json.loads(predict(project, photo, "--json", "--tile", 80).out)
    best = [image["images"][0]["detections"][0] for image in (whole, tiled)]
    assert best[0]["id"] == best[1]["id"]
    np.testing.assert_allclose(best[0]["box"], best[1]["box"], atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gone",), "There is no"),
        (("photos", "--out", "photos"), "pictures would replace them"),
        (("photos", "--out", "pipeline.config"), "pipeline.config is a file"),
        (("photos", "--out", "pipeline.config/found"), "pipeline.config is a file"),
        (("photos", "--coco", "photos"), "photos is a folder, and the results are one file"),
        (("photos", "--coco", "pipeline.config/a.json"), "pipeline.config is a file"),
        (("photos", "--overlap", 0.5), "no tiles are asked for"),
        (("checkpoints",), "holds no image"),
    ],
)
def test_what_cannot_be_done_is_an_error_with_a_fix(project, monkeypatch, arguments, message):
    monkeypatch.chdir(project)
    finished = predict(project, *arguments)
    assert finished.code == 2
    assert message in words(finished.err)


def test_a_run_detects_with_the_averages_of_its_best_checkpoint(trained, project):
    photo = project / "photos" / "12.png"
    finished = holdfast("predict", trained.run, photo, "--json", "--score", 0.0)
    assert finished.code == 0, finished.err
    assert f"the best of {trained.run}, moving averages" in words(finished.err)
    (image,) = json.loads(finished.out)["images"]
    assert len(image["detections"]) > 0


def test_a_file_that_only_has_the_name_of_a_saved_model_is_refused(project, tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"half of it")
    finished = holdfast("predict", tmp_path, project / "photos")
    assert finished.code == 2
    assert "is not a SavedModel that can be loaded" in words(finished.err)


def test_results_go_to_the_store(project, store):
    out, coco = "gs://cells/found", "gs://cells/results.json"
    finished = predict(project, project / "photos", "--out", out, "--coco", coco)
    assert finished.code == 0, finished.err
    assert f"written: {out} (pictures, predictions.json)" in words(finished.out)
    assert f"written: {coco}" in words(finished.out)
    assert store.names("cells", "found/") == [
        *("found/12.png", "found/b.jpg", "found/inner/c.webp.png", "found/predictions.json")
    ]
    assert len(json.loads(store.objects["cells"]["found/predictions.json"].content)["images"]) == 3
    assert json.loads(store.objects["cells"]["results.json"].content)
