from __future__ import annotations

import math

from holdfast.training.early_stopping import JUDGED_BY, Stopping, judged_metric

COCO, MASKS, PASCAL = JUDGED_BY


def scores(*values: float) -> list[dict[str, float]]:
    return [{COCO: value} for value in values]


def test_evaluations_that_are_not_better_than_the_best_are_counted():
    stopping = Stopping(patience=2)
    assert [stopping.judge(each) for each in scores(0.3, 0.2, 0.4, 0.4)] == [1, 0, 1, 0]
    assert not stopping.is_over
    stopping.judge({COCO: 0.1})
    assert stopping.is_over


def test_those_of_an_earlier_process_count_too():
    stopping = Stopping(patience=3, earlier=scores(0.3, 0.2, 0.1))
    assert (stopping.best, stopping.waited) == (0.3, 2)
    stopping.judge({COCO: 0.2})
    assert stopping.is_over


def test_without_patience_it_is_never_over():
    assert not Stopping(patience=None, earlier=scores(0.3, *[0.1] * 50)).is_over


def test_an_evaluation_is_judged_by_coco_then_by_pascal_and_only_by_numbers():
    assert judged_metric({PASCAL: 0.5, COCO: 0.3}) == 0.3
    assert judged_metric({PASCAL: 0.5, COCO: math.nan}) == 0.5
    assert judged_metric({PASCAL: 0.5, MASKS: 0.4}) == 0.4
    assert judged_metric({COCO: None}) is None
    stopping = Stopping(patience=1)
    assert not stopping.judge({"Loss/total_loss": 1.0})
    assert stopping.waited == 0
