"""The watch over a training's memory: what it is told, and who hears what it finds."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.memory.devices.device import CPU, GPU, device_limit, host_limit
from holdfast.memory.devices.gpu import gpu_bytes
from holdfast.memory.watch.leak_watch import LeakWatch
from holdfast.memory.watch.suspects import input_buffers
from holdfast.training.journal import Journal
from holdfast.training.reporter import Reporter
from holdfast.training.session import Session
from holdfast.training.surviving.recovery import RecoveringSteps
from holdfast.units import bytes_text


class Watching:
    """Looks at memory as the training goes, and warns.

    limit_bytes: what the training may hold on its device; by default what that has left.
    """

    def __init__(
        self,
        session: Session,
        journal: Journal,
        reporter: Reporter,
        stepper: RecoveringSteps,
        *,
        limit_bytes: int | None = None,
    ) -> None:
        self._session = session
        self._journal = journal
        self._reporter = reporter
        self._stepper = stepper
        limit = device_limit(CPU if gpu_bytes() is None else None, limit_bytes)
        on_gpu = limit.device == GPU
        self._watch = LeakWatch(
            limit_bytes=host_limit().bytes if on_gpu else limit.bytes,
            device_limit_bytes=limit.bytes if on_gpu else float("inf"),
            last_step=session.steps,
            traces=lambda: session.step.run.experimental_get_tracing_count(),
            buffers=self._buffers,
            device_bytes=gpu_bytes,
        )

    def look(self, step: int) -> bool:
        """Look after a step; tell whether it should be saved because memory will run out."""
        for growth in self._watch.look(step, self._stepper.shapes):
            self._journal.grown(growth)
            self._reporter.grows(growth)
        return self._watch.wants_checkpoint(step)

    def _buffers(self) -> Sequence[str]:
        found = input_buffers(self._stepper.batches)
        budget = bytes_text(self._session.settings.input_budget_bytes)
        return found or (f"a shuffle buffer that is bounded by {budget}",)
