from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from holdfast.models.layers.penalty import Penalty


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 4e-5), (1e-3, 0.0), (1e-3, 4e-5)])
def test_value_and_gradient_follow_the_formula(l1, l2):
    kernel = tf.Variable(np.random.default_rng(0).normal(size=(3, 3, 5, 7)).astype(np.float32))
    with tf.GradientTape() as tape:
        penalty = Penalty(l1=l1, l2=l2)(kernel)
    values = kernel.numpy().astype(np.float64)
    expected = l1 * np.abs(values).sum() + l2 * (values**2).sum() / 2
    np.testing.assert_allclose(penalty, expected, rtol=1e-6)
    gradient = l1 * np.sign(values) + l2 * values
    np.testing.assert_allclose(tape.gradient(penalty, kernel), gradient, rtol=1e-5, atol=1e-9)
