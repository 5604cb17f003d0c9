from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holdfast.doctor.curves import (
    block_medians,
    change,
    first_level,
    last_level,
    noise,
    smoothed,
    trend,
)

curves = hnp.arrays(np.float64, st.integers(1, 200), elements=st.floats(1e-6, 1e6))


@given(curves, st.floats(1e-3, 1e3))
def test_a_scaled_curve_changes_by_the_same_ratio(values: np.ndarray, factor: float):
    half = len(values) // 2 or 1
    plain, scaled = (
        change(values[:half], values[-half:]),
        change(values[:half], factor * values[-half:]),
    )
    assert scaled.ratio == pytest.approx(factor * plain.ratio, rel=1e-6)
    assert scaled.error == pytest.approx(plain.error, rel=1e-6, abs=1e-9)


@given(curves)
def test_a_change_surely_lies_between_its_bounds(values: np.ndarray):
    found = change(values[: len(values) // 2 + 1], values[len(values) // 2 :])
    assert found.least <= found.ratio <= found.most


@given(curves, curves)
def test_a_change_turned_around_is_the_inverse(earlier: np.ndarray, later: np.ndarray):
    there, back = change(earlier, later), change(later, earlier)
    assert there.logarithm == pytest.approx(-back.logarithm)
    assert there.error == pytest.approx(back.error)


@given(curves, st.integers(1, 30))
def test_medians_and_smoothing_stay_inside_of_the_values(values: np.ndarray, count: int):
    for made in (block_medians(values, count), smoothed(values, count)):
        assert values.min() <= made.min()
        assert made.max() <= values.max()
    assert len(block_medians(values, count)) == min(count, len(values))
    assert len(smoothed(values, count)) == len(values)


@given(curves)
def test_a_curve_upside_down_has_the_opposite_trend(values: np.ndarray):
    assert trend(-values) == pytest.approx(-trend(values))


@given(curves)
def test_levels_are_parts_of_the_curve(values: np.ndarray):
    assert 1 <= len(first_level(values)) <= 20
    assert len(last_level(values)) <= len(values)


def test_zeros_have_a_ratio_too():
    assert change(np.ones(5), np.zeros(5)).ratio < 1e-9


@pytest.mark.parametrize("deviation", [0.05, 0.5])
def test_the_noise_of_a_falling_curve_is_that_of_its_scatter(deviation: float):
    chance = np.random.default_rng(1)
    values = np.linspace(5, 0, 2000) + chance.normal(0, deviation, 2000)
    assert noise(values) == pytest.approx(deviation, rel=0.1)


def test_spikes_move_neither_noise_nor_change():
    chance = np.random.default_rng(2)
    values = np.exp(chance.normal(0, 0.1, 400))
    spiked = values.copy()
    spiked[::25] *= 100
    assert noise(np.log(spiked)) == pytest.approx(noise(np.log(values)), rel=0.25)
    assert change(spiked[:200], spiked[200:]).ratio == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("deviation", [0.1, 0.5])
def test_two_standard_errors_are_seldom_exceeded(deviation: float):
    """Where nothing changes, the bounds hold 1 in about 19 of 20 times."""
    chance = np.random.default_rng(3)
    outside = 0
    for _ in range(400):
        values = np.exp(chance.normal(0, deviation, 300))
        found = change(first_level(values), last_level(values))
        outside += not found.least <= 1.0 <= found.most
    assert outside / 400 < 0.12


def test_flat_noise_has_hardly_ever_a_trend():
    chance = np.random.default_rng(4)
    found = [trend(np.exp(chance.normal(0, 0.5, 400))) for _ in range(300)]
    assert np.mean(np.abs(found) > 3.0) < 0.02
    assert trend(np.linspace(2, 1, 400)) < -4
