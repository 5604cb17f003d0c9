"""Moving averages follow the weights as the OD API's do, and stand in for them."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from holdfast.errors import HoldfastError
from holdfast.training.step.averaging import MovingAverages

from .. import numpy_optimizers as oracle

START = np.array([1.0, -2.0, 3.0], np.float32)
WEIGHTS = oracle.gradients((3,))  # as good as any path of weights


def kernel() -> keras.Variable:
    return keras.Variable(START, name="kernel")


@pytest.mark.parametrize("decay", [0.9999, 0.3])
def test_averages_equal_numpy_with_the_slow_start_of_the_od_api(decay):
    weight = kernel()
    averages = MovingAverages([weight], decay)
    update = tf.function(lambda updates: averages.follow([], updates))
    for count, value in enumerate(WEIGHTS, start=1):
        weight.assign(value)
        update(tf.constant(count, tf.int64))
    np.testing.assert_allclose(
        averages.variables["kernel"].numpy(),
        oracle.averages(WEIGHTS, START.astype(np.float64), decay),
        rtol=1e-5,
    )


def test_what_the_od_api_begins_at_is_soon_forgotten():
    ours = oracle.averages(WEIGHTS, START.astype(np.float64), 0.9999)
    theirs = oracle.averages(WEIGHTS, np.zeros(3), 0.9999)
    np.testing.assert_allclose(ours, theirs, atol=1e-6 * np.abs(START).max())


def test_the_model_has_the_averages_for_the_time_of_a_block_even_if_it_fails():
    weight = kernel()
    averages = MovingAverages([weight])
    weight.assign([7.0, 8.0, 9.0])

    def evaluate() -> None:
        np.testing.assert_array_equal(weight.value, START)
        raise ValueError("evaluation failed")

    with pytest.raises(ValueError, match="evaluation failed"), averages.swapped():
        evaluate()
    np.testing.assert_array_equal(weight.value, [7.0, 8.0, 9.0])
    np.testing.assert_array_equal(averages.variables["kernel"], START)


def test_swapped_averages_are_not_handed_out_to_be_saved():
    averages = MovingAverages([kernel()])
    with averages.swapped(), pytest.raises(HoldfastError, match="are swapped now"):
        _ = averages.variables


def test_averages_begin_again_at_weights_that_were_loaded():
    weight = kernel()
    averages = MovingAverages([weight])
    weight.assign([7.0, 8.0, 9.0])
    averages.reset()
    np.testing.assert_array_equal(averages.variables["kernel"], [7.0, 8.0, 9.0])
    assert weight.value.dtype == averages.variables["kernel"].dtype
