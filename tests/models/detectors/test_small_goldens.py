"""A detector of each family gives the OD API's numbers, as far as they travel with the project.

They are in tests/goldens; test_goldens.py and its siblings in two_stage and center_net compare all
of them where the large ones are.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tests.models.detectors.small_golden import FAMILIES, SmallGolden

QUICKEST = "ssd_mobilenet_v2"


@pytest.fixture(scope="module", params=FAMILIES)
def golden(request, tmp_path_factory):
    return SmallGolden(request.param, tmp_path_factory.mktemp("checkpoint"))


def test_every_variable_is_mapped(golden):
    assert golden.report.is_whole
    assert set(golden.report.loaded) | set(golden.report.other) == golden.names


def test_inputs_and_predictions(golden):
    golden.compare("preprocessed", golden.inputs[0], tolerance=1e-5)
    assert golden.predicted
    for name in golden.predicted:
        tolerance = 1e-5 if name == "anchors" else 1e-3
        golden.compare(name, golden.prediction(name), tolerance=tolerance)


def test_detections(golden):
    found = golden.detector.detections(golden.predictions, golden.inputs[1])
    wanted = golden.numbers
    np.testing.assert_array_equal(found.count, wanted["num_detections"])
    np.testing.assert_allclose(found.scores, wanted["detection_scores"], atol=1e-4)
    for image in range(golden.num_images):
        rows = np.concatenate([found.boxes[image], found.classes[image][:, None]], axis=1)
        theirs = np.concatenate(
            [wanted["detection_boxes"][image], wanted["detection_classes"][image][:, None]], axis=1
        )
        scores = np.asarray(found.scores[image])
        for place, row in enumerate(theirs):  # neighbors of nearly equal score may change places
            tied = rows[np.abs(scores - scores[place]) < 1e-5]
            assert np.abs(tied - row).max(axis=1).min() < 1e-3
    for name in ("masks", "keypoints", "keypoint_scores"):
        if f"detection_{name}/values" in wanted:
            golden.compare(f"detection_{name}", getattr(found, name), tolerance=1e-3)


def test_losses_and_penalty(golden):
    if golden.has_regions:
        terms = golden.training_loss_terms()
    else:
        terms = golden.loss_terms(golden.predictions)
    assert terms.keys() == golden.losses["frozen"].keys()
    for name, value in golden.losses["frozen"].items():
        assert float(terms[name]) == pytest.approx(value, rel=1e-4), name
    penalty = float(golden.detector.regularization_loss())
    assert penalty == pytest.approx(golden.losses["regularization_loss"], rel=1e-4)


@pytest.mark.parametrize("golden", [QUICKEST], indirect=True)
def test_gradients(golden):
    with tf.GradientTape() as tape:
        terms = golden.training_loss_terms()
        total = sum(terms.values()) + golden.detector.regularization_loss()
    values = [variable.value for variable in golden.detector.trainable_variables]
    norm = float(tf.linalg.global_norm(tape.gradient(total, values)))
    assert norm == pytest.approx(golden.losses["gradient_norm"], rel=5e-3)


def test_batch_statistics(tmp_path):
    golden = SmallGolden(QUICKEST, tmp_path, freeze_batch_norm=False)
    terms = golden.training_loss_terms()
    for name, value in golden.losses["batch_statistics"].items():
        assert float(terms[name]) == pytest.approx(value, rel=1e-4)
