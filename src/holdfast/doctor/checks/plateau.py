"""plateau: the loss, or one of its terms, does not fall."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.curves import (
    Values,
    block_medians,
    change,
    first_level,
    last_level,
    trend,
)
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.history import PRECISION_AT_HALF, History, metric_of, term_name
from holdfast.doctor.learning import class_counts, detects, evaluations_of, lately, vitals_of
from holdfast.doctor.rate_fix import doctor_command, scaled_rate

_FEWEST = 200  # steps at the full learning rate
_HARDLY = 0.75  # of the beginning, surely more than that: it never fell
_FALLS = -3.0  # standard deviations: it does fall, though slowly
_OVERSHOT = 1.3  # times the beginning, in between: the rate threw it out
_LATE_SHARE, _LATE_FEWEST = 0.4, 300  # of the steps, at least so many, at the same level
_LATE_FLAT = 0.97  # of the level before, or more
_LOW = 0.2  # mAP at IoU 0.5: not good enough to be the end
_ENDED = 0.01  # of the highest rate: practically none
_ENDED_SHARE = 0.3  # of the steps so far
_FINISHED = 0.75  # of the planned steps: a schedule may end with the run


@check("plateau", about="run", needs=("history",))
def plateau(case: Case) -> Iterator[Finding]:
    """The loss does not fall: from the beginning, since some step, or since the rate ended.

    Why it happens: from the beginning, a learning rate that is far too high (the first steps throw
    the weights out of what can be trained) or weights that cannot learn. Since some step, a rate
    that is too high to get any closer, or a network that is too small. Since the rate ended, a
    schedule that belongs to a shorter run. If only the terms about classes stay, while those about
    boxes fall, labels do not go with the images.

    How it is seen: the median of the last tenth of the steps is surely more than 0.75 of the first
    ones, after 200 steps at the full rate and without a trend; or the last 40 % of the steps (300
    at least) are flat and no evaluation got better; or the rate has been below 1 % of its peak for
    30 % of the steps. A run that detects (mAP at 0.5 of 0.2) is left alone.

    What helps: a tenth of the rate, a longer schedule, or to look at the labels, as it says.
    """
    history = case.history
    if history.is_warming_up or detects(case):
        return
    yield from _without_rate(case, history)
    if int(history.full_rate.sum()) < _FEWEST:
        return
    if _never_fell(history.loss):
        yield _from_start(case, history)
    elif _stays_late(case, history):
        yield _late(case, history)
    elif _knows_no_class(case):
        yield _classes(case, history)


def _never_fell(loss: Values) -> bool:
    fell = change(first_level(loss), last_level(loss))
    return fell.least > _HARDLY and trend(loss[len(loss) // 4 :]) > _FALLS


def _from_start(case: Case, history: History) -> Finding:
    loss = history.loss
    start = float(np.median(first_level(loss)))
    highest = float(block_medians(loss, 40).max())
    overshot = highest > _OVERSHOT * start
    return Finding(
        code="plateau",
        severity="error",
        what=f"In {len(history)} steps the loss has not fallen: {start:.3g} at the beginning, "
        f"{float(np.median(last_level(loss))):.3g} now.",
        why="The first steps threw the weights out of where they can learn: the rate is too high."
        if overshot
        else "The steps change nothing that matters: the rate does not suit, or what is to be "
        "learned does not go with the images.",
        evidence={
            "phase": "from the beginning",
            "steps": history.range_text(0, -1),
            "highest_loss_between": highest,
            "learning_rate_highest": float(history.rate.max()),
            "terms": _terms(history),
        },
        fix=Fix(
            text="Find a rate by trying: the range test takes minutes.",
            set=scaled_rate(case, 0.1) if overshot else {},
            command=doctor_command(case, "--learning-rate"),
        ),
    )


def _stays_late(case: Case, history: History) -> bool:
    count = max(int(len(history) * _LATE_SHARE), _LATE_FEWEST)
    late = history.loss[-count:]
    if len(history) < 1.5 * count or not history.full_rate[-count:].all():
        return False
    first = history.steps[-count]
    found = [
        metric_of(each, PRECISION_AT_HALF) for each in evaluations_of(case) if each.step >= first
    ]
    scores = [each for each in found if each is not None]
    halves = change(late[: count // 2], late[count // 2 :])
    is_flat = halves.least > _LATE_FLAT - 0.05 and halves.ratio > _LATE_FLAT and trend(late) > -2
    return is_flat and len(scores) >= 2 and max(scores) < _LOW and scores[-1] <= scores[0] + 0.01


def _late(case: Case, history: History) -> Finding:
    count = max(int(len(history) * _LATE_SHARE), _LATE_FEWEST)
    return Finding(
        code="plateau",
        severity="warning",
        what=f"Since step {history.steps[-count]} neither the loss nor mAP has become better.",
        why="At this rate weights jump around what they look for, or the network cannot do more.",
        evidence={
            "phase": "after a start that learned",
            "steps": history.range_text(-count, -1),
            "learning_rate": float(history.rate[-1]),
            "terms": _terms(history),
        },
        fix=Fix(
            text="Let the rate decay from here on; if that does not help, look at the data.",
            set=scaled_rate(case, 0.3),
        ),
    )


def _without_rate(case: Case, history: History) -> Iterator[Finding]:
    ended = history.rate < _ENDED * history.rate.max(initial=0.0)
    if not ended[-1]:
        return
    alive = np.flatnonzero(~ended)
    last = int(alive[-1]) if len(alive) else 0
    count, planned = len(history) - 1 - last, case.planned_steps or 0
    is_long = count >= max(_FEWEST, _ENDED_SHARE * len(history))
    if not is_long or history.steps[last] > _FINISHED * max(planned, history.steps[-1]):
        return
    yield Finding(
        code="plateau",
        severity="error",
        what=f"Since step {history.steps[last]} the learning rate is below 1 % of its peak: "
        f"{count} steps have changed nothing.",
        why="The schedule ended long before the run: what is left does not move the weights.",
        evidence={
            "phase": "after the end of the schedule",
            "steps": history.range_text(last, -1),
            "learning_rate_highest": float(history.rate.max()),
            "learning_rate_now": float(history.rate[-1]),
            "terms": _terms(history),
        },
        fix=Fix(text="Let the schedule last as long as the run: see schedule-ends-early."),
    )


def _knows_no_class(case: Case) -> bool:
    """Tell whether objects are told from background, but not from each other."""
    looks = vitals_of(case)
    agreement, score = (
        lately(looks, "scores", f"positive_{each}") for each in ("agreement", "mean")
    )
    seen = class_counts(case, "boxes")
    if agreement is None or score is None or len(seen) < 2 or looks[-1].step < 2 * _FEWEST:
        return False
    return agreement < _largest_share(seen) + 0.1 and score > 0.5 / len(seen)


def _classes(case: Case, history: History) -> Finding:
    agreement = lately(vitals_of(case), "scores", "positive_agreement")
    seen = class_counts(case, "boxes")
    return Finding(
        code="plateau",
        severity="error",
        what=f"Objects are found, but their classes are guessed: {agreement:.0%} are right, and "
        f"always naming the most frequent one would get {_largest_share(seen):.0%}.",
        why="What tells the classes apart cannot be learned: the labels do not go with the images.",
        evidence={
            "phase": "classes",
            "agreement": agreement,
            "boxes_learned_from": seen,
            "terms": _terms(history),
        },
        fix=Fix(
            text="Look at labels beside their boxes: a wrong label map, or classes mixed up when "
            "the records were made.",
            command=doctor_command(case, "--only", "label-noise,label-shift"),
        ),
    )


def _largest_share(counts: dict[str, int]) -> float:
    return max(counts.values()) / sum(counts.values())


def _terms(history: History) -> list[dict[str, Any]]:
    return [
        {
            "term": term_name(name),
            "first": float(np.median(first_level(values))),
            "now": float(np.median(last_level(values))),
        }
        for name, values in history.terms.items()
    ]
