"""What `--over` says: ranges, lists, groups, and mistakes with the right form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.load import load_config
from holdfast.errors import HoldfastError
from holdfast.tuning.search_space import Span, parse_space
from holdfast.tuning.trial_settings import curve_of

RATE = "train_config.optimizer.momentum_optimizer.learning_rate.constant_learning_rate"


def values(text: str) -> Span | tuple[str, ...]:
    (dimension,) = parse_space([text], None)
    return dimension.values


def test_a_range_by_factors_is_one():
    assert values("a.b=log:1e-4..1e-1") == Span(low=1e-4, high=0.1, is_log=True, is_whole=False)


def test_a_range_between_whole_numbers_has_whole_numbers():
    assert values("a=1..10") == Span(low=1, high=10, is_log=False, is_whole=True)
    assert values("a=-3..10") == Span(low=-3, high=10, is_log=False, is_whole=True)
    assert values("a=0.5..2") == Span(low=0.5, high=2, is_log=False, is_whole=False)
    assert values("a=1.0..2.0") == Span(low=1, high=2, is_log=False, is_whole=False)


def test_choices_may_hold_commas_in_brackets():
    assert values("a=[1, 2],[3]") == ("[1, 2]", "[3]")
    assert values('a="x,y", z') == ('"x,y"', "z")


def test_several_fields_take_one_value():
    (dimension,) = parse_space(["a.x+a.y=1..2"], None)
    assert dimension.paths == ("a.x", "a.y")


def test_the_learning_rate_is_the_field_that_leads_the_schedule(config):
    curve = curve_of(load_config(config), 10)
    (dimension,) = parse_space(["learning-rate=log:1e-3..1"], curve)
    assert dimension.paths == (f"{RATE}.learning_rate",)


@given(st.floats(1e-6, 1.0), st.floats(1e-6, 1.0), st.floats(0, 1))
def test_a_number_of_a_span_stays_inside_when_it_is_written_shortly(low, factor, share):
    span = Span(low=low, high=low + factor, is_log=False, is_whole=False)
    assert span.low <= span.rounded(span.low + share * (span.high - span.low)) <= span.high


def test_what_is_read_is_written_as_it_was():
    for text in ("a=log:0.001..0.1", "a=1..10", "a=x,y"):
        assert str(parse_space([text], None)[0]) == text


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("learning-rate", "names no values", "FIELD=log:1e-4..1e-1"),
        ("optimiser", "names no values", "Did you mean optimizer?"),
        ("a=", "names no values", "FIELD=1..10"),
        ("=1..2", "names no values", "FIELD=1..10"),
        ("a=log:3", "has no end", "FIELD=log:1e-4..1e-1"),
        ("a=3..1", "begins at 3 and ends at 1", "lower first"),
        ("a=log:0..1", "no factor", "leave out log:"),
        ("a=x..y", "not a range of numbers", "FIELD=1..10"),
        ("a=5", "leaves no choice", "--set"),
        ("schedule=cubic,cosine", "no choice 'cubic'", "constant, cosine, steps"),
    ],
)
def test_a_mistake_names_the_right_form(text, message, fix):
    with pytest.raises(HoldfastError) as caught:
        parse_space([text], None)
    assert message in caught.value.message
    assert fix in caught.value.fix


def test_a_field_is_searched_once(config):
    curve = curve_of(load_config(config), 10)
    with pytest.raises(HoldfastError, match="twice"):
        parse_space(["learning-rate=1e-3..1", f"{RATE}.learning_rate=0.1,0.2"], curve)
