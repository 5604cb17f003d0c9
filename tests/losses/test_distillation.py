"""The divergence between a student's classes and a teacher's."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.losses.distillation import softened_divergence

SHAPE = (2, 5, 4)


def divergence_of_numpy(
    own: np.ndarray, wanted: np.ndarray, is_softmax: bool, temperature: float
) -> np.ndarray:
    """Sum p log(p / q) place by place, and over the two outcomes of each column for a sigmoid."""
    found = np.zeros(own.shape[:2])
    for place in np.ndindex(*own.shape[:2]):
        first, second = (np.float64(each[place]) / temperature for each in (wanted, own))
        if is_softmax:
            pairs = [(np.exp(first) / np.exp(first).sum(), np.exp(second) / np.exp(second).sum())]
        else:
            yes = [1.0 / (1.0 + np.exp(-each)) for each in (first, second)]
            pairs = [tuple(yes), (1.0 - yes[0], 1.0 - yes[1])]
        found[place] = sum(np.sum(p * np.log(p / q)) for p, q in pairs)
    return temperature**2 * found


@settings(max_examples=20, deadline=None)
@given(st.booleans(), st.sampled_from([1.0, 2.0, 4.0]), st.integers(0, 1000))
def test_it_is_the_divergence_of_numpy(is_softmax, temperature, seed):
    random = np.random.default_rng(seed)
    own, wanted = random.normal(0, 3, (2, *SHAPE)).astype(np.float32)
    found = softened_divergence(own, wanted, is_softmax=is_softmax, temperature=temperature)
    expected = divergence_of_numpy(own, wanted, is_softmax, temperature)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert np.all(np.asarray(found) > -1e-5)


@pytest.mark.parametrize("is_softmax", [True, False])
def test_who_says_the_same_has_nothing_to_learn(is_softmax):
    logits = tf.constant(np.random.default_rng(0).normal(0, 3, SHAPE).astype(np.float32))
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.reduce_sum(softened_divergence(logits, logits + 0.0, is_softmax=is_softmax))
    assert float(loss) == pytest.approx(0.0, abs=1e-5)
    own = tf.Variable(logits)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(softened_divergence(own, logits, is_softmax=is_softmax))
    np.testing.assert_allclose(tape.gradient(loss, own), 0.0, atol=1e-5)


@pytest.mark.parametrize("is_softmax", [True, False])
def test_logits_of_any_size_have_a_finite_gradient(is_softmax):
    own = tf.Variable([[[90.0, -90.0], [-90.0, 90.0], [0.0, 0.0]]])
    with tf.GradientTape() as tape:
        wanted = tf.constant([[[-90.0, 90.0], [-90.0, 90.0], [90.0, -90.0]]])
        loss = tf.reduce_sum(softened_divergence(own, wanted, is_softmax=is_softmax))
    assert np.isfinite(float(loss))
    assert np.all(np.isfinite(tape.gradient(loss, own)))
