"""A loaded model finds what its detector finds, in images of any size, alone or together."""

from __future__ import annotations

import numpy as np
import pytest
from tests.prediction.spread_weights import noise, save_project
from tests.training.small_training import config_text

import holdfast


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    config, detector = save_project(folder, config_text(chance=False))
    return folder, config, detector


@pytest.fixture(scope="module")
def model(project):
    folder, _, _ = project
    return holdfast.load_model(folder / "pipeline.config", checkpoint=folder / "checkpoints")


def test_a_loaded_model_finds_what_the_detector_finds(project, model):
    _, _, detector = project
    images = np.stack([noise(50, 70), noise(50, 70, 1)])
    inputs, sizes = detector.preprocess(images)
    expected = detector.detections(detector(inputs, sizes=sizes), sizes)
    found = model(images)
    assert np.ptp(found.scores[0, : found.count[0]]) > 0.1  # scores that say something
    np.testing.assert_array_equal(found.count, expected.count)
    np.testing.assert_array_equal(found.classes, expected.classes)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)
    np.testing.assert_allclose(found.boxes, expected.boxes, atol=1e-5)


def test_images_of_unequal_size_find_together_what_they_find_alone(model):
    images = [noise(40, 90), noise(64, 64, 1), noise(120, 33, 2)]
    together = model(images)
    for row, image in enumerate(images):
        alone = model(image[None])
        assert alone.count[0] == together.count[row]
        np.testing.assert_allclose(alone.boxes[0], together.boxes[row], atol=1e-5)
        np.testing.assert_allclose(alone.scores[0], together.scores[row], atol=1e-5)


def test_classes_have_the_names_of_the_label_map(model):
    assert model.names == {1: "ellipse", 2: "rectangle", 3: "star", 4: "triangle"}
    assert model.name_of(9) == "9"


@pytest.mark.parametrize(
    "images", [np.zeros((1, 8, 8, 3), np.float32), np.zeros((8, 8, 3), np.uint8), []]
)
def test_what_is_not_an_image_is_refused(model, images):
    with pytest.raises(holdfast.HoldfastError):
        model(images)


def test_a_folder_without_a_detector_is_refused_with_what_is_missing(tmp_path):
    with pytest.raises(holdfast.HoldfastError, match="holds no detector"):
        holdfast.load_model(tmp_path)
    with pytest.raises(holdfast.HoldfastError, match="There is no"):
        holdfast.load_model(tmp_path / "gone")
