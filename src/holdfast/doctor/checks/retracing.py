"""retracing: the step's graph is built again and again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix

_FEWEST = 30  # steps
_LIKE_FIRST = 0.4  # of the first step's time, which built the graph
_OVER_USUAL = 5.0  # times
_COUNT = 3


@check("retracing", about="run", needs=("events", "history"))
def retracing(case: Case) -> Iterator[Finding]:
    """The step's graph is built anew during the run, each time for seconds and for good.

    Why it happens: TensorFlow builds a graph for each shape of its inputs. Images of many shapes,
    or a number that changes, make it build ever more; each costs time and memory that is not given
    back.

    How it is seen: the watch over memory names it; or three later steps take nearly as long as the
    first one (0.4 of it), and five times the usual.

    What helps: a resizer that gives one shape: fixed_shape_resizer, or pad_to_max_dimension: true.
    """
    causes = (event.values.get("cause") or {} for event in case.events if event.kind == "growth")
    named = next((each for each in causes if each.get("name") == "retracing"), None)
    seconds, steps = case.history.step_seconds, case.history.steps
    is_long = _long_steps(seconds) if len(seconds) >= _FEWEST else np.zeros(0, np.int64)
    if named is None and len(is_long) < _COUNT:
        return
    yield Finding(
        code="retracing",
        severity="warning",
        what="The step is traced again and again: "
        + (
            f"{named.get('detail')}."
            if named
            else f"{len(is_long)} steps took as long as the first."
        ),
        why="Each new shape of a batch builds a graph, which takes seconds, and memory for good.",
        evidence={
            "first_step_seconds": float(seconds[0]),
            "usual_seconds": float(np.median(seconds)),
            "long_steps": [int(steps[each]) for each in is_long[:8]],
            "noted_by_the_watch": named is not None,
        },
        fix=Fix(text="Let all images have one shape: pad_to_max_dimension: true in the resizer."),
    )


def _long_steps(seconds: np.ndarray) -> np.ndarray:
    first, usual = float(seconds[0]), float(np.median(seconds))
    least = max(_LIKE_FIRST * first, _OVER_USUAL * usual)
    return 1 + np.flatnonzero(seconds[1:] >= least)
