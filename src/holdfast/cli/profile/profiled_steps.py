"""Listens to a training, and traces some of its steps."""

from __future__ import annotations

from holdfast.memory.plan import MemoryPlan
from holdfast.profiling.step_profile import StepProfile, profile_of
from holdfast.profiling.step_profiler import StepProfiler
from holdfast.progress import Progress
from holdfast.training.reporter import Reporter, TakenStep, TrainingOutline


class ProfiledSteps(Reporter):
    """Has the profile once the steps are done."""

    def __init__(self, profiler: StepProfiler, progress: Progress) -> None:
        self.profile: StepProfile | None = None
        self.plan: MemoryPlan | None = None
        self._profiler = profiler
        self._progress = progress

    def started(self, plan: TrainingOutline) -> None:
        """Keep the plan; the first step may be traced already."""
        self.plan = plan.memory
        self._profiler.done(plan.start)

    def stepped(self, progress: TakenStep) -> None:
        """Begin or end the trace where it is time."""
        self._progress(progress.step, self._profiler.first + self._profiler.count - 1)
        file = self._profiler.done(progress.step)
        if file is not None:
            self.profile = profile_of(file, self._profiler.folder)
