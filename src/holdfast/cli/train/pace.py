"""How fast a training goes, and how long it will still take."""

from __future__ import annotations

import math
from collections import deque

_LATEST = 50  # steps that tell the pace
_SURE = 5  # so many, and it is worth being told
_FORWARD = 1 / 3  # of a training step's time: what an image costs that is only evaluated
_BUILDING = 1 / 2  # of the first step's time: what the graph of the evaluation takes


class MeasuredPace:
    """Learns from steps, evaluations and checkpoints; the first step builds the graph.

    >>> pace = MeasuredPace(steps=10, evaluate_every=5, checkpoint_every=100, batch_size=8)
    >>> for seconds in (30.0, 2.0, 2.0):
    ...     pace.stepped(seconds, input_seconds=1.0)
    >>> pace.step_seconds, pace.input_share, pace.seconds_left(4)
    (3.0, 0.3333333333333333, 18.0)
    >>> pace.evaluated(7.0)
    >>> pace.seconds_left(6)  # four steps, and the evaluation at the end
    19.0
    """

    def __init__(
        self,
        *,
        steps: int,
        evaluate_every: int,
        checkpoint_every: int,
        batch_size: int,
        evaluation_images: int = 0,
    ) -> None:
        self.steps = steps
        self.evaluate_every = evaluate_every
        self.checkpoint_every = checkpoint_every
        self.first_seconds: float | None = None
        self._batches = evaluation_images / batch_size  # of the training's size, to evaluate
        self._latest: deque[tuple[float, float]] = deque(maxlen=_LATEST)
        self._evaluation_seconds: float | None = None
        self._checkpoint_seconds = 0.0

    def stepped(self, step_seconds: float, input_seconds: float) -> None:
        """Learn from a step."""
        if self.first_seconds is None:
            self.first_seconds = step_seconds + input_seconds
        else:
            self._latest.append((step_seconds, input_seconds))

    def evaluated(self, seconds: float) -> None:
        """Learn how long an evaluation takes."""
        self._evaluation_seconds = seconds

    def saved(self, seconds: float) -> None:
        """Learn how long a checkpoint takes."""
        self._checkpoint_seconds = seconds

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
        """Foretell the rest after a step, whose own checkpoint and evaluation are still to come.

        What was not seen yet is estimated from the steps; a checkpoint, which is short, is not.
        """
        if self.step_seconds is None:
            return None
        evaluations = self._evaluations(self.steps) - self._evaluations(step - 1)
        checkpoints = self._checkpoints(self.steps) - self._checkpoints(step - 1)
        return (
            (self.steps - step) * self.step_seconds
            + self._seconds_of(evaluations)
            + checkpoints * self._checkpoint_seconds
        )

    def _seconds_of(self, evaluations: int) -> float:
        if self._evaluation_seconds is not None:
            return evaluations * self._evaluation_seconds
        if not evaluations or not self._batches:
            return 0.0
        building = _BUILDING * (self.first_seconds or 0.0)  # the first time only
        return building + evaluations * self._batches * (self.step_seconds or 0.0) * _FORWARD

    def _evaluations(self, step: int) -> int:
        """Count the evaluations up to a step; the last step always has one."""
        at_end = step == self.steps and step % self.evaluate_every
        return step // self.evaluate_every + bool(at_end)

    def _checkpoints(self, step: int) -> int:
        """Count the checkpoints up to a step; one comes before each evaluation."""
        both = math.lcm(self.checkpoint_every, self.evaluate_every)
        alone = step // self.checkpoint_every - step // both
        is_last = step == self.steps and step % self.evaluate_every
        extra = is_last and step % self.checkpoint_every == 0  # counted already
        return self._evaluations(step) + alone - bool(extra)
