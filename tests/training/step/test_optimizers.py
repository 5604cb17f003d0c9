"""Optimizers move weights as the OD API's do."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
import pytest
import tensorflow as tf

from holdfast.training.step.optimizers import Adam, Momentum, RMSProp, Rule, StepOptimizer

from .. import numpy_optimizers as oracle

SHAPES = ((3, 2), (2,))
STARTS = [np.linspace(-1, 1, int(np.prod(shape))).reshape(shape) for shape in SHAPES]
GRADIENTS = [oracle.gradients(shape, seed) for seed, shape in enumerate(SHAPES)]


def variables() -> list[keras.Variable]:
    return [
        keras.Variable(start.astype(np.float32), name=name)
        for name, start in zip(("kernel", "bias"), STARTS, strict=True)
    ]


def train(optimizer: StepOptimizer, first: int = 0, last: int = oracle.STEPS) -> None:
    apply = tf.function(optimizer.apply)
    for step in range(first, last):
        gradients = [tf.constant(each[step], tf.float32) for each in GRADIENTS]
        apply(gradients, tf.constant(oracle.RATES[step], tf.float32))


def values(trained: Sequence[keras.Variable]) -> list[np.ndarray]:
    return [variable.value.numpy() for variable in trained]


RULES: dict[str, Rule] = {
    "momentum": Momentum(momentum=0.8),
    "rms_prop": RMSProp(decay=0.7, momentum=0.6, epsilon=0.01),
    "rms_prop without momentum": RMSProp(decay=0.9, momentum=0.0, epsilon=1.0),
    "adam": Adam(epsilon=1e-3),
    "adamw": Adam(epsilon=1e-8, weight_decay=0.1),
}


def expected(name: str) -> list[np.ndarray]:
    pairs = list(zip(STARTS, GRADIENTS, strict=True))
    match name:
        case "momentum":
            return [oracle.momentum(*pair, momentum=0.8) for pair in pairs]
        case "rms_prop":
            settings = {"decay": 0.7, "momentum": 0.6, "epsilon": 0.01}
            return [oracle.rms_prop(*pair, **settings) for pair in pairs]
        case "rms_prop without momentum":
            settings = {"decay": 0.9, "momentum": 0.0, "epsilon": 1.0}
            return [oracle.rms_prop(*pair, **settings) for pair in pairs]
        case "adam":
            return [oracle.adam(*pair, epsilon=1e-3) for pair in pairs]
        case _:
            kernel, bias = pairs
            return [oracle.adam(*kernel, 1e-8, weight_decay=0.1), oracle.adam(*bias, 1e-8)]


@pytest.mark.parametrize("name", RULES)
def test_twenty_steps_at_changing_rates_equal_numpy(name):
    trained = variables()
    train(StepOptimizer(trained, RULES[name]))
    for ours, theirs in zip(values(trained), expected(name), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("rule", "theirs"),
    [
        (Momentum(momentum=0.9), keras.optimizers.SGD(momentum=0.9)),
        (Adam(epsilon=1e-8), keras.optimizers.Adam(epsilon=1e-8)),
    ],
)
def test_momentum_and_adam_equal_those_of_keras(rule, theirs):
    trained, by_keras = variables(), variables()
    train(StepOptimizer(trained, rule))
    theirs.build(by_keras)
    for step in range(oracle.STEPS):
        theirs.learning_rate = oracle.RATES[step]
        theirs.apply([tf.constant(each[step], tf.float32) for each in GRADIENTS])
    for ours, other in zip(values(trained), values(by_keras), strict=True):
        # 1 - 0.999 in float32, with which Adam begins, has four digits.
        np.testing.assert_allclose(ours, other, rtol=1e-5, atol=3e-5)


@pytest.mark.parametrize("name", RULES)
def test_an_optimizer_goes_on_from_its_variables_as_if_it_had_not_stopped(name):
    whole, first, second = variables(), variables(), variables()
    train(StepOptimizer(whole, RULES[name]))
    stopped = StepOptimizer(first, RULES[name])
    train(stopped, last=7)
    resumed = StepOptimizer(second, RULES[name])
    for ours, saved in zip(second, first, strict=True):
        ours.assign(saved)
    assert resumed.variables.keys() == stopped.variables.keys()
    for key, saved in stopped.variables.items():
        resumed.variables[key].assign(saved.numpy())
    train(resumed, first=7)
    for ours, theirs in zip(values(second), values(whole), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_variables_are_named_by_the_paths_of_the_model():
    network = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(2, name="dense")], name="detector"
    )
    optimizer = StepOptimizer(network.trainable_variables, RMSProp())
    assert list(optimizer.variables) == [
        "updates",
        "mean_square/detector/dense/kernel",
        "mean_square/detector/dense/bias",
        "velocity/detector/dense/kernel",
        "velocity/detector/dense/bias",
    ]


def test_a_variable_without_a_gradient_stays_with_all_that_is_remembered_of_it():
    trained = variables()
    optimizer = StepOptimizer(trained, Momentum())
    train(optimizer, last=3)
    kernel, bias = values(trained)
    velocity = optimizer.variables["velocity/bias"].numpy()
    optimizer.apply([tf.ones(SHAPES[0]), None], 0.1)
    assert np.abs(values(trained)[0] - kernel).min() > 0
    np.testing.assert_array_equal(values(trained)[1], bias)
    np.testing.assert_array_equal(optimizer.variables["velocity/bias"].numpy(), velocity)
    assert int(optimizer.updates) == 4
