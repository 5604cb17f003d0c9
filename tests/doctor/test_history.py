from __future__ import annotations

import math

import numpy as np
import pytest
from tests.doctor.synthetic_runs import BOXES, CLASSES, evaluation, healthy_steps, warm_cosine

from holdfast.doctor.history import PRECISION_AT_HALF, best_precision, history_of, metric_of
from holdfast.runs.events import Event


def test_the_penalty_is_not_part_of_what_is_learned():
    history = history_of(healthy_steps(50))
    assert set(history.terms) == {CLASSES, BOXES}
    assert history.loss == pytest.approx(history.terms[CLASSES] + history.terms[BOXES])


def test_a_step_done_again_counts_once():
    events = healthy_steps(30)
    again = Event(30, "step", events[29].values | {"learning_rate": 7.0})
    history = history_of([*events, again])
    assert len(history) == 30
    assert history.rate[-1] == 7.0


def test_what_is_not_finite_is_carried_over():
    events = [
        Event(step, "step", {"losses": {CLASSES: value}, "learning_rate": 0.1})
        for step, value in enumerate([math.nan, 2.0, math.inf, 3.0], 1)
    ]
    assert history_of(events).loss.tolist() == [2.0, 2.0, 2.0, 3.0]
    assert history_of(events).gradient_norm.tolist() == [0.0] * 4


def test_a_warm_up_is_over_when_the_rate_stops_rising():
    rate = warm_cosine(400, warmup=200)
    assert history_of(healthy_steps(150, rate=rate)).is_warming_up
    assert not history_of(healthy_steps(400, rate=rate)).is_warming_up
    assert not history_of(healthy_steps(100, rate=np.full(100, 0.1))).is_warming_up


def test_minus_one_of_coco_is_not_a_metric():
    event = evaluation(10, 0.4)
    event.values["metrics"][PRECISION_AT_HALF[0]] = -1.0
    assert metric_of(event, PRECISION_AT_HALF) is None
    assert best_precision([event, evaluation(20, 0.3)]) == 0.3
