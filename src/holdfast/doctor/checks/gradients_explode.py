"""gradients-explode: gradients jump, or grow without end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.curves import block_medians, change, last_level, noise
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.rate_fix import scaled_rate

_FEWEST = 60  # steps
_FIRST = 20  # steps that are let pass: fresh heads start with large gradients
_JUMP = 25.0  # times the median of the run, or more where
_SCATTER = 6.0  # deviations of their logarithms, from step to step, are more
_JUMP_COUNT, _JUMP_SHARE = 3, 0.005
_GREW = 20.0  # times the lowest part of the run, surely
_BLOCKS = 20


@check("gradients-explode", about="run", needs=("history",))
def gradients_explode(case: Case) -> Iterator[Finding]:
    """Gradients jump to many times their usual size, again and again, or grow without end.

    Why it happens: a rate at the edge of what is stable, boxes with sides of almost no pixels
    (whose targets are huge), or a few broken images.

    How it is seen: steps after the twentieth whose gradient norm is more than 25 times the median
    of the run (more where batches of one image scatter them), three of them and 0.5 % of the steps
    at least: a warning. A median of the last tenth that is surely 20 times the lowest twentieth: an
    error.

    What helps: train_config.gradient_clipping_by_norm: 10, a lower rate, and to look at the images
    of such a step.
    """
    history = case.history
    if len(history) < _FEWEST:
        return
    norms, steps = history.gradient_norm[_FIRST:], history.steps[_FIRST:]
    usual = float(np.median(norms))
    scatter = noise(np.log(np.maximum(norms, 1e-12)))
    times = max(_JUMP, float(np.exp(_SCATTER * scatter)))
    jumps = np.flatnonzero(norms > times * usual)
    blocks = block_medians(norms, _BLOCKS)
    lowest = int(np.argmin(blocks))
    part = np.array_split(norms, len(blocks))[lowest]
    growth = change(part, last_level(norms))
    grows = growth.least >= _GREW and lowest < len(blocks) - 2
    if not grows and len(jumps) < max(_JUMP_COUNT, _JUMP_SHARE * len(norms)):
        return
    evidence: dict[str, Any] = {
        "usual_norm": usual,
        "largest_norm": float(norms.max()),
        "jumps": len(jumps),
        "at_steps": [int(steps[each]) for each in jumps[:8]],
        "growth_since_lowest": growth.ratio,
    }
    yield Finding(
        code="gradients-explode",
        severity="error" if grows else "warning",
        what=f"Gradients have grown to {growth.ratio:.0f} times their lowest."
        if grows
        else f"In {len(jumps)} steps the gradient was over {times:.0f} times as large as usual.",
        why="One such step undoes what many others learned.",
        evidence=evidence,
        fix=Fix(
            text="Clip gradients" + (", and lower the rate." if grows else "."),
            set={"train_config.gradient_clipping_by_norm": "10"}
            | (scaled_rate(case, 0.3) if grows else {}),
        ),
    )
