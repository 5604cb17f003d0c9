"""Optimizers and learning-rate schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from holdfast.config.schema.message import Message, OneOfs, UInt32


@dataclass(frozen=True, kw_only=True, repr=False)
class Optimizer(Message):
    """Exactly one optimizer, and whether weights are averaged."""

    oneofs: ClassVar[OneOfs] = {
        "optimizer": (
            "rms_prop_optimizer",
            "momentum_optimizer",
            "adam_optimizer",
        ),
    }

    rms_prop_optimizer: RMSPropOptimizer | None = None
    momentum_optimizer: MomentumOptimizer | None = None
    adam_optimizer: AdamOptimizer | None = None
    use_moving_average: bool = True
    moving_average_decay: float = 0.9999


@dataclass(frozen=True, kw_only=True, repr=False)
class RMSPropOptimizer(Message):
    """RMSProp."""

    learning_rate: LearningRate | None = None
    momentum_optimizer_value: float = 0.9
    decay: float = 0.9
    epsilon: float = 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class MomentumOptimizer(Message):
    """Gradient descent with momentum."""

    learning_rate: LearningRate | None = None
    momentum_optimizer_value: float = 0.9


@dataclass(frozen=True, kw_only=True, repr=False)
class AdamOptimizer(Message):
    """Adam."""

    learning_rate: LearningRate | None = None
    epsilon: float = 1e-08


@dataclass(frozen=True, kw_only=True, repr=False)
class LearningRate(Message):
    """Exactly one schedule."""

    oneofs: ClassVar[OneOfs] = {
        "learning_rate": (
            "constant_learning_rate",
            "exponential_decay_learning_rate",
            "manual_step_learning_rate",
            "cosine_decay_learning_rate",
        ),
    }

    constant_learning_rate: ConstantLearningRate | None = None
    exponential_decay_learning_rate: ExponentialDecayLearningRate | None = None
    manual_step_learning_rate: ManualStepLearningRate | None = None
    cosine_decay_learning_rate: CosineDecayLearningRate | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class ConstantLearningRate(Message):
    """The same learning rate throughout."""

    learning_rate: float = 0.002


@dataclass(frozen=True, kw_only=True, repr=False)
class ExponentialDecayLearningRate(Message):
    """Multiply by a factor every decay_steps, with burn-in."""

    initial_learning_rate: float = 0.002
    decay_steps: UInt32 = 4000000
    decay_factor: float = 0.95
    staircase: bool = True
    burnin_learning_rate: float = 0.0
    burnin_steps: UInt32 = 0
    min_learning_rate: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class ManualStepLearningRate(Message):
    """A list of steps and rates, with optional warm-up."""

    initial_learning_rate: float = 0.002
    schedule: tuple[LearningRateSchedule, ...] = ()
    warmup: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class LearningRateSchedule(Message):
    """From this step on, this rate."""

    step: UInt32 = 0
    learning_rate: float = 0.002


@dataclass(frozen=True, kw_only=True, repr=False)
class CosineDecayLearningRate(Message):
    """Warm-up, hold, then half a cosine down to zero at total_steps."""

    learning_rate_base: float = 0.002
    total_steps: UInt32 = 4000000
    warmup_learning_rate: float = 0.0002
    warmup_steps: UInt32 = 10000
    hold_base_rate_steps: UInt32 = 0
