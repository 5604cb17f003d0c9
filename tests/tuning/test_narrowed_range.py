"""The range that a range test leaves."""

from __future__ import annotations

import pytest

from holdfast.errors import HoldfastError
from holdfast.tuning.narrowed_range import RangeAnswer, narrowed, range_answer
from holdfast.tuning.search_space import Span, parse_space

PATH = "train_config.rate"
TESTED = RangeAnswer(proposed=0.02, rises_from=0.05)


def test_rates_from_which_the_loss_rises_are_not_tried():
    assert TESTED.span == Span(low=0.002, high=0.05, is_log=True, is_whole=False)
    free = RangeAnswer(proposed=0.02, rises_from=None)
    assert free.span.high == 0.1


def test_a_range_is_cut_to_what_the_test_left():
    (dimension,) = narrowed(parse_space([f"{PATH}=log:0.01..1"], None), PATH, "rate", TESTED)
    assert dimension.values == Span(low=0.01, high=0.05, is_log=True, is_whole=False)


def test_without_a_range_the_rate_is_searched_too():
    added, other = narrowed(parse_space(["a=1..2"], None), PATH, "learning-rate", TESTED)
    assert (added.name, added.paths, other.name) == ("learning-rate", (PATH,), "a")


def test_a_range_that_the_test_speaks_against_is_an_error():
    with pytest.raises(HoldfastError, match=r"from 0\.002 to 0\.05"):
        narrowed(parse_space([f"{PATH}=log:0.1..1"], None), PATH, "rate", TESTED)
    with pytest.raises(HoldfastError, match="cannot narrow the choices"):
        narrowed(parse_space([f"{PATH}=0.1,1"], None), PATH, "rate", TESTED)


def test_the_test_is_run_once_and_its_answer_kept(tmp_path, pretended, monkeypatch):
    assert range_answer(["pipeline.config"], tmp_path) == TESTED
    monkeypatch.undo()
    assert range_answer(["pipeline.config"], tmp_path) == TESTED
