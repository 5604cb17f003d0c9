from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.models.backbones.channels import rounded, scaled

WIDTHS = st.floats(1.0, 5000.0)


@given(WIDTHS, st.sampled_from([4, 8, 16]))
def test_rounded_channels_are_a_multiple_near_the_wish(channels, divisor):
    result = rounded(channels, divisor=divisor)
    assert result % divisor == 0
    assert result >= max(divisor, 0.9 * channels)
    assert result <= channels + divisor


@given(WIDTHS, st.integers(0, 64))
def test_rounded_channels_reach_the_minimum(channels, minimum):
    assert rounded(channels, minimum=minimum) >= minimum


@given(st.integers(8, 5000))
def test_a_multiple_stays_as_it_is(count):
    assert rounded(8 * count) == 8 * count
    assert scaled(count, 1.0, minimum=8) == count


@given(st.integers(1, 2000), st.floats(0.1, 2.0), st.integers(0, 64))
def test_scaled_channels_lose_their_fraction(channels, multiplier, minimum):
    wish = max(channels * multiplier, minimum)
    assert wish - 1 < scaled(channels, multiplier, minimum) <= wish
