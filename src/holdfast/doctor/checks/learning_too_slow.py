"""learning-too-slow: the loss falls, but will not get far in this run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.curves import change, first_level, last_level, trend
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.learning import detects
from holdfast.doctor.rate_fix import doctor_command, scaled_rate

_FEWEST = 200  # steps at the full rate
_LEAST_SHARE = 0.2  # of the planned steps
_FALLS = -3.0  # standard deviations
_FEW = 0.6  # of the beginning, surely more than that is left
_ERROR_FROM = 0.5  # of the planned steps


@check("learning-too-slow", about="run", needs=("history",))
def learning_too_slow(case: Case) -> Iterator[Finding]:
    """The loss falls steadily, but so slowly that the run ends before much is learned.

    Why it happens: a learning rate that is far too low: copied from a fine-tuning or another
    optimizer, divided by a batch that was small, or cut by a schedule that decays at once.

    How it is seen: after 200 steps at the full rate and a fifth of the planned steps the loss
    surely has a trend downwards, and surely more than 0.6 of the beginning is left. It is an error
    once half of the planned steps are done.

    What helps: ten times the rate; the range test (`--learning-rate`) says how far it can go.
    """
    history, loss = case.history, case.history.loss
    if history.is_warming_up or int(history.full_rate.sum()) < _FEWEST or detects(case):
        return
    planned = max(case.planned_steps or 0, int(history.steps[-1]))
    share = float(history.steps[-1]) / planned
    fell = change(first_level(loss), last_level(loss))
    sureness = trend(loss)
    if share < _LEAST_SHARE or fell.least < _FEW or fell.ratio > 1 or sureness > _FALLS:
        return
    yield Finding(
        code="learning-too-slow",
        severity="error" if share >= _ERROR_FROM else "warning",
        what=f"After {history.steps[-1]} of {planned} steps {fell.ratio:.0%} of the first loss is "
        "left, and it still falls.",
        why="Each step goes in the right direction, but hardly anywhere: the rate is too low.",
        evidence={
            "loss_first": float(np.median(first_level(loss))),
            "loss_now": float(np.median(last_level(loss))),
            "trend_in_deviations": sureness,
            "learning_rate_highest": float(history.rate.max()),
            "steps": history.range_text(0, -1),
        },
        fix=Fix(
            text="Train with ten times the learning rate.",
            set=scaled_rate(case, 10.0),
            command=doctor_command(case, "--learning-rate"),
        ),
    )
