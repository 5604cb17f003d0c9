from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from holdfast.training.training_settings import TrainingSettings


def evaluations(steps: int, interval: int) -> list[int]:
    """List the steps after which the loop evaluates."""
    return [step for step in range(1, steps + 1) if step % interval == 0 or step == steps]


def test_a_short_training_is_evaluated_once_at_its_end():
    assert evaluations(30, TrainingSettings().evaluation_interval(30)) == [30]


def test_a_long_training_is_evaluated_ten_times():
    assert len(evaluations(25_000, TrainingSettings().evaluation_interval(25_000))) == 10


@given(st.integers(1, 3000))
def test_evaluations_are_at_least_a_hundred_steps_apart_except_for_the_last(steps: int):
    found = [0, *evaluations(steps, TrainingSettings().evaluation_interval(steps))]
    assert all(after - before >= 100 for before, after in pairwise(found[:-1]))


def test_what_the_user_says_goes_before():
    assert TrainingSettings(evaluate_every=7).evaluation_interval(30) == 7
