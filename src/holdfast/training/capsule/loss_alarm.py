"""When a step is worth a capsule: asked for, or a loss that jumps."""

from __future__ import annotations

import math
import statistics
from collections import deque

KNOWN_STEPS = 100  # whose median a loss is compared with
FEWEST_STEPS = 50  # known before a loss can be called a spike
SPIKE_FACTOR = 5.0
MOST_SPIKES = 3  # capsules of a run's process that nobody asked for
REST_STEPS = 50  # after a spike, until the next can be one

REQUESTED, SPIKE, NOT_FINITE, OUT_OF_MEMORY = "requested", "spike", "not_finite", "out_of_memory"


class LossAlarm:
    """Says above which loss a step is held back until its capsule is written.

    A spike is a total loss above SPIKE_FACTOR times the median of the last KNOWN_STEPS, once
    FEWEST_STEPS are known. All processes of a training see the same losses, and thus agree.
    """

    def __init__(self, requested: frozenset[int] = frozenset()) -> None:
        self._requested = requested  # numbers of steps, from 1
        self._losses: deque[float] = deque(maxlen=KNOWN_STEPS)
        self._spikes = 0
        self._rest = 0

    def highest(self, step: int) -> float:
        """Give the highest loss that the step with this number, from 1, may have.

        >>> alarm = LossAlarm(frozenset({2}))
        >>> alarm.highest(1), alarm.highest(2)
        (inf, -inf)
        """
        if step in self._requested:
            return -math.inf
        may_be_one = self._spikes < MOST_SPIKES and not self._rest
        if not may_be_one or len(self._losses) < FEWEST_STEPS:
            return math.inf
        return SPIKE_FACTOR * statistics.median(self._losses)

    def why(self, step: int, loss: float) -> str:
        """Say why a step was held; the reason is noted."""
        if not math.isfinite(loss):
            return NOT_FINITE
        if step in self._requested:
            return REQUESTED
        self._spikes += 1
        self._rest = REST_STEPS
        return SPIKE

    def text(self, why: str, loss: float) -> str:
        """Say in a sentence what a capsule is about."""
        match why:
            case "requested":
                return f"Asked for; the loss is {loss:.4g}."
            case "spike":
                usual = statistics.median(self._losses)
                return f"The loss is {loss:.4g}, {loss / usual:.0f} times the usual {usual:.4g}."
        return f"The loss is {loss}."

    def stepped(self, loss: float) -> None:
        """Hear the total loss of a step that was taken."""
        if math.isfinite(loss):
            self._losses.append(loss)
        self._rest = max(0, self._rest - 1)
