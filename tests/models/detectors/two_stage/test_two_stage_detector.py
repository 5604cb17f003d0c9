"""The detector: what it needs to train, what truth it asks for, chance, padding, masks, sizes."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tests.models.detectors.small_configs import small_stages

from holdfast.data.input.evaluation_input import EvaluationBatch, LabeledTruth
from holdfast.data.sample import GroundTruth
from holdfast.errors import HoldfastError
from holdfast.evaluation.evaluation_step import EvaluationStep
from holdfast.geometry.chance import image_seeds
from holdfast.geometry.mask_bits import pack_masks
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.layers.randomness import looking_at

pytestmark = pytest.mark.usefixtures("tiny")
SIDE = 64
SIZES = tf.constant([[SIDE, SIDE, 3], [SIDE, 48, 3]])


def truth(form: str = "") -> GroundTruth:
    boxes = [[[0.2, 0.2, 0.8, 0.8], [0.0] * 4], [[0.0, 0.0, 0.5, 0.5], [0.3, 0.0, 0.9, 0.7]]]
    known = GroundTruth(
        boxes=tf.constant(boxes),
        classes=tf.constant([[1, 0], [2, 0]]),
        weights=tf.constant([[1.0, 0.0], [1.0, 1.0]]),
    )
    masks = np.random.default_rng(0).integers(0, 2, (2, 2, SIDE, SIDE)).astype(np.uint8)
    given = {"masks": {"masks": tf.constant(masks)}, "bits": {"mask_bits": pack_masks(masks)}}
    return known._replace(**given.get(form, {}))


def inputs() -> tf.Tensor:
    return tf.random.stateless_uniform((2, SIDE, SIDE, 3), (3, 4), -1.0, 1.0)


def every(candidates, positives, size):
    """Draw the first candidates: no chance."""
    place = tf.cumsum(tf.cast(candidates, tf.int32), axis=-1)
    return candidates & (place <= size)


def built(name: str, **changes):
    config = small_stages(name, SIDE, SIDE)
    stages = config.model.faster_rcnn.replace(**changes)
    model = config.model.replace(faster_rcnn=stages)
    return build_detector(config.replace(model=model), freeze_batch_norm=True, sampler=every)


def terms_of(detector, given: GroundTruth, training: bool = True) -> dict[str, float]:
    with looking_at(image_seeds(0, [0, 1])):
        predictions = detector(inputs(), sizes=SIZES, truth=given, training=training)
    found = detector.loss_terms(predictions, detector.targets(given, SIZES, predictions))
    return {name: float(value) for name, value in found.items()}


def test_training_without_truth_is_refused():
    detector = built("faster_rcnn")
    with pytest.raises(HoldfastError, match="ground truth"):
        detector(inputs(), sizes=SIZES, training=True)


def test_masks_are_asked_for_where_they_are_learned_and_training_without_is_refused():
    assert built("faster_rcnn").truth_fields == frozenset()
    detector = built("mask_rcnn")
    assert detector.truth_fields == {"masks"}
    with pytest.raises(HoldfastError, match="masks"):
        detector(inputs(), sizes=SIZES, truth=truth(), training=True)


def test_masks_as_bits_and_as_bytes_cost_the_same():
    detector = built("mask_rcnn")
    proposed = detector(inputs(), sizes=SIZES).proposal_boxes_normalized[:, :2]
    one, other = (truth(form)._replace(boxes=proposed) for form in ("bits", "masks"))
    terms = terms_of(detector, one)
    assert terms == pytest.approx(terms_of(detector, other))
    assert terms["Loss/BoxClassifierLoss/mask_loss"] > 0.0


def test_an_evaluation_looks_at_all_proposals_and_without_masks_leaves_their_loss_out():
    detector = built("mask_rcnn")
    known = terms_of(detector, truth("bits"), training=False)
    assert len(known) == 5
    unknown = terms_of(detector, truth(), training=False)
    assert unknown.keys() == known.keys() - {"Loss/BoxClassifierLoss/mask_loss"}
    predictions = detector(inputs(), sizes=SIZES, truth=truth("bits"))
    assert predictions.proposal_boxes.shape == (2, 12, 4)
    assert predictions.mask_predictions.shape == (12, 3, 7, 7)  # 6 detections of each image


def test_masks_of_detections_lie_between_zero_and_one_and_boxes_in_the_true_image():
    detector = built("mask_rcnn")
    found = detector.detections(detector(inputs(), sizes=SIZES), SIZES)
    assert found.masks.shape == (2, 6, 7, 7)
    assert float(tf.reduce_min(found.masks)) > 0.0
    assert float(tf.reduce_max(found.masks)) < 1.0
    assert float(tf.reduce_max(found.boxes)) <= 1.0


def test_one_stage_gives_proposals():
    detector = built("faster_rcnn", number_of_stages=1)
    predictions = detector(inputs(), sizes=SIZES, truth=truth(), training=True)
    assert predictions.refined_box_encodings is None
    assert terms_of(detector, truth()).keys() == {
        "Loss/RPNLoss/localization_loss",
        "Loss/RPNLoss/objectness_loss",
    }
    found = detector.detections(predictions, SIZES)
    assert found.boxes.shape == (2, 12, 4)
    assert set(detector.parts()) == {"backbone", "proposal_head"}


def test_inputs_of_unknown_size_train_alike():
    detector = built("mask_rcnn", clip_anchors_to_image=False)
    unknown = [tf.TensorSpec((2, None, None, 3)), tf.TensorSpec((2, 2, None, None), tf.uint8)]

    @tf.function(input_signature=unknown, autograph=False)
    def run(images, bits):
        given = truth()._replace(mask_bits=bits)
        with looking_at(image_seeds(0, [0, 1])):
            predictions = detector(images, sizes=SIZES, truth=given, training=True)
        shape = tf.shape(images)[1], tf.shape(images)[2]
        prepared = detector.prepare(given, SIZES, shape)
        return detector.terms(predictions, prepared, detector.normalizers(prepared))

    expected = terms_of(detector, truth("bits"))
    found = {name: float(value) for name, value in run(inputs(), truth("bits").mask_bits).items()}
    assert found == pytest.approx(expected, rel=1e-5)


def test_half_precision_trains():
    config = small_stages("mask_rcnn", SIDE, SIDE)
    detector = build_detector(config, precision="mixed_bfloat16", sampler=every)
    assert all(np.isfinite(value) for value in terms_of(detector, truth("bits")).values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"number_of_stages": 4}, "number_of_stages"),
        ({"number_of_stages": 3}, "masks"),
        ({"second_stage_batch_size": 13}, "second_stage_batch_size"),
    ],
)
def test_what_cannot_be_built_is_refused(changes, message):
    with pytest.raises(HoldfastError, match=message):
        built("faster_rcnn", **changes)


def test_images_that_only_fill_a_batch_of_an_evaluation_cost_nothing():
    detector, given = built("mask_rcnn"), truth("bits")
    empty = tf.zeros((2, 2))
    labeled = LabeledTruth(
        boxes=given.boxes,
        classes=given.classes,
        weights=given.weights,
        confidences=empty,
        is_crowd=empty > 0,
        group_of=empty > 0,
        difficult=empty > 0,
        areas=empty,
        counts=tf.constant([1, 2]),
        mask_bits=given.mask_bits,
    )
    images = tf.random.stateless_uniform((2, SIDE, SIDE, 3), (5, 6), maxval=255.0)
    batch = EvaluationBatch(
        images=images,
        sizes=tf.constant([[SIDE, SIDE, 3]] * 2),
        original_sizes=tf.constant([[SIDE, SIDE]] * 2),
        truth=labeled,
        source_ids=tf.constant(["a", "b"]),
        is_real=tf.constant([True, False]),
    )
    step = EvaluationStep(detector, with_loss=True)
    first = tf.nest.map_structure(lambda each: None if each is None else each[:1], batch)
    expected = {name: float(value) for name, value in step(first).losses.items()}
    found = {name: float(value) for name, value in step(batch).losses.items()}
    assert found == pytest.approx(expected, rel=1e-4)
    assert len(found) == 7


def test_one_trace_of_a_training_serves_images_of_any_shape():
    detector = built("mask_rcnn")
    open_shape = tf.TensorSpec((2, None, None, 3), tf.float32)

    @tf.function(input_signature=[open_shape, tf.TensorSpec((2, 2, None, None), tf.uint8)])
    def traced(images, bits):
        given = truth()._replace(mask_bits=bits)
        shape = (tf.shape(images)[1], tf.shape(images)[2])
        with looking_at(image_seeds(0, [0, 1])):
            prepared = detector.prepare(given, SIZES, shape, image_seeds(0, [0, 1]))
            predictions = detector(
                images, sizes=SIZES, truth=given, prepared=prepared, training=True
            )
        return detector.terms(predictions, prepared, detector.normalizers(prepared))

    found = traced(inputs(), truth("bits").mask_bits)
    expected = terms_of(detector, truth("bits"))
    assert {name: float(value) for name, value in found.items()} == pytest.approx(
        expected, rel=1e-4
    )
