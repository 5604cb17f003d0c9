"""overfitting: the training loss falls, the evaluation gets worse."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.history import MEAN_PRECISION, TOTAL, History, metric_of

_FEWEST = 4  # evaluations
_SINCE = 2  # evaluations after the best one
_ROSE = 1.15  # times the lowest evaluation loss
_LOST = 0.02  # mAP, and also
_LOST_SHARE = 0.05  # of the best
_FELL = 0.95  # of the training loss at the best evaluation


@check("overfitting", about="run", needs=("history", "evaluations"))
def overfitting(case: Case) -> Iterator[Finding]:
    """The network learns the training images by heart: on others it gets worse.

    Why it happens: few images for many weights, and more passes over them than they can teach.

    How it is seen: the loss of the evaluations was lowest at least two evaluations ago and has
    risen by 15 % since, while the training loss fell by 5 % or more. It is a warning if mAP fell
    too (by 0.02 and by 5 %), else a note: classification loss often rises before detections get
    worse.

    What helps: augmentations, fewer steps (`holdfast train --patience 3` stops by itself and the
    best checkpoint is kept), frozen layers, more images.
    """
    judged = [(each, metric_of(each, (TOTAL,))) for each in case.evaluations]
    losses = [(each.step, value) for each, value in judged if value is not None]
    if len(losses) < _FEWEST:
        return
    values = np.array([value for _, value in losses])
    best = int(np.argmin(values))
    rise = float(values[-1] / max(values[best], 1e-12))
    since = len(values) - 1 - best
    if since < _SINCE or rise < _ROSE or values[best + 1 :].min() <= values[best]:
        return
    trained = _around(case.history, losses[-1][0]) / _around(case.history, losses[best][0])
    if trained > _FELL:
        return
    found = [metric_of(each, MEAN_PRECISION) for each in case.evaluations]
    scores = [each for each in found if each is not None]
    top = max(scores, default=0.0)
    lost = top - scores[-1] if scores else 0.0
    is_worse = lost > _LOST and lost > _LOST_SHARE * top
    yield Finding(
        code="overfitting",
        severity="warning" if is_worse else "note",
        what=f"Since step {losses[best][0]} the evaluation loss has risen to {rise:.2f} times its "
        f"lowest, while the training loss fell to {trained:.2f}.",
        why="What is learned now helps on the training images only.",
        evidence={
            "best_evaluation_step": losses[best][0],
            "map_best": top,
            "map_now": scores[-1] if scores else None,
            "evaluation_losses": [{"step": step, "loss": loss} for step, loss in losses[-8:]],
        },
        fix=Fix(
            text="Take the checkpoint of the best evaluation, which is kept. To get further: more "
            "augmentations or images; --patience 3 stops in time.",
        ),
    )


def _around(history: History, step: int) -> float:
    """Give the training loss in the twentieth of the run that led to a step."""
    width = max(len(history) // 20, 10)
    end = int(np.searchsorted(history.steps, step, side="right"))
    part = history.loss[max(end - width, 0) : max(end, 1)]
    return max(float(np.median(part)), 1e-12)
