from __future__ import annotations

import math
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.schema.post_processing import ScoreConverter
from holdfast.config.text.scalars import (
    INT32,
    UINT32,
    parse_boolean,
    parse_enum,
    parse_float,
    parse_integer,
    shortest_float32,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("-12", -12), ("+7", 7), ("0x1F", 31), ("-0x10", -16), ("017", 15), ("-017", -15)],
)
def test_integers_are_read_in_every_base(text, value):
    assert parse_integer(text, INT32) == value


@pytest.mark.parametrize("text", ["", "1.0", "1e3", "089", "x", "0x", "--1", "9" * 5000, "inf"])
def test_what_is_no_integer_is_refused(text):
    with pytest.raises(ValueError, match="whole number"):
        parse_integer(text, INT32)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [("2147483648", INT32), ("-2147483649", INT32), ("-1", UINT32), ("4294967296", UINT32)],
)
def test_integers_out_of_range_are_refused(text, bounds):
    with pytest.raises(ValueError, match="out of range"):
        parse_integer(text, bounds)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("1e-3", 0.001),
        ("1.5f", 1.5),
        ("2F", 2.0),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("Infinity", math.inf),
        ("-infinityf", -math.inf),
        ("1e39", math.inf),
        ("-1e400", -math.inf),
        ("3.40282347e38", 3.4028235e38),
    ],
)
def test_floats_are_read_in_every_spelling(text, value):
    assert parse_float(text) == value


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "nanf"])
def test_nan_is_one_object_so_that_equal_configs_compare_equal(text):
    assert parse_float(text) is math.nan


@pytest.mark.parametrize("text", ["", "f", "0x1F", "1.2.3", "one", "true"])
def test_what_is_no_float_is_refused(text):
    with pytest.raises(ValueError, match="not a number"):
        parse_float(text)


@given(st.floats(width=32, allow_nan=False))
def test_a_float32_keeps_its_value_under_its_shortest_name(value):
    short = shortest_float32(value)
    assert struct.pack("<f", short) == struct.pack("<f", value)
    assert num_digits(short) <= num_digits(value)


def num_digits(value: float) -> int:
    return len(Decimal(repr(value)).normalize().as_tuple().digits)


def test_the_float32_expansion_of_a_decimal_reads_as_the_decimal():
    assert parse_float("0.039999999105930328") == 0.04


def test_booleans_have_eight_spellings():
    assert all(parse_boolean(text) for text in ("true", "True", "t", "1"))
    assert not any(parse_boolean(text) for text in ("false", "False", "f", "0"))
    for text in ("TRUE", "yes", "2", "01", ""):
        with pytest.raises(ValueError, match="neither"):
            parse_boolean(text)


def test_enums_are_read_by_name_and_by_number():
    assert parse_enum("SIGMOID", ScoreConverter) is ScoreConverter.SIGMOID
    assert parse_enum("2", ScoreConverter) is ScoreConverter.SOFTMAX
    for text in ("sigmoid", "3", "-1", ""):
        with pytest.raises(ValueError, match="IDENTITY, SIGMOID, SOFTMAX"):
            parse_enum(text, ScoreConverter)
