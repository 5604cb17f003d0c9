"""The heatmap loss equals the OD API's."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from holdfast.losses.heatmap import penalty_reduced_focal


def test_the_loss_equals_the_od_api(shared):
    golden = np.load(shared / "goldens/_units/losses.npz")
    loss = penalty_reduced_focal(
        golden["logits"], golden["class_targets"], golden["class_weights"][..., None]
    )
    np.testing.assert_allclose(loss, golden["cls/penalty_reduced_focal"], rtol=1e-5, atol=1e-6)


def test_a_place_near_an_object_costs_less_than_one_far_away():
    logits = np.zeros((1, 3, 1), np.float32)
    targets = np.array([[[1.0], [0.9], [0.0]]], np.float32)
    loss = np.array(penalty_reduced_focal(logits, targets, np.ones((1, 3, 1), np.float32)))
    expected = np.log(2) * np.array([0.5**2, 0.1**4 * 0.5**2, 0.5**2])
    np.testing.assert_allclose(loss[0, :, 0], expected, rtol=1e-4)


def test_gradients_are_finite_on_the_largest_logits():
    logits = tf.constant([[[1e4], [-1e4], [0.0]]])
    for targets in (tf.ones((1, 3, 1)), tf.zeros((1, 3, 1))):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            total = tf.reduce_sum(penalty_reduced_focal(logits, targets, tf.ones((1, 3, 1))))
        assert np.isfinite(total)
        assert np.isfinite(tape.gradient(total, logits)).all()
