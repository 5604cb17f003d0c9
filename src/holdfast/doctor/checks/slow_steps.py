"""slow-steps: some steps take many times as long, or all get slower."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.curves import change, trend
from holdfast.doctor.finding import Finding, Fix

_FIRST = 3  # steps that build graphs
_FEWEST = 60
_SLOW = 3.0  # times the median
_SHARE = 0.2  # of the time
_SLOWER = 1.4  # times the first quarter, surely
_MUCH_SLOWER = 2.0
_RISES = 3.0  # standard deviations


@check("slow-steps", about="run", needs=("history",))
def slow_steps(case: Case) -> Iterator[Finding]:
    """Some steps take many times as long as others, or steps get slower as the run goes on.

    Why it happens: images of many shapes, other processes on the machine, memory that is swapped to
    disk, a machine that lowers its clock when it gets hot, a new trace of the step (retracing).

    How it is seen: without the first three steps and the waiting for images, steps of more than
    three times the median take a fifth of the time or more; or the last quarter surely takes 1.4
    times as long as the first, with a trend in between. Twice as much of either is a warning, else
    a note.

    What helps: look for what else runs; `holdfast plan` for memory; images of one size.
    """
    history = case.history
    seconds, steps = history.step_seconds[_FIRST:], history.steps[_FIRST:]
    if len(seconds) < _FEWEST or not seconds.any():
        return
    usual = float(np.median(seconds))
    slow = np.flatnonzero(seconds > _SLOW * usual)
    share = float(seconds[slow].sum() - usual * len(slow)) / float(seconds.sum())
    quarter = len(seconds) // 4
    drift = change(seconds[:quarter], seconds[-quarter:])
    gets_slower = drift.least >= _SLOWER and trend(seconds) >= _RISES
    if share < _SHARE and not gets_slower:
        return
    yield Finding(
        code="slow-steps",
        severity="warning"
        if share >= 2 * _SHARE or (gets_slower and drift.ratio >= _MUCH_SLOWER)
        else "note",
        what=f"Steps take {drift.ratio:.1f} times as long as at the beginning."
        if gets_slower
        else f"{share:.0%} of the time goes into {len(slow)} steps that take more than three times "
        "as long as the others.",
        why="The machine does something else meanwhile, or has to do more for some batches.",
        evidence={
            "usual_seconds": usual,
            "slowest_seconds": float(seconds.max()),
            "slow_steps": [int(steps[each]) for each in slow[:8]],
            "share_of_time": share,
            "last_over_first_quarter": drift.ratio,
        },
        fix=Fix(text="Look at what else runs on the machine, and whether it swaps memory."),
    )
