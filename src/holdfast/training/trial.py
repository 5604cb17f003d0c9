"""Short trainings side by side: the same start, with and without a change, and another seed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.checkpoints.own.saved_checkpoints import Checkpoint
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.evaluation.result import EvaluationResult
from holdfast.memory.plan import MemoryPlan, read_plan
from holdfast.progress import Progress, Watch, unwatched
from holdfast.runs.manifest import RunManifest
from holdfast.runs.run import CHECKPOINTS_NAME, Run
from holdfast.training.api import train
from holdfast.training.open_journal import OPTIMIZATION, open_journal
from holdfast.training.optimization_choice import OptimizationChoice
from holdfast.training.reporter import Reporter, TakenStep
from holdfast.training.step.training_step import TOTAL
from holdfast.training.surviving.failure import TrainingFailedError
from holdfast.training.surviving.out_of_memory import release
from holdfast.training.training_settings import TrainingSettings

_PENALTY = "Loss/regularization_loss"


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One of the trainings that are compared."""

    name: str
    config: TrainEvalPipelineConfig
    settings: TrainingSettings  # its lengths and intervals do not count


@dataclass(frozen=True, kw_only=True)
class ArmOutcome:
    """What came of it."""

    name: str
    rates: tuple[float, ...]  # of each step
    losses: tuple[float, ...]  # without the penalty of weights
    evaluation: EvaluationResult | None  # of the last step; None without data, or if it failed
    failed: str | None = None  # what ended it before


def settings_of(manifest: RunManifest) -> TrainingSettings:
    """Give what was decided about a run beyond its config, and changes what it learns."""
    return TrainingSettings(
        seed=manifest.seed,
        class_weights=manifest.facts.get("class_weights"),
        optimization=OptimizationChoice(**(manifest.facts.get(OPTIMIZATION) or {})),
    )


def try_arms(
    arms: Sequence[Arm],
    place: Path,
    *,
    steps: int,
    checkpoint: Checkpoint | None = None,
    folder: Path | None = None,
    watch: Watch = unwatched,
) -> tuple[ArmOutcome, ...]:
    """Train each arm for some steps below `place`, and evaluate it at the end.

    checkpoint: of a run, from which each goes on; None: they start as their configs say. folder:
    where the configs lie, as for `train`.
    """
    start = 0 if checkpoint is None else checkpoint.step
    outcomes: list[ArmOutcome] = []
    plan: MemoryPlan | None = None
    for number, arm in enumerate(arms):
        settings = replace(
            arm.settings,
            steps=start + steps,
            evaluate_every=start + steps,
            checkpoint_every=start + steps,
            keep=1,
            plan=plan if _computes_alike(arm, arms[0]) else None,
        )
        path = place / f"trial-{number}"
        if checkpoint is not None:
            _fork(arm, path, settings, folder or Path(), checkpoint)
        with watch(arm.name, "steps") as progress:
            outcomes.append(_trained(arm, path, settings, folder, _Seen(start, steps, progress)))
        plan = plan or _plan_of(path)
        release()
    return tuple(outcomes)


def _trained(
    arm: Arm, path: Path, settings: TrainingSettings, folder: Path | None, seen: _Seen
) -> ArmOutcome:
    failed = None
    try:
        train(arm.config, path, settings=settings, folder=folder, reporter=seen)
    except TrainingFailedError as error:
        failed = error.message
    return ArmOutcome(
        name=arm.name,
        rates=tuple(seen.rates),
        losses=tuple(seen.losses),
        evaluation=seen.evaluation,
        failed=failed,
    )


def _fork(
    arm: Arm, path: Path, settings: TrainingSettings, folder: Path, checkpoint: Checkpoint
) -> None:
    """Make a run of the arm's own config that is as far as the checkpoint."""
    with open_journal(arm.config.replace(folder=str(folder)), path, settings, folder):
        target = path / CHECKPOINTS_NAME / checkpoint.path.name
        shutil.copytree(checkpoint.path, target)


def _computes_alike(arm: Arm, other: Arm) -> bool:
    """Tell whether the step of one needs as much memory as that of the other."""
    return arm.config.model == other.config.model and _batch(arm) == _batch(other)


def _batch(arm: Arm) -> int | None:
    return arm.config.train_config.batch_size if arm.config.train_config is not None else None


def _plan_of(path: Path) -> MemoryPlan | None:
    document = Run.open(path).manifest.plan
    return None if document is None else read_plan(document)


@dataclass(kw_only=False)
class _Seen(Reporter):
    """Keeps what each step says, and the evaluation."""

    start: int
    steps: int
    progress: Progress
    rates: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    evaluation: EvaluationResult | None = None

    def stepped(self, progress: TakenStep) -> None:
        """Keep a step."""
        self.rates.append(progress.learning_rate)
        self.losses.append(progress.losses[TOTAL] - progress.losses.get(_PENALTY, 0.0))
        self.progress(progress.step - self.start, self.steps)

    def evaluated(self, step: int, result: EvaluationResult, is_best: bool) -> None:
        """Keep the evaluation."""
        self.evaluation = result
