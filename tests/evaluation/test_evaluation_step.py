"""The step: detections, losses, and how often it is traced."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from holdfast.data.input.evaluation_input import EvaluationBatch, LabeledTruth
from holdfast.data.sample import GroundTruth
from holdfast.evaluation.build_evaluation import build_evaluation_input
from holdfast.evaluation.evaluate import evaluate_step
from holdfast.evaluation.evaluation_step import EvaluationStep
from holdfast.evaluation.metrics.metrics_set import MetricsSet
from holdfast.models.inference.detections import Detections


@pytest.fixture(scope="module")
def batches(made) -> list[EvaluationBatch]:
    data = build_evaluation_input(made.config, made.records, made.statistics)
    return list(data.batches())


@pytest.fixture(scope="module")
def step(detector) -> EvaluationStep:
    return EvaluationStep(detector, with_loss=True)


@pytest.mark.parametrize(("number", "real"), [(0, 4), (2, 2)])
def test_the_losses_are_the_detectors_and_images_that_fill_a_batch_have_none(
    batches, step, detector, number, real
):
    batch = batches[number]
    assert batch.is_real.numpy().tolist() == [True] * real + [False] * (4 - real)
    images, sizes, truth = batch.images[:real], batch.sizes[:real], batch.truth
    predictions = detector(detector.normalize(images, sizes))
    truth = GroundTruth(truth.boxes[:real], truth.classes[:real], truth.weights[:real])
    targets = detector.targets(truth, sizes, predictions)
    expected = {name: float(v) for name, v in detector.loss_terms(predictions, targets).items()}
    expected["Loss/regularization_loss"] = float(detector.regularization_loss())
    expected["Loss/total_loss"] = sum(expected.values())
    losses = {name: float(value) for name, value in step(batch).losses.items()}
    assert losses == pytest.approx(expected, rel=1e-4)
    assert min(expected.values()) > 0.0


class Tiny:
    """A detector without a network, which counts how often it is traced."""

    def __init__(self) -> None:
        self.traces = Counter()

    def normalize(self, images, sizes):
        return tf.cast(images, tf.float32)

    def __call__(self, inputs, *, sizes, training):
        assert not training
        self.traces[tuple(inputs.shape)] += 1
        return tf.reduce_mean(inputs, axis=[1, 2, 3])

    def detections(self, predictions, sizes):
        scores = predictions[:, None] / 255.0
        boxes = tf.ones_like(scores)[..., None] * [0.0, 0.0, 1.0, 1.0]
        count = tf.ones_like(predictions, tf.int32)
        return Detections(boxes, scores, tf.zeros_like(count)[:, None], count)


def gray(height: int, width: int) -> EvaluationBatch:
    fields = dict.fromkeys(LabeledTruth._fields, tf.zeros((1, 1)))
    return EvaluationBatch(
        images=tf.fill((1, height, width, 3), 51.0),
        sizes=tf.constant([[height, width, 3]]),
        original_sizes=tf.constant([[height, width]]),
        truth=LabeledTruth(**fields),
        source_ids=tf.constant(["gray"]),
        is_real=tf.constant([True]),
    )


def test_one_shape_is_traced_once_over_many_evaluations(made):
    tiny = Tiny()
    data = build_evaluation_input(made.config, made.records, made.statistics)
    step = EvaluationStep(tiny)
    for _ in range(3):
        evaluate_step(step, data, MetricsSet(classes={1: "one"}))
    assert tiny.traces == {(4, 96, 96, 3): 1}


def test_many_shapes_are_traced_a_few_times():
    tiny = Tiny()
    step = EvaluationStep(tiny)
    for side in range(8, 20):
        assert float(step(gray(side, 2 * side)).detections.scores[0, 0]) == pytest.approx(0.2)
    assert sum(tiny.traces.values()) <= 3


def test_a_shape_that_comes_again_is_not_traced_again():
    tiny = Tiny()
    step = EvaluationStep(tiny)
    for width in (8, 9, 8, 9, 8):
        step(gray(8, width))
    assert set(tiny.traces.values()) == {1}


def test_without_being_asked_there_is_no_loss():
    assert EvaluationStep(Tiny())(gray(8, 8)).losses == {}


def test_detections_are_those_of_the_detector(batches, step, detector):
    batch = batches[0]
    expected = detector.detections(
        detector(detector.normalize(batch.images, batch.sizes)), batch.sizes
    )
    found = step(batch).detections
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)
    np.testing.assert_array_equal(found.count, expected.count)
