"""How fast a training goes, and how long it will still take."""

from __future__ import annotations

from collections import deque

_LATEST = 50  # steps that tell the pace
_SURE = 5  # so many, and it is worth being told


class Pace:
    """Learns from steps and evaluations; the first step, which builds the graph, says nothing.

    >>> pace = Pace(steps=10, evaluate_every=5)
    >>> for seconds in (30.0, 2.0, 2.0):
    ...     pace.stepped(seconds, input_seconds=1.0)
    >>> pace.step_seconds, pace.input_share, pace.seconds_left(4)
    (3.0, 0.3333333333333333, 18.0)
    >>> pace.evaluated(7.0)
    >>> pace.seconds_left(5)  # five steps, and the evaluation at the end
    22.0
    """

    def __init__(self, *, steps: int, evaluate_every: int) -> None:
        self.steps = steps
        self.evaluate_every = evaluate_every
        self.first_seconds: float | None = None
        self._latest: deque[tuple[float, float]] = deque(maxlen=_LATEST)
        self._evaluation_seconds = 0.0

    def stepped(self, step_seconds: float, input_seconds: float) -> None:
        """Learn from a step."""
        if self.first_seconds is None:
            self.first_seconds = step_seconds + input_seconds
        else:
            self._latest.append((step_seconds, input_seconds))

    def evaluated(self, seconds: float) -> None:
        """Learn how long an evaluation takes."""
        self._evaluation_seconds = seconds

    @property
    def is_sure(self) -> bool:
        """Whether enough steps were seen to foretell the rest."""
        return len(self._latest) >= _SURE

    @property
    def step_seconds(self) -> float | None:
        """The time of a step with its wait for images; None before it is known."""
        if not self._latest:
            return None
        return sum(step + wait for step, wait in self._latest) / len(self._latest)

    @property
    def input_share(self) -> float:
        """The share of the time in which the network waits for images."""
        total = sum(step + wait for step, wait in self._latest)
        return sum(wait for _, wait in self._latest) / total if total else 0.0

    def seconds_left(self, step: int) -> float | None:
        """Foretell the rest after a step, with the evaluations once one was seen."""
        if self.step_seconds is None:
            return None
        evaluations = self._evaluations(self.steps) - self._evaluations(step)
        return (self.steps - step) * self.step_seconds + evaluations * self._evaluation_seconds

    def _evaluations(self, step: int) -> int:
        """Count the evaluations up to a step; the last step always has one."""
        at_end = step == self.steps and step % self.evaluate_every
        return step // self.evaluate_every + bool(at_end)
