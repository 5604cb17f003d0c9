"""Lion and RMSProp with decoupled decay move weights by their papers' formulas, as Keras' do."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from holdfast.training.step.decoupled_optimizers import DecoupledRMSProp, Lion
from holdfast.training.step.optimizers import Rule, StepOptimizer

from .. import numpy_optimizers as oracle

START = np.linspace(-1, 1, 6).reshape(3, 2)
GRADIENTS = oracle.gradients((3, 2))


def trained(rule: Rule, start: np.ndarray = START, gradients: np.ndarray = GRADIENTS) -> np.ndarray:
    variable = keras.Variable(start.astype(np.float32), name="kernel")
    optimizer = StepOptimizer([variable], rule)
    apply = tf.function(optimizer.apply)
    for step in range(oracle.STEPS):
        rate = tf.constant(oracle.RATES[step], tf.float32)
        apply([tf.constant(gradients[step], tf.float32)], rate)
    return np.asarray(variable.value)


def test_lion_equals_the_formula_of_its_paper():
    variable, mean = START.copy(), np.zeros_like(START)
    for rate, gradient in zip(oracle.RATES, GRADIENTS, strict=True):
        variable -= rate * 0.1 * variable
        variable -= rate * np.sign(0.9 * mean + 0.1 * gradient)
        mean = 0.99 * mean + 0.01 * gradient
    np.testing.assert_allclose(trained(Lion(weight_decay=0.1)), variable, rtol=1e-5, atol=1e-6)


def test_lion_equals_keras():
    theirs = keras.optimizers.Lion()
    variable = keras.Variable(START.astype(np.float32), name="kernel")
    theirs.build([variable])
    for step in range(oracle.STEPS):
        theirs.learning_rate = oracle.RATES[step]
        theirs.apply([tf.constant(GRADIENTS[step], tf.float32)], [variable])
    np.testing.assert_allclose(trained(Lion()), np.asarray(variable.value), rtol=1e-5, atol=1e-6)


def test_rms_prop_decays_apart_from_the_gradient():
    settings = {"decay": 0.7, "momentum": 0.6, "epsilon": 0.01}
    variable, square, velocity = START.copy(), np.ones_like(START), np.zeros_like(START)
    for rate, gradient in zip(oracle.RATES, GRADIENTS, strict=True):
        variable -= rate * 0.1 * variable
        square = 0.7 * square + 0.3 * gradient**2
        velocity = 0.6 * velocity + rate * gradient / np.sqrt(square + 0.01)
        variable -= velocity
    ours = trained(DecoupledRMSProp(weight_decay=0.1, **settings))
    np.testing.assert_allclose(ours, variable, rtol=1e-4, atol=1e-5)


def test_biases_keep_their_size():
    start, gradients = np.ones(2), np.zeros((oracle.STEPS, 2))
    for rule in (Lion(weight_decay=0.1), DecoupledRMSProp(weight_decay=0.1)):
        np.testing.assert_array_equal(trained(rule, start, gradients), start)
