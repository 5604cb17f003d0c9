from __future__ import annotations

import subprocess
import sys

import keras
import numpy as np

from holdfast.geometry.chance import image_seeds
from holdfast.models.layers.dropout import Dropout
from holdfast.models.layers.randomness import looking_at


def test_a_share_is_dropped_in_training_and_the_mean_is_kept():
    inputs = np.ones((1, 100, 100, 4), np.float32)
    layer = Dropout(0.25)
    np.testing.assert_array_equal(layer(inputs), inputs)
    dropped = np.asarray(layer(inputs, training=True))
    assert abs((dropped == 0).mean() - 0.25) < 0.02
    np.testing.assert_allclose(dropped[dropped > 0], 1 / 0.75, rtol=1e-6)


def test_images_are_dropped_alike_in_any_batch_and_each_layer_and_image_by_itself():
    inputs, seeds = np.ones((4, 50), np.float32), image_seeds(7, [10, 11, 12, 13])
    one, other = (keras.Sequential([Dropout(0.5, name=name)]) for name in ("one", "other"))
    with looking_at(seeds):
        whole = np.asarray(one(inputs, training=True))
        again = np.asarray(one(inputs, training=True))
        elsewhere = np.asarray(other(inputs, training=True))
    with looking_at(seeds[2:]):
        piece = np.asarray(one(inputs[2:], training=True))
    np.testing.assert_array_equal(whole, again)
    np.testing.assert_array_equal(whole[2:], piece)
    assert (whole[0] != whole[1]).any()
    assert (whole != elsewhere).any()


def test_a_program_that_says_no_seeds_draws_new_numbers_each_time():
    inputs, layer = np.ones((2, 50), np.float32), Dropout(0.5)
    first, second = (np.asarray(layer(inputs, training=True)) for _ in range(2))
    assert (first != second).any()


def test_seeds_are_drawn_after_a_deterministic_training_too():
    program = (
        "import numpy as np, tensorflow as tf\n"
        "from holdfast.models.layers.dropout import Dropout\n"
        "tf.config.experimental.enable_op_determinism()\n"
        "inputs, layer = np.ones((2, 50), np.float32), Dropout(0.5)\n"
        "first, second = (np.asarray(layer(inputs, training=True)) for _ in range(2))\n"
        "assert (first != second).any()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
