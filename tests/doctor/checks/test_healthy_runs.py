"""No check of runs says anything about a training that is all right."""

from __future__ import annotations

import numpy as np
import pytest
from tests.doctor.synthetic_runs import (
    BOXES,
    CLASSES,
    evaluation,
    falling,
    healthy_steps,
    run_case,
    step_events,
    vitals,
    warm_cosine,
)

from holdfast.doctor.check import all_checks
from holdfast.doctor.diagnose import examine
from holdfast.runs.events import Event


def looks(last: int, **changes: float) -> list[Event]:
    scores = np.linspace(0.1, 0.6, last // 100 or 1)
    return [
        vitals(100 * at, positive_mean=changes.get("score", float(score)))
        for at, score in enumerate(scores, 1)
    ]


def rising(last: int, best: float, count: int = 8) -> list[Event]:
    every = last // count
    return [evaluation(every * at, best * (1 - 0.5**at)) for at in range(1, count + 1)]


def noisy(steps: int, noise: float, seed: int) -> list[Event]:
    terms = {CLASSES: falling(steps, 1.6, 0.5, 200), BOXES: falling(steps, 0.9, 0.4, 300)}
    return step_events(terms, noise=noise, seed=seed)


def fine_tuned(noise: float) -> list[Event]:
    """A detector that is good from the first step on: nothing falls."""
    terms = {CLASSES: np.full(800, 0.30), BOXES: np.full(800, 0.15)}
    return step_events(terms, noise=noise)


def in_warm_up() -> list[Event]:
    terms = {CLASSES: np.full(900, 1.6), BOXES: falling(900, 0.9, 0.8, 500)}
    return step_events(terms, rate=warm_cosine(900, warmup=2000, total=40000))


RUNS = {
    "plain": [*healthy_steps(1000), *looks(1000), *rising(1000, 0.7)],
    "thirty steps": healthy_steps(30),
    "thirty flat steps": step_events({CLASSES: np.full(30, 1.6), BOXES: np.full(30, 0.9)}),
    "thirty steps of one image": healthy_steps(30, noise=0.5, seed=5),
    "no evaluation": healthy_steps(1000),
    "batch of two": [*noisy(1200, 0.35, 1), *rising(1200, 0.5)],
    "batch of one": [*noisy(1200, 0.5, 2), *rising(1200, 0.5)],
    "batch of one, not evaluated": noisy(1500, 0.5, 3),
    "in warm-up": in_warm_up(),
    "fine-tuned": [*fine_tuned(0.2), *[evaluation(at, 0.8) for at in (200, 400, 600, 800)]],
    "fine-tuned, by its scores": [*fine_tuned(0.4), *looks(800, score=0.7)],
    "converged": [*healthy_steps(4000, rate=np.full(4000, 0.01)), *rising(4000, 0.6)],
    "schedule over at the end": [
        *healthy_steps(1000, rate=warm_cosine(1000, total=900)),
        *rising(1000, 0.6),
    ],
}
CODES = [each.code for each in all_checks() if each.about == "run"]


@pytest.mark.parametrize("name", RUNS)
def test_nothing_is_found_in(name: str):
    diagnosis = examine(run_case(RUNS[name]), only=CODES)
    assert [(each.code, each.what) for each in diagnosis.findings] == []
    odd = [each for each in diagnosis.not_looked_at if "Error" in each.reason]
    assert odd == []


@pytest.mark.parametrize("seed", range(12))
def test_chance_makes_no_finding(seed: int):
    events = [*noisy(600, 0.5, seed), *rising(600, 0.4, 4)]
    assert examine(run_case(events), only=CODES).findings == ()


def test_what_was_not_recorded_is_listed_with_the_reason():
    missing = dict(examine(run_case(healthy_steps(100)), only=CODES).not_looked_at)
    assert missing["dead-activations"] == "the run recorded no vitals of its network (yet)"
    assert missing["overfitting"] == "the run has not evaluated yet"
    assert missing["gradients-vanish"] == "the run recorded no gradients by layer (yet)"
