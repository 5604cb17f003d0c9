"""How long the steps of a run took, and how long they waited for input."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from holdfast.runs.events import Event

_WARM_UP = 5  # steps: the first one is traced, and buffers fill


def step_times(steps: Sequence[Event]) -> list[tuple[float, float]]:
    """List seconds of computing and of waiting for input, of each step that says so."""
    settled = steps[_WARM_UP:] or steps
    times = [
        (each.values.get("step_seconds"), each.values.get("input_seconds")) for each in settled
    ]
    return [
        (float(computing), float(waiting))
        for computing, waiting in times
        if isinstance(computing, int | float) and isinstance(waiting, int | float)
    ]


def waiting_share(steps: Sequence[Event]) -> float:
    """Give the share of the steps' time that is waiting for input; 0 where it is not known."""
    times = step_times(steps)
    total = sum(computing + waiting for computing, waiting in times)
    return sum(waiting for _, waiting in times) / total if total > 0 else 0.0


def seconds_of_step(steps: Sequence[Event]) -> float:
    """Give the median time of a step, its waiting included; 0 where it is not known."""
    times = [computing + waiting for computing, waiting in step_times(steps)]
    return median(times) if times else 0.0
