"""Growth is told from noise, jumps and plateaus."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory.watch.trend import mann_kendall, theil_sen, trend_of, without_jumps

COUNT = 16
numbers = st.integers(-1000, 1000).map(float)
series = st.lists(numbers, min_size=2, max_size=COUNT)


@given(series)
def test_the_slope_is_the_median_of_all_slopes(values):
    pairs = itertools.combinations(enumerate(values), 2)
    slopes = [(y - z) / (x - w) for (x, y), (w, z) in pairs]
    x = np.arange(len(values), dtype=float)
    assert theil_sen(x, np.array(values)) == pytest.approx(np.median(slopes))


@given(series)
def test_significance_is_that_of_mann_and_kendall(values):
    count = len(values)
    score = sum(np.sign(y - x) for x, y in itertools.combinations(values, 2))
    ties = [values.count(value) for value in set(values)]
    weights = [n * (n - 1) * (2 * n + 5) for n in (count, *ties)]
    variance = (weights[0] - sum(weights[1:])) / 18
    expected = 0.0 if variance == 0 else (score - np.sign(score)) / math.sqrt(variance)
    assert mann_kendall(np.array(values)) == pytest.approx(expected)
    assert mann_kendall(-np.array(values)) == pytest.approx(-expected)


@given(st.floats(1e3, 1e9), st.floats(0, 0.3), st.integers(0, 2**31))
def test_steady_growth_under_noise_is_seen(rate, noise, seed):
    chance = np.random.default_rng(seed).uniform(-1, 1, COUNT)
    values = 1e9 + rate * (np.arange(COUNT) + noise * chance)
    trend = trend_of(range(COUNT), values)
    assert trend.is_growth
    assert trend.slope == pytest.approx(rate, rel=0.2)


@given(
    st.lists(st.tuples(st.integers(1, COUNT - 1), st.floats(-1e8, 1e8)), max_size=3),
    st.integers(0, 2**31),
)
def test_plateaus_between_jumps_are_no_growth_worth_a_word(jumps, seed):
    values = 1e9 + np.random.default_rng(seed).uniform(0, 1e5, COUNT)
    for place, height in jumps:
        values[place:] += height
    trend = trend_of(range(COUNT), values)
    assert not (trend.is_growth and trend.slope * COUNT > 1e6)


def test_growth_goes_on_behind_a_fall():
    values = 1e9 + 1e6 * np.arange(COUNT)
    values[5:] -= 5e7
    assert trend_of(range(COUNT), values).is_growth


def test_what_comes_to_rest_does_not_grow():
    values = 1e9 + 1e8 * (1 - np.exp(-np.arange(COUNT)))
    assert not trend_of(range(COUNT), values).is_growth


@given(series)
def test_jumps_are_taken_out_of_the_changes_alone(values):
    smooth = without_jumps(np.array(values))
    assert smooth.shape == (len(values),)
    assert smooth[0] == values[0]


def test_few_samples_say_nothing():
    assert not trend_of([0, 1, 2], [1.0, 2.0, 3.0]).is_growth
