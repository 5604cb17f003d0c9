"""Each step's peak, booked against the plan that the training follows."""

from __future__ import annotations

import numpy as np

from holdfast.data.sample import Batch
from holdfast.memory.devices.gpu import count_device_peak_anew, gpu_bytes, recent_peak_above
from holdfast.memory.devices.host import resident_bytes
from holdfast.memory.plan import BatchShape, MemoryPlan
from holdfast.memory.watch.contract import HeldStep, Surplus, surplus_of
from holdfast.training.fitting.worst_batch import worst_of
from holdfast.training.journal import Journal
from holdfast.training.reporter import Reporter
from holdfast.training.session import Session

_SETTLED = 3  # steps after which what is held before one is what every step begins with
_GROWN = 1.05  # of the last surplus that was written down, until the next is


class MemoryContract:
    """Books steps; the first surplus is told, and one that is larger still is written down."""

    def __init__(self, session: Session, journal: Journal, reporter: Reporter) -> None:
        self._session = session
        self._journal = journal
        self._reporter = reporter
        self._planned: BatchShape | None = None
        self._can_count = True
        self._before: list[int] = []  # before the first steps
        self._before_now = 0
        self._last: Surplus | None = None

    def begin(self) -> None:
        """Begin to count the peak of a step."""
        self._can_count = self._can_count and count_device_peak_anew()
        self._before_now = self._held()
        if len(self._before) < _SETTLED:
            self._before.append(self._before_now)

    def stepped(self, step: int, batch: Batch) -> int | None:
        """Book a step, from 1; give its peak above the base, None where it cannot be told."""
        if not self._can_count:
            return None
        peak = recent_peak_above(self._session.base_bytes)
        plan = self._journal.plan_now
        if plan is not None and peak > plan.predicted_peak_bytes > 0:
            self._book(plan, step, peak, batch)
        return peak

    def _book(self, plan: MemoryPlan, step: int, peak: int, batch: Batch) -> None:
        session = self._session
        if self._planned is None:
            worst = worst_of(session.config, session.pipeline(), session.data.statistics)
            self._planned = worst.shape
        surplus = surplus_of(
            plan,
            self._planned,
            _held_step(step, peak, self._before_now, batch),
            first_before_bytes=self._before[-1],
        )
        if surplus is None or (
            self._last is not None and surplus.surplus_bytes < _GROWN * self._last.surplus_bytes
        ):
            return
        self._journal.exceeded(surplus)
        if self._last is None:
            self._reporter.note(str(surplus))
        self._last = surplus

    def _held(self) -> int:
        on_gpu = gpu_bytes()
        return resident_bytes() - self._session.base_bytes if on_gpu is None else on_gpu


def _held_step(step: int, peak: int, before: int, batch: Batch) -> HeldStep:
    sizes = np.asarray(batch.sizes)
    weights = np.asarray(batch.truth.weights)
    height, width = (int(side) for side in batch.images.shape[1:3])
    return HeldStep(
        step=step,
        peak_bytes=peak,
        before_bytes=before,
        shape=BatchShape(height=height, width=width, boxes=int(weights.shape[1])),
        images=[name.decode(errors="replace") for name in np.ravel(np.asarray(batch.source_ids))],
        boxes=[int(each) for each in (weights > 0.0).sum(axis=1)],
        pixels=[int(each) for each in sizes[:, 0] * sizes[:, 1]],
    )
