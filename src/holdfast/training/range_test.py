"""A learning rate range test: some steps whose rate rises from far too low to far too high.

It trains in a folder of its own, which is gone afterwards: the run that is asked about does not
change (Smith 2015, arXiv 1506.01186, section 3.3).
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.config.schema.optimizer import (
    ExponentialDecayLearningRate,
    LearningRate,
    Optimizer,
)
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import HoldfastError
from holdfast.progress import Progress, silent
from holdfast.training.api import train
from holdfast.training.reporter import Reporter, TakenStep
from holdfast.training.step.training_step import TOTAL
from holdfast.training.surviving.failure import TrainingFailedError
from holdfast.training.training_settings import TrainingSettings

LOWEST, HIGHEST = 1e-6, 10.0
_BLOWN_UP = 6.0  # times the lowest loss so far: there is nothing more to learn from
_LEAST = 20  # steps before that is judged
_PENALTY = "Loss/regularization_loss"


@dataclass(frozen=True, kw_only=True)
class RangeTest:
    """The loss at each rate, in the order of the steps."""

    rates: tuple[float, ...]
    losses: tuple[float, ...]  # without the penalty of weights
    ended: str  # why no higher rate was tried


def range_test(
    config: TrainEvalPipelineConfig,
    *,
    steps: int = 100,
    lowest: float = LOWEST,
    highest: float = HIGHEST,
    settings: TrainingSettings | None = None,
    folder: Path | None = None,
    progress: Progress = silent,
) -> RangeTest:
    """Train some steps with a rate that rises by the same factor each, from the config's weights.

    It ends early when the loss has blown up. settings: seed, class weights and optimizer are those
    of a run. folder: where the config lies, as for `train`.
    """
    tested = _rising(config, steps, lowest, highest)
    seen = _Seen(steps, progress)
    given = settings or TrainingSettings()
    own = replace(
        given,
        steps=steps,
        checkpoint_every=steps + 1,
        vitals_every=None,
        optimization=replace(given.optimization, schedule=None),
    )
    ended = "the highest rate was reached"
    with tempfile.TemporaryDirectory(prefix="holdfast-range-") as place:
        try:
            train(tested, Path(place) / "run", settings=own, folder=folder, reporter=seen)
        except _BlownUpError:
            ended = "the loss had blown up"
        except TrainingFailedError:
            ended = "the loss was no longer a finite number"
    return RangeTest(rates=tuple(seen.rates), losses=tuple(seen.losses), ended=ended)


def _rising(
    config: TrainEvalPipelineConfig, steps: int, lowest: float, highest: float
) -> TrainEvalPipelineConfig:
    """Replace the schedule, and evaluate nothing."""
    training = config.train_config
    optimizer = training.optimizer if training is not None else None
    name = (optimizer or Optimizer()).which("optimizer")
    if training is None or optimizer is None or name is None:
        raise HoldfastError(
            "The config chooses no optimizer, so there is no learning rate to find.",
            fix="Write optimizer { momentum_optimizer { learning_rate { … } } }.",
        )
    rising = LearningRate(
        exponential_decay_learning_rate=ExponentialDecayLearningRate(
            initial_learning_rate=lowest,
            decay_steps=max(steps - 1, 1),
            decay_factor=highest / lowest,
            staircase=False,
        )
    )
    chosen = getattr(optimizer, name).replace(learning_rate=rising)
    return config.replace(
        train_config=training.replace(optimizer=optimizer.replace(**{name: chosen})),
        eval_input_reader=(),
    )


class _BlownUpError(Exception):
    """Ends the training from inside of a reporter."""


class _Seen(Reporter):
    """Keeps what each step says."""

    def __init__(self, steps: int, progress: Progress) -> None:
        self.rates: list[float] = []
        self.losses: list[float] = []
        self._steps = steps
        self._progress = progress

    def stepped(self, progress: TakenStep) -> None:
        """Keep a step; end the training when nothing more can be learned from it."""
        losses = progress.losses
        self.rates.append(progress.learning_rate)
        self.losses.append(losses[TOTAL] - losses.get(_PENALTY, 0.0))
        self._progress(progress.step, self._steps)
        latest = sorted(self.losses[-5:])[len(self.losses[-5:]) // 2]
        is_late = len(self.losses) >= _LEAST
        if is_late and (not math.isfinite(latest) or latest > _BLOWN_UP * min(self.losses)):
            raise _BlownUpError
