"""What a training tells while it runs; a command line, a notebook or a test listens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.evaluation.result import EvaluationResult
from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.memory.search.ladder import settings_text
from holdfast.memory.watch.leak_watch import Growth


@dataclass(frozen=True, kw_only=True)
class TrainingOutline:
    """What will be trained, on what."""

    steps: int
    start: int  # the first step to do; above 0: the run is resumed
    batch_size: int
    accumulation: int
    images: int
    boxes: int
    classes: int
    variables: int  # trained
    parameters: int  # numbers in them
    frozen: int  # variables
    device: str
    precision: str
    started_from: str  # what the weights are: a checkpoint, with what fitted, or fresh
    memory: MemoryPlan  # that is followed


@dataclass(frozen=True, kw_only=True)
class TakenStep:
    """What one step did."""

    step: int  # done, from 1
    losses: dict[str, float]
    learning_rate: float
    gradient_norm: float
    step_seconds: float
    input_seconds: float
    resident_bytes: int
    peak_bytes: int | None = None  # of the step, above the base; None: the system does not tell
    measures: Mapping[str, float] = field(default_factory=dict)  # by what follows the weights


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """Memory ran out, and the training goes on in another way."""

    step: int  # steps done, on which the next one builds
    before: StepSettings
    after: StepSettings
    reason: str  # what the runtime said
    trains_batch_norm: bool  # whose statistics are of what is computed at once
    repeated: int = 0  # steps done once more, because weights were torn

    def __str__(self) -> str:
        again = f"; the last {self.repeated} steps are done again" if self.repeated else ""
        text = (
            f"Out of memory after step {self.step + self.repeated} ({settings_text(self.before)}): "
            "continuing with the same batch and state in a cheaper way: "
            f"{settings_text(self.after)}{again}."
        )
        sees, saw = self.after.micro_batch, self.before.micro_batch
        if self.trains_batch_norm and sees < saw:
            text += f" Batch norm sees {sees} of its images at a time instead of {saw}."
        return text


class Reporter:
    """Hears everything and says nothing; override what you want to hear."""

    def note(self, text: str) -> None:
        """Hear something worth a line."""

    def started(self, plan: TrainingOutline) -> None:
        """Hear that the first step is about to be taken."""

    def recovered(self, recovery: Recovered) -> None:
        """Hear that memory ran out and what is done about it; as a note unless overridden."""
        self.note(str(recovery))

    def grows(self, growth: Growth) -> None:
        """Hear that memory grows and does not stop; as a note unless overridden."""
        self.note(str(growth))

    def stepped(self, progress: TakenStep) -> None:
        """Hear of a step."""

    def evaluating(self, done: int, total: int) -> None:
        """Hear how many images are evaluated."""

    def evaluated(self, step: int, result: EvaluationResult, is_best: bool) -> None:
        """Hear the result of an evaluation."""

    def saved(self, step: int, path: Any) -> None:
        """Hear of a checkpoint; no path: another process wrote it."""
