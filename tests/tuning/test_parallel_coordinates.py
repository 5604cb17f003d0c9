"""The picture of the trials: a line for each, where its values lie."""

from __future__ import annotations

import numpy as np

from holdfast.tuning.parallel_coordinates import draw_trials
from holdfast.tuning.search_space import parse_space
from holdfast.tuning.search_study import TrialRecord, TrialState

SPACE = parse_space(["rate=log:0.001..1", "kind=a,b"], None)
BEST = (255, 205, 70)


def record(number: int, rate: float, kind: str, metric: float | None) -> TrialRecord:
    return TrialRecord(
        number=number,
        settings={"rate": rate, "kind": kind},
        state=TrialState.COMPLETE,
        metric=metric,
    )


def rows(picture, column: int, color: tuple[int, int, int]) -> np.ndarray:
    """Give the rows of a column that have a color."""
    return np.flatnonzero((picture[:, column] == color).all(axis=-1))


def test_the_best_line_goes_through_its_values():
    trials = [record(0, 0.001, "a", 0.1), record(1, 1.0, "b", 0.9), record(2, 0.03, "a", None)]
    picture = draw_trials(SPACE, trials, metric="mAP", is_minimized=False)
    assert picture.shape == (480, 110 + 60 + 2 * 230, 3)
    top = rows(picture, 112, BEST).mean()
    assert top < 60  # the highest rate
    lowest = draw_trials(SPACE, trials, metric="loss", is_minimized=True)
    assert rows(lowest, 112, BEST).mean() > 400  # the lowest loss is at the lowest rate


def test_no_trial_gives_axes_only():
    picture = draw_trials(SPACE, [], metric="mAP", is_minimized=False)
    assert rows(picture, 112, BEST).size == 0
    assert picture.max() > 200
