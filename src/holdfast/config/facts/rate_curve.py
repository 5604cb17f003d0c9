"""The learning rate of a config as a function of the step: plain numbers, no TensorFlow."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from holdfast.config.schema.message import Message
from holdfast.config.schema.optimizer import (
    ConstantLearningRate,
    CosineDecayLearningRate,
    ExponentialDecayLearningRate,
    ManualStepLearningRate,
    Optimizer,
)
from holdfast.config.validate.learning_rate import chosen_schedule

_WARMUP = ("warmup", "burnin")
_SAMPLES = 1000  # steps at which a curve is looked at: ends are found to a thousandth of the run


@dataclass(frozen=True, kw_only=True)
class RateCurve:
    """The schedule of an optimizer, and where it stands in the config."""

    schedule: Message
    path: str  # e.g. train_config.optimizer.momentum_optimizer.learning_rate.cosine_decay_…
    num_steps: int  # of the run

    def at(self, step: int) -> float:
        """Give the rate of a step, counted from 0, as the OD API does."""
        return rate_at(self.schedule, step)

    @cached_property
    def peak(self) -> float:
        """The highest rate of the run."""
        return max(self.at(step) for step in self.steps)

    @cached_property
    def settled(self) -> float:
        """The highest rate after the warm-up, which may have begun above it."""
        later = [self.at(step) for step in self.steps if step >= self.warmup_steps]
        return max(later, default=self.peak)

    @property
    def meant(self) -> float:
        """The rate that the warm-up rises to, also where the run is over before."""
        match self.schedule:
            case CosineDecayLearningRate(learning_rate_base=base):
                return base
            case ManualStepLearningRate(warmup=True, schedule=(first, *_)):
                return first.learning_rate
            case ExponentialDecayLearningRate(initial_learning_rate=rate):
                return rate
        return self.peak

    @cached_property
    def mean(self) -> float:
        """The mean rate over the run."""
        return sum(self.at(step) for step in self.steps) / len(self.steps)

    @property
    def steps(self) -> range:
        """Steps of the run, evenly spread."""
        return range(0, self.num_steps, max(self.num_steps // _SAMPLES, 1))

    @property
    def rate_fields(self) -> tuple[str, ...]:
        """The fields that hold rates, below `path`; scaled together they scale the curve."""
        match self.schedule:
            case ConstantLearningRate():
                return ("learning_rate",)
            case CosineDecayLearningRate():
                return ("learning_rate_base", "warmup_learning_rate")
            case ExponentialDecayLearningRate():
                return ("initial_learning_rate", "burnin_learning_rate")
            case ManualStepLearningRate(schedule=entries):
                listed = (f"schedule[{index}].learning_rate" for index in range(len(entries)))
                return ("initial_learning_rate", *listed)
        return ()

    def scaled(self, factor: float) -> dict[str, str]:
        """Give the fields and values, as --set takes them, that multiply the rates by a factor."""
        values = {name: _value(self.schedule, name) for name in self.rate_fields}
        main, *others = self.rate_fields
        for name in others:  # a warm-up that begins low enough may stay as it is
            if name.startswith(_WARMUP) and 2 * values[name] <= values[main] * factor:
                del values[name]
        return {
            f"{self.path}.{name}": f"{value * factor:.3g}"
            for name, value in values.items()
            if value
        }

    @property
    def warmup_steps(self) -> int:
        """How many steps the rate rises for, by the config; they may outlast the run."""
        match self.schedule:
            case CosineDecayLearningRate(warmup_steps=steps):
                return steps
            case ExponentialDecayLearningRate(burnin_steps=steps):
                return steps if self.schedule.burnin_learning_rate else 0
            case ManualStepLearningRate(warmup=True, schedule=(first, *_)):
                return first.step
        return 0

    @property
    def warmup_field(self) -> str:
        """The path of the field that says so."""
        match self.schedule:
            case ExponentialDecayLearningRate():
                return f"{self.path}.burnin_steps"
            case ManualStepLearningRate():
                return f"{self.path}.schedule[0].step"
        return f"{self.path}.warmup_steps"


def rate_curve(optimizer: Optimizer, num_steps: int) -> RateCurve | None:
    """Give the curve of an optimizer over a run; None without a schedule or a step."""
    path, schedule = chosen_schedule(optimizer)
    if schedule is None or num_steps < 1:
        return None
    return RateCurve(schedule=schedule, path=path, num_steps=num_steps)


def rate_at(schedule: Message, step: int) -> float:
    """Give the learning rate of a step.

    >>> rate_at(CosineDecayLearningRate(learning_rate_base=1.0, total_steps=10, warmup_steps=0), 5)
    0.5
    """
    match schedule:
        case ConstantLearningRate():
            return schedule.learning_rate
        case ExponentialDecayLearningRate():
            return _exponential(schedule, step)
        case ManualStepLearningRate():
            return _manual(schedule, step)
        case CosineDecayLearningRate():
            return _cosine(schedule, step)
    raise ValueError(f"{type(schedule).__name__} is not a schedule.")


def _exponential(schedule: ExponentialDecayLearningRate, step: int) -> float:
    if step < schedule.burnin_steps:
        rate = schedule.burnin_learning_rate or schedule.initial_learning_rate
    else:
        decays = (step - schedule.burnin_steps) / max(schedule.decay_steps, 1)
        decays = math.floor(decays) if schedule.staircase else decays
        rate = schedule.initial_learning_rate * schedule.decay_factor**decays
    return max(rate, schedule.min_learning_rate)


def _manual(schedule: ManualStepLearningRate, step: int) -> float:
    boundaries = [entry.step for entry in schedule.schedule]
    rates = [schedule.initial_learning_rate, *(each.learning_rate for each in schedule.schedule)]
    if schedule.warmup and boundaries and step < boundaries[0]:
        return rates[0] + (rates[1] - rates[0]) * step / boundaries[0]
    return rates[bisect_right(boundaries, step)]


def _cosine(schedule: CosineDecayLearningRate, step: int) -> float:
    base, warmup = schedule.learning_rate_base, schedule.warmup_steps
    if step > schedule.total_steps:
        return 0.0
    if step < warmup:
        first = schedule.warmup_learning_rate
        return first + (base - first) * step / warmup
    start = warmup + schedule.hold_base_rate_steps
    if step <= start:
        return base
    return 0.5 * base * (1 + math.cos(math.pi * (step - start) / (schedule.total_steps - start)))


def _value(schedule: Message, name: str) -> float:
    if not name.startswith("schedule["):
        return float(getattr(schedule, name))
    assert isinstance(schedule, ManualStepLearningRate)
    return schedule.schedule[int(name[len("schedule[") : name.index("]")])].learning_rate
