"""CenterNet gives the OD API's numbers: predictions, detections, losses, gradients."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tests.models.detectors.golden import Golden

KEYPOINTS = "centernet_resnet50_v2_512x512_kpts_coco17_tpu-8"
STRUCTURE_ONLY = "centernet_resnet101_v1_fpn_512x512_coco17_tpu-8"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def golden(shared):
    return Golden(shared / "goldens" / KEYPOINTS)


@pytest.fixture(scope="module")
def built(golden, tmp_path_factory):
    return golden.detector(tmp_path_factory.mktemp("checkpoint"), freeze_batch_norm=True)


@pytest.fixture(scope="module")
def inputs(golden, built):
    return built[0].preprocess(golden.inputs["image_uint8"])


@pytest.fixture(scope="module")
def predictions(built, inputs):
    return tf.function(built[0], autograph=False)(inputs[0], sizes=inputs[1])


def truth_of(golden, rows: int = 3):
    """Give the ground truth with its keypoints, padded with weight 0 to a number of rows."""
    stored = np.load(golden.folder / "groundtruth.npz")
    keypoints = np.full((golden.batch_size, rows, 17, 2), np.nan, np.float32)
    for image in range(golden.batch_size):
        labeled = stored[f"keypoints__{image}"]
        keypoints[image, : len(labeled)] = labeled
    return golden.truth(rows)._replace(keypoints=tf.constant(keypoints))


def losses(golden, detector, inputs, rows: int = 3):
    images, sizes = inputs
    predictions = detector(images, sizes=sizes, training=True)
    targets = detector.targets(truth_of(golden, rows), sizes, predictions)
    return detector.loss_terms(predictions, targets)


def test_every_variable_is_mapped(golden, built):
    _, report = built
    assert report.is_whole
    assert set(report.loaded) | set(report.other) == set(golden.names)


def test_preprocessing_pads_before_it_normalizes(golden, inputs):
    assert golden.error("input", "preprocessed", inputs[0]) < 1e-5
    np.testing.assert_array_equal(inputs[1], golden.inputs["true_image_shapes"])


def test_predictions(golden, predictions):
    (keypoints,) = predictions.keypoints
    maps = {
        "object_center": predictions.object_center,
        "box/scale": predictions.box_scale,
        "box/offset": predictions.box_offset,
        "human_pose/keypoint/heatmap": keypoints.heatmap,
        "human_pose/keypoint/offset": keypoints.offset,
        "human_pose/keypoint/regression": keypoints.regression,
        "extracted_features": predictions.extracted_features,
    }
    for name, (values,) in maps.items():
        assert golden.error("outputs", f"pred/{name}__0", values) < 1e-3, name


def test_detections_and_their_keypoints(golden, built, inputs, predictions):
    found = tf.function(built[0].detections, autograph=False)(predictions, inputs[1])
    wanted = golden.outputs
    np.testing.assert_array_equal(found.count, wanted["det/num_detections"])
    np.testing.assert_allclose(found.scores, wanted["det/detection_scores"], atol=1e-4)
    np.testing.assert_array_equal(found.classes, wanted["det/detection_classes"])
    np.testing.assert_allclose(found.boxes, wanted["det/detection_boxes"], atol=1e-3)
    np.testing.assert_allclose(found.keypoints, wanted["det/detection_keypoints"], atol=1e-3)
    np.testing.assert_allclose(
        found.keypoint_scores, wanted["det/detection_keypoint_scores"], atol=1e-4
    )


def test_losses_and_gradients(golden, built, inputs):
    detector, report = built

    @tf.function(autograph=False)
    def run():
        with tf.GradientTape() as tape:
            terms = losses(golden, detector, inputs)
            total = sum(terms.values()) + detector.regularization_loss()
        values = [variable.value for variable in detector.trainable_variables]
        return terms, tape.gradient(total, values)

    terms, gradients = run()
    wanted = golden.json("losses")["modes"]["bn_inference"]
    assert terms.keys() == wanted["losses"].keys()
    for name, value in wanted["losses"].items():
        assert float(terms[name]) == pytest.approx(value, rel=1e-4), name
    assert float(detector.regularization_loss()) == wanted["regularization_loss"]
    compare_gradients(golden, detector, report, gradients)


def compare_gradients(golden, detector, report, gradients) -> None:
    found = {
        id(variable): 0.0 if gradient is None else float(tf.norm(gradient))
        for variable, gradient in zip(detector.trainable_variables, gradients, strict=True)
    }
    stored = golden.json("gradients_bn_inference")
    rows = stored.get("gradients", stored).items()
    norms = {name: row[0] for name, row in rows if isinstance(row, list)}
    largest = max(norms.values())
    for name, norm in norms.items():
        difference = abs(found[id(report.variables[name])] - norm)
        assert difference < 1e-3 * max(norm, 1e-4 * largest), name


def test_padded_ground_truth_changes_no_loss(golden, built, inputs):
    plain, padded = (
        tf.function(lambda rows=rows: losses(golden, built[0], inputs, rows), autograph=False)()
        for rows in (3, 8)
    )
    for name, value in plain.items():
        assert float(padded[name]) == pytest.approx(float(value), rel=1e-5), name


def test_batch_statistics(golden, tmp_path):
    """One image's statistics carry rounding far: losses differ by 4e-4 or 3e-3, by the kernels."""
    detector, report = golden.detector(tmp_path)
    inputs = detector.preprocess(golden.inputs["image_uint8"])
    terms = tf.function(lambda: losses(golden, detector, inputs), autograph=False)()
    wanted = golden.json("losses")["modes"]["bn_training"]["losses"]
    for name, value in wanted.items():
        assert float(terms[name]) == pytest.approx(value, rel=5e-3), name
    for name, (norm, total) in golden.json("bn_after_one_step")["stats"].items():
        values = np.asarray(report.variables[name].value, np.float64)
        assert np.linalg.norm(values) == pytest.approx(norm, rel=1e-4), name
        assert values.sum() == pytest.approx(total, abs=2e-4 * np.abs(values).sum()), name


def test_the_other_one_builds_and_maps(shared, tmp_path):
    golden = Golden(shared / "goldens" / STRUCTURE_ONLY)
    _, report = golden.detector(tmp_path)
    assert report.is_whole
    assert set(report.loaded) | set(report.other) == set(golden.names)
