"""The study: what is tried, what is remembered, and what the dead left behind."""

from __future__ import annotations

import json

import pytest

from holdfast.errors import HoldfastError
from holdfast.tuning.search_space import parse_space
from holdfast.tuning.search_study import JOURNAL_NAME, SearchStudy, TrialState

FACTS = {"--over": ["a=log:0.001..1", "b=x,y", "c=1..9"], "--steps": 9}


def study(folder, **changes) -> SearchStudy:
    options = {"facts": FACTS, "evaluations": 9, "is_minimized": False, "seed": 0} | changes
    return SearchStudy(folder, parse_space(FACTS["--over"], None), **options)


def test_trials_have_values_inside_of_what_is_searched(tmp_path):
    searched = study(tmp_path)
    for _ in range(15):
        trial = searched.claim(15)
        assert 0.001 <= trial.settings["a"] <= 1
        assert trial.settings["b"] in ("x", "y")
        assert trial.settings["c"] in range(1, 10)
        trial.report(1, trial.settings["a"])
        trial.end(TrialState.COMPLETE)
    assert searched.claim(15) is None
    assert searched.best().metric == max(each.metric for each in searched.records())


def test_two_searches_with_one_seed_try_the_same(tmp_path):
    tried = []
    for name in ("one", "other"):
        searched = study(tmp_path / name)
        trials = [searched.claim(4) for _ in range(4)]
        tried.append([trial.settings for trial in trials])
    assert tried[0] == tried[1]
    assert len({json.dumps(each) for each in tried[0]}) == 4


def test_a_trial_that_was_left_behind_is_taken_over_with_what_it_had_reported(tmp_path):
    left = study(tmp_path).claim(2)
    left.report(1, 0.25)
    left.let_go()  # as the kernel does it when a process is killed
    taken = study(tmp_path).claim(2)
    assert (taken.number, taken.settings) == (left.number, left.settings)
    assert taken.is_resumed
    assert taken.metric == 0.25
    assert taken.report(1, 0.5) is False  # told before
    assert taken.metric == 0.25


def test_a_trial_in_another_process_is_left_to_it(tmp_path):
    first, second = study(tmp_path), study(tmp_path)
    assert {first.claim(2).number, second.claim(2).number} == {0, 1}
    assert first.claim(2) is None


def test_a_trial_whose_process_died_three_times_is_given_up(tmp_path):
    for _ in range(3):
        study(tmp_path).claim(1).let_go()
    searched = study(tmp_path)
    assert searched.claim(1) is None
    (record,) = searched.records()
    assert record.state == TrialState.FAILED
    assert "died 3 times" in record.reason


def test_half_a_line_at_the_end_of_the_journal_is_dropped(tmp_path):
    study(tmp_path).claim(2).let_go()
    with open(tmp_path / JOURNAL_NAME, "ab") as stream:
        stream.write(b'{"op_code": 4, "worker')
    searched = study(tmp_path)
    assert searched.claim(2).number == 0
    assert searched.claim(2).number == 1
    assert len(study(tmp_path).records()) == 2


def test_a_search_over_something_else_is_refused(tmp_path):
    study(tmp_path)
    with pytest.raises(HoldfastError, match="another --steps: 9"):
        study(tmp_path, facts=FACTS | {"--steps": 10})


def test_of_losses_the_lowest_is_the_best(tmp_path):
    searched = study(tmp_path, is_minimized=True)
    for value in (3.0, 1.0, 2.0):
        trial = searched.claim(3)
        trial.report(1, value + 1)
        trial.report(2, value)
        trial.end(TrialState.COMPLETE)
    assert searched.best().metric == 1.0


def test_hopeless_trials_are_stopped_early(tmp_path):
    searched = study(tmp_path)
    stopped = 0
    for number in range(12):
        trial = searched.claim(12)
        is_over = False
        for evaluation in range(1, 10):
            is_over = trial.report(evaluation, (12 - number) * evaluation)
            if is_over:
                break
        stopped += is_over
        trial.end(TrialState.PRUNED if is_over else TrialState.COMPLETE)
    assert stopped >= 4
    assert searched.best().number == 0


def test_what_failed_or_did_not_fit_is_remembered_with_its_reason(tmp_path):
    searched = study(tmp_path)
    searched.claim(2).end(TrialState.SKIPPED, "too large")
    searched.claim(2).end(TrialState.FAILED, "NaN")
    assert [(each.state, each.reason) for each in study(tmp_path).records()] == [
        ("skipped", "too large"),
        ("failed", "NaN"),
    ]
    assert searched.best() is None


def test_the_first_trial_has_the_values_that_are_asked_for(tmp_path):
    first = {"a": 0.5, "b": "y", "c": 3}
    searched = study(tmp_path, first=first)
    assert searched.claim(2).settings == first
    assert searched.claim(2).settings != first
    assert searched.claim(2) is None
