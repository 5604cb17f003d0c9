"""The loss of heatmaps: the paper's formula, and its gradient."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from holdfast.losses.heatmap import penalty_reduced_focal


def data(seed: int = 0):
    random = np.random.default_rng(seed)
    logits = random.normal(0, 4, (2, 5, 3)).astype(np.float32)
    targets = random.random((2, 5, 3)).astype(np.float32)
    targets[random.random(targets.shape) < 0.3] = 1.0
    return logits, targets, random.random((2, 5)).astype(np.float32)


def oracle(logits, targets, weights, alpha, beta):
    p = np.clip(1 / (1 + np.exp(-logits.astype(np.float64))), 1e-4, 1 - 1e-4)
    positive = (1 - p) ** alpha * np.log(p)
    negative = (1 - targets.astype(np.float64)) ** beta * p**alpha * np.log(1 - p)
    return -(np.where(targets == 1, positive, negative) * weights).sum(-1)


@pytest.mark.parametrize(("alpha", "beta"), [(2.0, 4.0), (1.5, 0.0)])
def test_it_is_the_formula_of_the_paper(alpha, beta):
    logits, targets, weights = data()
    found = penalty_reduced_focal(logits, targets, weights, alpha=alpha, beta=beta)
    expected = oracle(logits, targets, weights[..., None], alpha, beta)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_channels_can_be_weighed_apart():
    logits, targets, _ = data()
    weights = np.random.default_rng(1).integers(0, 2, logits.shape).astype(np.float32)
    found = penalty_reduced_focal(logits, targets, weights)
    np.testing.assert_allclose(found, oracle(logits, targets, weights, 2.0, 4.0), rtol=1e-4)


def test_its_gradient_is_that_of_the_formula():
    logits, targets, weights = data()
    x = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(penalty_reduced_focal(x, targets, weights) * [1.0, 2, 3, 4, 5])
    found = tape.gradient(total, x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        p = tf.clip_by_value(tf.sigmoid(x), 1e-4, 1 - 1e-4)
        entries = -tf.where(
            targets == 1.0,
            (1 - p) ** 2 * tf.math.log(p),
            (1 - targets) ** 4 * p**2 * tf.math.log(1 - p),
        )
        total = tf.reduce_sum(tf.reduce_sum(entries, -1) * weights * [1.0, 2, 3, 4, 5])
    np.testing.assert_allclose(found, tape.gradient(total, x), rtol=1e-3, atol=1e-5)


def test_logits_beyond_all_bounds_give_finite_numbers():
    x = tf.constant([[[200.0, -200.0]]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = penalty_reduced_focal(x, tf.constant([[[0.0, 1.0]]]), tf.ones((1, 1)))
    assert np.isfinite(loss.numpy()).all()
    assert np.isfinite(tape.gradient(loss, x).numpy()).all()
