"""The balanced sampler draws what it may, and as much as it may."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holdfast.geometry.chance import image_seeds
from holdfast.geometry.sampling import balanced_sample, drawn_places, filled_sample

masks = hnp.arrays(bool, (2, 12))
SEEDS = image_seeds(1, [0, 1])


@settings(max_examples=50)
@given(masks, masks, st.integers(0, 16), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_draws_as_many_positives_as_allowed_and_fills_up_with_negatives(
    candidates, positives, size, fraction
):
    drawn = balanced_sample(candidates, positives, size, positive_fraction=fraction, seeds=SEEDS)
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
        balanced_sample(candidates, positives, None, positive_fraction=fraction, seeds=SEEDS)
    )
    for image in range(2):
        are_positive = positives[image] & candidates[image]
        np.testing.assert_array_equal(drawn[image] & positives[image], are_positive)
        wanted = int(are_positive.sum() * (1 - fraction) / fraction)
        available = (candidates[image] & ~positives[image]).sum()
        assert (drawn[image] & ~positives[image]).sum() == min(wanted, available)


def test_an_image_draws_by_its_own_seed_whatever_the_others_of_its_batch_are():
    everything = tf.ones((4, 200), tf.bool)
    nothing = tf.zeros((4, 200), tf.bool)
    seeds = image_seeds(3, [5, 6, 7, 8])
    whole = np.array(balanced_sample(everything, nothing, 50, seeds=seeds))
    piece = np.array(balanced_sample(everything[2:], nothing[2:], 50, seeds=seeds[2:]))
    np.testing.assert_array_equal(whole[2:], piece)
    assert (whole[0] != whole[1]).any()


def test_every_candidate_has_the_same_chance():
    everything, nothing = tf.ones((500, 8), tf.bool), tf.zeros((500, 8), tf.bool)
    drawn = np.array(balanced_sample(everything, nothing, 2, seeds=image_seeds(0, range(500))))
    share = drawn.mean(axis=0)  # of 500 draws with chance 1/4: standard deviation 0.019
    np.testing.assert_allclose(share, 0.25, atol=0.08)


@settings(max_examples=50)
@given(masks, masks, st.integers(1, 16))
def test_a_filled_sample_has_its_size_wherever_negatives_allow(candidates, positives, size):
    drawn = np.array(filled_sample(candidates, positives, size, positive_fraction=0.5, seeds=SEEDS))
    for image in range(2):
        missing = max(0, size - candidates[image].sum())
        added = np.flatnonzero(~candidates[image])[:missing]
        allowed = candidates[image].copy()
        allowed[added] = True
        assert not (drawn[image] & ~allowed).any()
        num_positives = min((positives[image] & allowed).sum(), size // 2)
        negatives = min((~positives[image] & allowed).sum(), size - num_positives)
        assert drawn[image].sum() == num_positives + negatives


@settings(max_examples=50)
@given(masks, st.integers(1, 16))
def test_places_of_what_was_drawn_rise_and_are_padded_with_zero(is_drawn, size):
    drawn = drawn_places(is_drawn, size)
    for image in range(2):
        wanted = np.flatnonzero(is_drawn[image])[:size]
        assert int(drawn.count[image]) == len(wanted)
        found = np.array(drawn.indices[image])
        np.testing.assert_array_equal(found, np.pad(wanted, (0, size - len(wanted))))
