"""Classification losses equal the OD API's and NumPy's, with gradients that stay finite."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holdfast.losses.classification import (
    bootstrapped_sigmoid,
    sigmoid,
    sigmoid_focal,
    softmax,
    softmax_against_logits,
)

GOLDEN = {
    "weighted_sigmoid": sigmoid,
    "focal_default": sigmoid_focal,
    "focal_a25_g2": partial(sigmoid_focal, alpha=0.25, gamma=2.0),
    "focal_a75_g2": partial(sigmoid_focal, alpha=0.75, gamma=2.0),
    "bootstrapped_soft": partial(bootstrapped_sigmoid, alpha=0.5),
    "bootstrapped_hard": partial(bootstrapped_sigmoid, alpha=0.5, hard_bootstrap=True),
    "softmax": softmax,
    "softmax_scale2": partial(softmax, logit_scale=2.0),
    "logits_softmax": softmax_against_logits,
}
FOCAL = [
    sigmoid,
    sigmoid_focal,
    partial(sigmoid_focal, gamma=1.5, alpha=0.25),
    partial(sigmoid_focal, gamma=0.5),
    partial(sigmoid_focal, gamma=0.0, alpha=0.75),
]
OF_COLUMNS = [*FOCAL, softmax, partial(bootstrapped_sigmoid, alpha=0.75)]


def value_and_gradient(loss: Any, logits: Any, targets: Any, weights: Any) -> tuple[Any, Any]:
    logits = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        values = loss(logits, tf.constant(targets), tf.constant(weights))
        total = tf.reduce_sum(values)
    return np.array(values), np.array(tape.gradient(total, logits))


@pytest.mark.parametrize("name", GOLDEN)
def test_losses_equal_the_od_api(shared, name):
    golden = np.load(shared / "goldens/_units/losses.npz")
    logits, targets = golden["logits"], golden["class_targets"]
    loss, expected = GOLDEN[name], golden[f"cls/{name}"]
    values = loss(logits, targets, golden["class_weights"])
    if expected.ndim == 2:
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)
        return
    np.testing.assert_allclose(values, expected.sum(axis=-1), rtol=1e-5, atol=1e-6)
    # Entry by entry: one column at a time.
    for column in range(logits.shape[-1]):
        one = np.s_[..., column : column + 1]
        values = loss(logits[one], targets[one], golden["class_weights"])
        np.testing.assert_allclose(values, expected[..., column], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", OF_COLUMNS)
@settings(max_examples=20)
@given(
    hnp.arrays(np.float32, (2, 3, 4), elements=st.integers(-60, 60).map(lambda n: n / 4)),
    hnp.arrays(np.int32, (2, 3), elements=st.integers(-1, 3)),
    hnp.arrays(np.float32, (2, 3), elements=st.sampled_from([0.0, 0.5, 1.0])),
)
def test_columns_cost_and_teach_what_their_one_hot_form_does(loss, logits, columns, weights):
    one_hot = (columns[..., None] == np.arange(4)).astype(np.float32)
    values, gradient = value_and_gradient(loss, logits, columns, weights)
    expected, expected_gradient = value_and_gradient(loss, logits, one_hot, weights)
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-4, atol=1e-5)
    assert (values >= 0).all()


@pytest.mark.parametrize("loss", OF_COLUMNS)
def test_weights_of_each_column_apart_sum_up_to_the_weights_of_the_anchor(loss):
    random = np.random.default_rng(0)
    logits = random.normal(size=(2, 3, 4)).astype(np.float32)
    columns = np.array([[0, 3, -1], [1, 2, 2]], np.int32)
    weights = random.random((2, 3)).astype(np.float32)
    per_column = np.repeat(weights[..., None], 4, axis=-1)
    np.testing.assert_allclose(
        loss(logits, columns, per_column), loss(logits, columns, weights), rtol=1e-5
    )


def test_a_column_of_weight_zero_costs_nothing():
    logits, columns = np.full((1, 1, 2), 3.0, np.float32), np.array([[0]], np.int32)
    only_second = np.array([[[0.0, 1.0]]], np.float32)
    expected = np.log1p(np.exp(3.0))
    np.testing.assert_allclose(sigmoid(logits, columns, only_second), [[expected]], rtol=1e-5)


@pytest.mark.parametrize("loss", [*FOCAL, softmax])
def test_loss_and_gradient_are_finite_on_the_largest_logits(loss):
    logits = np.array([[[1e4, -1e4, 100.0], [-1e4, -100.0, 0.0]]], np.float32)
    for columns in ([[0, 0]], [[1, 1]], [[2, -1]]):
        values, gradient = value_and_gradient(
            loss, logits, np.array(columns, np.int32), np.ones((1, 2), np.float32)
        )
        assert np.isfinite(values).all()
        assert np.isfinite(gradient).all()


def test_focal_loss_is_the_formula_of_the_paper():
    p, gamma, alpha = 0.8, 2.0, 0.25
    logits = np.full((1, 1, 2), np.log(p / (1 - p)), np.float32)  # the first column is true
    value = sigmoid_focal(
        logits, np.array([[0]]), np.ones((1, 1), np.float32), gamma=gamma, alpha=alpha
    )
    true = -alpha * (1 - p) ** gamma * np.log(p)
    other = -(1 - alpha) * p**gamma * np.log(1 - p)
    np.testing.assert_allclose(value, [[true + other]], rtol=1e-5)


def test_an_anchor_without_a_column_has_no_softmax_loss():
    logits = np.array([[[1.0, 2.0]]], np.float32)
    assert float(softmax(logits, np.array([[-1]]), np.ones((1, 1), np.float32))[0, 0]) == 0.0


def test_the_focal_loss_of_columns_keeps_only_its_inputs_for_the_gradient():
    shape = (2, 50, 7)

    def step(logits: Any, columns: Any, weights: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(logits)
            total = tf.reduce_sum(sigmoid_focal(logits, columns, weights, alpha=0.25))
            forward.extend(tf.compat.v1.get_default_graph().get_operations())
        return tape.gradient(total, logits)

    forward: list[Any] = []
    traced = tf.function(step, autograph=False).get_concrete_function(
        tf.TensorSpec(shape), tf.TensorSpec(shape[:2], tf.int32), tf.TensorSpec(shape[:2])
    )
    made = {operation.name for operation in forward if operation.type != "Placeholder"}
    kept = {
        tensor.name
        for operation in traced.graph.get_operations()
        if operation.name not in made
        for tensor in operation.inputs
        if tensor.op.name in made and tensor.shape == shape
    }
    assert not kept
