from __future__ import annotations

import keras
import numpy as np

from holdfast.models.dropout import Dropout


def test_a_share_is_dropped_in_training_and_the_mean_is_kept():
    inputs = np.ones((1, 100, 100, 4), np.float32)
    layer = Dropout(0.25)
    np.testing.assert_array_equal(layer(inputs), inputs)
    dropped = np.asarray(layer(inputs, training=True))
    assert abs((dropped == 0).mean() - 0.25) < 0.02
    np.testing.assert_allclose(dropped[dropped > 0], 1 / 0.75, rtol=1e-6)


def test_the_seed_is_found_under_the_same_path_whatever_was_built_before():
    paths = []
    for _ in range(2):
        keras.random.SeedGenerator()
        layer = Dropout(0.5, name="dropout")
        layer(np.ones((1, 2)))
        paths.append([variable.path for variable in layer.variables])
    assert paths == [["dropout/seed/seed_generator_state"]] * 2


def test_a_seed_that_is_put_back_gives_the_same_numbers():
    inputs = np.ones((1, 50), np.float32)
    layer = Dropout(0.5)
    layer(inputs, training=True)
    state = layer.variables[0].numpy()
    expected = np.asarray(layer(inputs, training=True))
    assert not np.array_equal(expected, layer(inputs, training=True))
    layer.variables[0].assign(state)
    np.testing.assert_array_equal(layer(inputs, training=True), expected)
