"""Numbers of bytes and seconds as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.units import bytes_text, seconds_text

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "0.977 KiB"), (1023 * 1024, "0.999 MiB"), (2**40, "1 TiB")],
)
def test_the_unit_keeps_the_number_short(count, text):
    assert bytes_text(count) == text


@given(st.integers(0, 2**49))
def test_the_text_says_the_number_to_three_digits(count):
    number, unit = bytes_text(count).split()
    assert float(number) < 1000
    assert float(number) * UNITS[unit] == pytest.approx(count, rel=0.006)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0, "0 s"), (0.031, "0.031 s"), (0.94, "0.94 s"), (0.97, "1 s"), (59.4, "59 s")),
        *(
            (59.6, "1 min"),
            (61, "1 min 1 s"),
            (3600, "1 h"),
            (3661, "1 h 1 min"),
            (90000, "1 d 1 h"),
        ),
    ],
)
def test_a_duration_has_at_most_two_units(seconds, text):
    assert seconds_text(seconds) == text
