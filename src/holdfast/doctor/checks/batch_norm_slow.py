"""batch-norm-slow: the moving statistics cannot follow within the run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from holdfast.config.schema.hyperparams import BatchNorm
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.network_facts import parts_of_kind, trains_batch_norm

# The share of the first statistics that is left in the last ones. With a fifth of mean 0 and
# variance 1 mixed in, scores are off; with most of it, evaluation is about another network.
_MUCH_LEFT, _MOST_LEFT = 0.2, 0.6
_WANTED_LEFT = 0.02


@check("batch-norm-slow", about="config", needs=("detector", "num_steps"))
def batch_norm_slow(case: Case) -> Iterator[Finding]:
    """The moving statistics of batch norm follow too slowly for the length of the run.

    Why it happens: published configs have a decay of 0.997 or 0.9997, for hundreds of thousands of
    steps. After 2000 steps at 0.9997, 55 % of the statistics are still those that the run began
    with. Training does not use them, so the loss looks fine; evaluation does, and finds little.

    How it is seen: decay to the power of num_steps, for batch norm that is not frozen. More than a
    fifth is a warning; more than 60 % without weights to start from an error.

    What helps: a decay by which a fiftieth is left, such as 0.99 for 400 steps and more.
    """
    if not trains_batch_norm(case.detector):
        return
    norms = {
        placed.path: norm
        for placed in parts_of_kind(case.model, BatchNorm)
        if isinstance(norm := placed.message, BatchNorm) and norm.train and 0 < norm.decay < 1
    }
    slow = {path: norm for path, norm in norms.items() if norm.decay**case.num_steps > _MUCH_LEFT}
    if not slow:
        return
    left = max(norm.decay for norm in slow.values()) ** case.num_steps
    starts = bool(case.train_config.fine_tune_checkpoint)
    wanted = _rounded(_WANTED_LEFT ** (1 / case.num_steps))
    yield Finding(
        code="batch-norm-slow",
        severity="error" if left > _MOST_LEFT and not starts else "warning",
        what=f"After {case.num_steps} steps, {left:.0%} of batch norm's moving statistics will "
        "still be those it began with.",
        why="Evaluation uses these statistics, training does not: mAP is low although the loss "
        "falls.",
        evidence={
            "decay": max(norm.decay for norm in slow.values()),
            "num_steps": case.num_steps,
            "share_left": left,
            "starts_from_weights": starts,
        },
        fix=Fix(
            text=f"Lower the decay to {wanted:g}, or train longer.",
            set={f"{path}.decay": f"{wanted:g}" for path in slow},
        ),
    )


def _rounded(decay: float) -> float:
    """Round down to one digit after the nines: 0.99218 becomes 0.992.

    >>> _rounded(0.99218), _rounded(0.9612)
    (0.992, 0.96)
    """
    digits = math.ceil(-math.log10(1 - decay)) if decay < 1 else 1
    scale = 10.0**digits
    return math.floor(decay * scale) / scale
