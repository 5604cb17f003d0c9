"""Faults to plant into the run of a healthy small training: what its events would tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from tests.doctor.planted_faults import STEPS, Fault
from tests.doctor.synthetic_runs import (
    BOXES,
    CLASSES,
    GROUPS,
    evaluation,
    falling,
    healthy_steps,
    step_events,
    vitals,
    warm_cosine,
)

from holdfast.runs.events import Event

HIGH = 0.001


def _run(
    steps: list[Event], scores: Sequence[float] = (), looks: Mapping[str, Any] | None = None
) -> list[Event]:
    """Put evaluations and looks beside steps, evenly spread."""
    last = steps[-1].step
    evaluated = [
        evaluation((number + 1) * last // len(scores), score) for number, score in enumerate(scores)
    ]
    seen = [vitals(step, **looks) for step in range(100, last + 1, 100)] if looks else []
    return [*steps, *evaluated, *seen]


def _flat() -> list[Event]:
    rate = warm_cosine(STEPS, HIGH)
    terms = {CLASSES: np.full(STEPS, 1.6), BOXES: np.full(STEPS, 0.9)}
    return _run(step_events(terms, rate=rate), (0.0, 0.0), {"positive_mean": 0.08})


def _climbing() -> list[Event]:
    climb = np.concatenate([np.full(100, 1.6), np.geomspace(1.6, 90, 300), np.full(200, 90.0)])
    return _run(step_events({CLASSES: climb, BOXES: climb / 3}))


def _creeping() -> list[Event]:
    terms = {CLASSES: np.linspace(1.6, 1.25, STEPS), BOXES: np.linspace(0.9, 0.8, STEPS)}
    return _run(step_events(terms, noise=0.1), (0.0, 0.0))


def _not_finite() -> list[Event]:
    norms = np.concatenate([np.full(590, 5.0), np.geomspace(5, 5e5, 10)])
    steps = healthy_steps(600, gradient_norm=norms)
    steps[-1].values["losses"][CLASSES] = float("nan")
    return steps


def _overfitted() -> list[Event]:
    rises = [1.1, 0.8, 0.7, 0.75, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4]
    scores = [0.3, 0.45, 0.5, 0.48, 0.45, 0.43, 0.42, 0.4, 0.4, 0.39]
    judged = [
        evaluation(200 * at, score, losses={CLASSES: loss * 0.7, BOXES: loss * 0.3})
        for at, (loss, score) in enumerate(zip(rises, scores, strict=True), 1)
    ]
    return [*healthy_steps(STEPS, noise=0.1), *judged]


def _jumping() -> list[Event]:
    norms = np.full(STEPS, 5.0)
    norms[100::90] = 3000.0
    return _run(healthy_steps(STEPS, gradient_norm=norms), (0.3, 0.4))


def _vanished() -> list[Event]:
    return _run(
        healthy_steps(STEPS), (0.2, 0.3), {"gradient": {GROUPS[0]: 1e-12, GROUPS[1]: 1e-12}}
    )


def _dead() -> list[Event]:
    steps = _run(healthy_steps(STEPS), (0.05, 0.08))
    first = [vitals(20), vitals(50)]
    late = [vitals(at, positive_mean=0.2, dead={GROUPS[1]: 0.98}) for at in range(100, STEPS, 100)]
    return [*steps, *first, *late]


def _drifted() -> list[Event]:
    drift = {"drift": {GROUPS[1]: (1.5, 3.0)}, "positive_mean": 0.3}
    return _run(healthy_steps(STEPS), (0.03, 0.04), drift)


def _collapsed() -> list[Event]:
    return _run(healthy_steps(STEPS), (0.0, 0.0), {"positive_mean": 0.01, "agreement": 0.5})


def _unplaced() -> list[Event]:
    terms = {CLASSES: falling(STEPS, 1.6, 0.3), BOXES: np.full(STEPS, 0.9)}
    return _run(step_events(terms), (0.03, 0.03), {"positive_mean": 0.3})


def _guessing() -> list[Event]:
    terms = {CLASSES: falling(STEPS, 1.6, 0.8), BOXES: falling(STEPS, 0.9, 0.2)}
    return _run(step_events(terms), (0.06, 0.07), {"positive_mean": 0.3, "agreement": 0.5})


def _unfound() -> list[Event]:
    judged = [
        evaluation(step, 0.0, losses={CLASSES: 3.0, BOXES: 0.2}) for step in (STEPS // 2, STEPS)
    ]
    looks = [vitals(step, positive_mean=0.5) for step in range(100, STEPS + 1, 100)]
    return [*healthy_steps(STEPS), *judged, *looks]


def _starved() -> list[Event]:
    scores = {"disc": (0.7, 80), "bar": (0.6, 75), "plate": (0.0, 20)}
    judged = [evaluation(step, 0.4, per_class=scores) for step in (STEPS // 2, STEPS)]
    return [*healthy_steps(STEPS), *judged]


def _growing() -> list[Event]:
    held = np.linspace(1.8e9, 3.4e9, STEPS)
    return _run(healthy_steps(STEPS, resident_bytes=held), (0.3, 0.5))


def _slowing() -> list[Event]:
    return _run(healthy_steps(STEPS, step_seconds=np.linspace(0.4, 1.4, STEPS)), (0.3, 0.5))


def _traced() -> list[Event]:
    seconds = np.full(STEPS, 0.4)
    seconds[[0, 40, 300, 700, 1100, 1600]] = 12.0
    return _run(healthy_steps(STEPS, step_seconds=seconds), (0.3, 0.5))


def _dying() -> list[Event]:
    values = {"cause": "SIGKILL", "evidence": "the kernel's count rose"}
    died = [Event(at, "restarted", values | {"reached": at + 90}) for at in (400, 800, 1200)]
    return [*_run(healthy_steps(STEPS), (0.3, 0.5)), *died]


def _waiting() -> list[Event]:
    steps = healthy_steps(STEPS)
    for event in steps:
        event.values["input_seconds"] = 0.9
    return _run(steps, (0.3, 0.5))


def run_fault(name: str, events: Callable[[], list[Event]], *codes: str) -> Fault:
    return Fault(name=name, codes=codes, events=events)


RUN_FAULTS = (
    run_fault("the loss is flat", _flat, "plateau"),
    run_fault("the loss climbs", _climbing, "loss-diverged"),
    run_fault("the loss creeps", _creeping, "learning-too-slow"),
    run_fault("the loss is NaN", _not_finite, "loss-not-finite"),
    run_fault("learned by heart", _overfitted, "overfitting"),
    run_fault("gradients jump", _jumping, "gradients-explode"),
    run_fault("gradients are gone", _vanished, "gradients-vanish"),
    run_fault("channels are dead", _dead, "dead-activations"),
    run_fault("statistics do not follow", _drifted, "batch-norm-drift"),
    run_fault("all is background", _collapsed, "background-collapse"),
    run_fault("boxes are not learned", _unplaced, "localization-stuck"),
    run_fault("classes are guessed", _guessing, "plateau"),
    run_fault("nothing is found", _unfound, "detections-zero"),
    run_fault("a class is never found", _starved, "class-starved"),
    run_fault("memory grows", _growing, "memory-grows"),
    run_fault("steps get slower", _slowing, "slow-steps"),
    run_fault("traced again and again", _traced, "retracing"),
    run_fault("it dies and dies", _dying, "recovered-often"),
    run_fault("it waits for images", _waiting, "input-bound"),
)
