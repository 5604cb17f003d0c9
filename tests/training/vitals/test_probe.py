"""A look at a network of each family: what it sees is there, and nothing is changed by it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tests.training.step_matrix import batch, config_of, same_weights

from holdfast.geometry.targets import BACKGROUND
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.detectors.learning_signs import LearningSigns, places_of_boxes
from holdfast.models.layers.batch_norm import collected_statistics
from holdfast.training.session import rematerialize
from holdfast.training.step.batch_loss import BatchLoss
from holdfast.training.step.gradients import GradientRules
from holdfast.training.step.optimizers import Momentum, StepOptimizer
from holdfast.training.step.training_step import TrainingStep
from holdfast.training.vitals.probe import Probe, sign_sums


def built(network: str) -> TrainingStep:
    detector = build_detector(config_of(network))
    same_weights(detector.weights)
    rematerialize(detector, ("all",))
    variables = detector.trainable_variables
    return TrainingStep(
        BatchLoss(detector, seed=5),
        StepOptimizer(variables, Momentum()),
        lambda number: tf.constant(0.01),
        variables=variables,
        rules=GradientRules(),
        accumulation=2,
    )


@pytest.mark.parametrize(
    "network", ["ssd", "faster_rcnn", pytest.param("center_net", marks=pytest.mark.slow)]
)
def test_a_look_sees_every_part_and_changes_nothing(network):
    step = built(network)
    images = tf.nest.map_structure(
        lambda each: None if each is None else tf.constant(each), batch()
    )
    before = [np.asarray(each.value) for each in step.detector.variables]
    look = Probe(step).look(images)
    for variable, value in zip(step.detector.variables, before, strict=True):
        np.testing.assert_array_equal(np.asarray(variable.value), value)
    parts = set(step.detector.parts())
    assert {name.split("/")[0] for name in look.activations} <= parts
    assert "backbone" in {name.split("/")[0] for name in look.norms}
    assert look.weight_norms.keys() == set(step.groups)
    signs = look.signs
    assert signs.images == 4
    assert np.sum(signs.boxes) == np.sum(images.truth.weights > 0)
    assert np.sum(signs.scores) == signs.places
    assert 0 < np.sum(signs.positive_scores) == signs.positives
    assert (signs.proposal_share is None) == (network != "faster_rcnn")

    # What places add up to are the terms of the loss.
    piece = tf.nest.map_structure(lambda each: None if each is None else each[:2], images)
    with collected_statistics():
        prepared, predictions = step.loss.predict(piece)
    normalizers = step.detector.normalizers(prepared)
    terms = step.detector.terms(predictions, prepared, normalizers)
    places = step.detector.place_losses(predictions, prepared, normalizers)
    assert places
    for name, place in places.items():
        np.testing.assert_allclose(tf.reduce_sum(place.losses), terms[name], rtol=1e-4)
        assert place.boxes.shape[-2] == place.losses.shape[1]


def test_signs_are_counted_by_class_and_score():
    signs = LearningSigns(
        scores=tf.constant([[[0.95, 0.0], [0.35, 0.25], [0.0, 0.0005], [0.99, 0.0]]]),
        classes=tf.constant([[0, 1, BACKGROUND, 0]]),
        counts=tf.constant([[True, True, True, False]]),  # the last place is ignored
        box_index=tf.constant([[1, 0, 0, 2]]),
    )
    truth = batch().truth
    truth = truth._replace(classes=tf.constant([[1, 0, 0]]), weights=tf.constant([[1.0, 1.0, 1.0]]))
    np.testing.assert_array_equal(places_of_boxes(signs, 3), [[1, 1, 0]])
    sums = sign_sums(signs, truth, num_classes=2)
    assert (sums.places, sums.positives, sums.agreeing) == (3, 2, 1)
    np.testing.assert_array_equal(sums.boxes, [2, 1])
    np.testing.assert_array_equal(sums.matched, [1, 1])
    np.testing.assert_array_equal(sums.scores, [1, 0, 0, 0, 0, 0, 1, 0, 0, 1][:10])
    np.testing.assert_array_equal(sums.positive_scores, [0, 0, 0, 0, 0, 1, 0, 0, 0, 1])
    assert float(sums.positive_total) == pytest.approx(0.95 + 0.25)
