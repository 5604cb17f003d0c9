"""An exported teacher sees what the detector that it was made of sees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tests.models.detectors.small_configs import small_config

from holdfast.config.text.overrides import apply_overrides
from holdfast.data.sample import Batch, GroundTruth
from holdfast.export.client_input import ClientInput
from holdfast.export.saved_model_file import write_saved_model
from holdfast.models.detectors.build_detector import build_detector
from holdfast.training.teaching.teacher import DetectorTeacher, ExportedTeacher

SIDE, IMAGES = 64, 2
FEW = {
    "model.ssd.post_processing.batch_non_max_suppression.max_detections_per_class": 5,
    "model.ssd.post_processing.batch_non_max_suppression.max_total_detections": 10,
}


@pytest.mark.slow
def test_an_export_and_its_detector_find_the_same(tmp_path: Path):
    config, problems = apply_overrides(small_config("ssd", SIDE, SIDE), FEW)
    assert not problems
    detector = build_detector(config)
    random = np.random.default_rng(1)
    for weight in detector.weights:
        if "moving" not in weight.path:
            weight.assign(random.normal(0.2, 0.5, tuple(weight.shape)))
    write_saved_model(detector, tmp_path / "saved_model", ClientInput.IMAGE_TENSOR)
    exported = ExportedTeacher(
        tf.saved_model.load(str(tmp_path / "saved_model")), "serving_default"
    )
    batch = Batch(
        images=tf.constant(random.integers(0, 256, (IMAGES, SIDE, SIDE, 3)), tf.float32),
        sizes=tf.constant([[SIDE, SIDE, 3]] * IMAGES),
        truth=GroundTruth(None, None, None),
        source_ids=None,
        positions=None,
    )
    own = DetectorTeacher(detector, resize=None, largest=(SIDE, SIDE), is_padded=False)
    expected = tf.function(own.look)(batch).detections
    found = tf.function(exported.look)(batch).detections
    np.testing.assert_array_equal(found.count, expected.count)
    np.testing.assert_array_equal(found.classes, expected.classes)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-4)
    np.testing.assert_allclose(found.boxes, expected.boxes, atol=1e-4)
    assert len(exported.variables) > 10
