"""The balanced sampler draws what it may, and as much as it may."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holdfast.geometry.sampling import balanced_sample

masks = hnp.arrays(bool, (2, 12))


@settings(max_examples=50)
@given(masks, masks, st.integers(0, 16), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_draws_as_many_positives_as_allowed_and_fills_up_with_negatives(
    candidates, positives, size, fraction
):
    drawn = balanced_sample(candidates, positives, size, positive_fraction=fraction, seed=1)
    drawn = np.array(drawn)
    assert not (drawn & ~candidates).any()
    for image in range(2):
        are_positive = positives[image] & candidates[image]
        expected = min(are_positive.sum(), int(fraction * size))
        assert (drawn[image] & positives[image]).sum() == expected
        negatives = min((candidates[image] & ~positives[image]).sum(), size - expected)
        assert (drawn[image] & ~positives[image]).sum() == negatives


@settings(max_examples=50)
@given(masks, masks, st.sampled_from([0.25, 0.5, 1.0]))
def test_without_a_size_all_positives_are_drawn_and_negatives_in_proportion(
    candidates, positives, fraction
):
    drawn = np.array(
        balanced_sample(candidates, positives, None, positive_fraction=fraction, seed=1)
    )
    for image in range(2):
        are_positive = positives[image] & candidates[image]
        np.testing.assert_array_equal(drawn[image] & positives[image], are_positive)
        wanted = int(are_positive.sum() * (1 - fraction) / fraction)
        available = (candidates[image] & ~positives[image]).sum()
        assert (drawn[image] & ~positives[image]).sum() == min(wanted, available)


def test_the_same_seed_draws_the_same_and_a_generator_goes_on():
    everything = tf.ones((1, 200), tf.bool)
    nothing = tf.zeros((1, 200), tf.bool)
    draw = [np.array(balanced_sample(everything, nothing, 50, seed=3)) for _ in range(2)]
    np.testing.assert_array_equal(draw[0], draw[1])
    generator = keras.random.SeedGenerator(3)
    draw = [np.array(balanced_sample(everything, nothing, 50, seed=generator)) for _ in range(2)]
    assert (draw[0] != draw[1]).any()


def test_every_candidate_has_the_same_chance():
    generator = keras.random.SeedGenerator(0)
    everything, nothing = tf.ones((500, 8), tf.bool), tf.zeros((500, 8), tf.bool)
    drawn = np.array(balanced_sample(everything, nothing, 2, seed=generator))
    share = drawn.mean(axis=0)  # of 500 draws with chance 1/4: standard deviation 0.019
    np.testing.assert_allclose(share, 0.25, atol=0.08)
