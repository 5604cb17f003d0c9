"""loss-diverged: the loss rises and stays high."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.curves import block_medians, change, first_level, last_level
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.rate_fix import doctor_command, scaled_rate

_FEWEST = 20  # steps
_BLOCKS = 20
_ABOVE_START = 1.5  # times, surely
_ABOVE_BEST = 3.0  # times, surely: it had learned, and lost it


@check("loss-diverged", about="run", needs=("history",))
def loss_diverged(case: Case) -> Iterator[Finding]:
    """The loss is surely higher than at the beginning, or far above what it had reached.

    Why it happens: steps are too long. Beyond a certain learning rate each step overshoots, the
    gradient of the next one is larger, and so on, until something saturates. A warm-up that is too
    short does the same to fresh heads on trained backbones.

    How it is seen: medians of the last tenth of the steps against the first ones, and against the
    best twentieth; the noise of the loss is taken off, so that a spike or a batch of one image is
    not taken for it. 1.5 times the beginning, or 3 times the best.

    What helps: a tenth of the learning rate; a warm-up; train_config.gradient_clipping_by_norm.
    """
    history = case.history
    loss = history.loss
    if len(history) < _FEWEST:
        return
    blocks = block_medians(loss, _BLOCKS)
    best = int(np.argmin(blocks))
    parts = np.array_split(np.arange(len(loss)), len(blocks))
    now = last_level(loss)
    against_start, against_best = change(first_level(loss), now), change(loss[parts[best]], now)
    lost = against_best.least >= _ABOVE_BEST and best < len(blocks) - 2
    if against_start.least < _ABOVE_START and not lost:
        return
    level = float(np.median(now))
    yield Finding(
        code="loss-diverged",
        severity="error",
        what=f"The loss is {level:.3g} now: {against_start.ratio:.2g} times what it was at the "
        f"beginning, {against_best.ratio:.2g} times its best.",
        why="Steps are too long: each one overshoots, and the next starts from a worse place.",
        evidence={
            "loss_first": float(np.median(first_level(loss))),
            "loss_best": float(blocks[best]),
            "best_at_steps": history.range_text(int(parts[best][0]), int(parts[best][-1])),
            "loss_now": level,
            "learning_rate_highest": float(history.rate.max()),
            "gradient_norm_now": float(np.median(last_level(history.gradient_norm))),
        },
        fix=Fix(
            text="Train with a tenth of the learning rate, and clip gradients.",
            set=scaled_rate(case, 0.1) | {"train_config.gradient_clipping_by_norm": "10"},
            command=doctor_command(case, "--learning-rate"),
        ),
    )
