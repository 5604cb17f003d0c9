"""Layer hyperparameters: activation, normalization, initialization, regularization."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from holdfast.config.schema.message import Message, OneOfs


class HyperparamsOp(IntEnum):
    """The kind of layer."""

    CONV = 1
    FC = 2


class Activation(IntEnum):
    """The activation after the layer."""

    NONE = 0
    RELU = 1
    RELU_6 = 2
    SWISH = 3


@dataclass(frozen=True, kw_only=True, repr=False)
class Hyperparams(Message):
    """What one kind of layer (convolution or fully connected) is made with."""

    oneofs: ClassVar[OneOfs] = {
        "normalizer_oneof": (
            "batch_norm",
            "sync_batch_norm",
            "group_norm",
        ),
    }

    op: HyperparamsOp = HyperparamsOp.CONV
    regularizer: Regularizer | None = None
    initializer: Initializer | None = None
    activation: Activation = Activation.RELU
    batch_norm: BatchNorm | None = None
    sync_batch_norm: BatchNorm | None = None
    group_norm: GroupNorm | None = None
    regularize_depthwise: bool = False
    force_use_bias: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class Regularizer(Message):
    """Exactly one weight penalty."""

    oneofs: ClassVar[OneOfs] = {
        "regularizer_oneof": (
            "l1_regularizer",
            "l2_regularizer",
        ),
    }

    l1_regularizer: L1Regularizer | None = None
    l2_regularizer: L2Regularizer | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class L1Regularizer(Message):
    """weight * sum |w|."""

    weight: float = 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class L2Regularizer(Message):
    """weight * sum w^2 / 2."""

    weight: float = 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class Initializer(Message):
    """Exactly one way to draw the first weights."""

    oneofs: ClassVar[OneOfs] = {
        "initializer_oneof": (
            "truncated_normal_initializer",
            "variance_scaling_initializer",
            "random_normal_initializer",
            "keras_initializer_by_name",
        ),
    }

    truncated_normal_initializer: TruncatedNormalInitializer | None = None
    variance_scaling_initializer: VarianceScalingInitializer | None = None
    random_normal_initializer: RandomNormalInitializer | None = None
    keras_initializer_by_name: str = ""


@dataclass(frozen=True, kw_only=True, repr=False)
class TruncatedNormalInitializer(Message):
    """Normal, redrawn beyond two standard deviations."""

    mean: float = 0.0
    stddev: float = 1.0


class VarianceScalingMode(IntEnum):
    """Which fan divides the variance."""

    FAN_IN = 0
    FAN_OUT = 1
    FAN_AVG = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class VarianceScalingInitializer(Message):
    """Variance factor / fan; covers He and Glorot."""

    factor: float = 2.0
    uniform: bool = False
    mode: VarianceScalingMode = VarianceScalingMode.FAN_IN


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomNormalInitializer(Message):
    """Normal, not truncated."""

    mean: float = 0.0
    stddev: float = 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class BatchNorm(Message):
    """Batch normalization; decay is the momentum of the moving statistics."""

    decay: float = 0.999
    center: bool = True
    scale: bool = False
    epsilon: float = 0.001
    train: bool = True


@dataclass(frozen=True, kw_only=True, repr=False)
class GroupNorm(Message):
    """Group normalization, without settings."""
