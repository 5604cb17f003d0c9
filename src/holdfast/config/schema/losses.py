"""Losses and the mining of hard examples."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from holdfast.config.schema.message import Deprecated, Message, OneOfs


class ExpectedLossWeights(IntEnum):
    """How expected losses replace explicit sampling."""

    NONE = 0
    EXPECTED_SAMPLING = 1
    REWEIGHTING_UNMATCHED_ANCHORS = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class Loss(Message):
    """The losses of a detector and their weights."""

    localization_loss: LocalizationLoss | None = None
    classification_loss: ClassificationLoss | None = None
    hard_example_miner: HardExampleMiner | None = None
    classification_weight: float = 1.0
    localization_weight: float = 1.0
    random_example_sampler: RandomExampleSampler | None = None
    equalization_loss: EqualizationLoss | None = None
    expected_loss_weights: ExpectedLossWeights = ExpectedLossWeights.NONE
    min_num_negative_samples: float = 0.0
    desired_negative_sampling_ratio: float = 3.0


@dataclass(frozen=True, kw_only=True, repr=False)
class EqualizationLoss(Message):
    """A penalty that evens out the weights of classes."""

    weight: float = 0.0
    exclude_prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class LocalizationLoss(Message):
    """Exactly one box loss."""

    oneofs: ClassVar[OneOfs] = {
        "localization_loss": (
            "weighted_l2",
            "weighted_smooth_l1",
            "weighted_iou",
            "l1_localization_loss",
            "weighted_giou",
        ),
    }

    weighted_l2: WeightedL2LocalizationLoss | None = None
    weighted_smooth_l1: WeightedSmoothL1LocalizationLoss | None = None
    weighted_iou: WeightedIOULocalizationLoss | None = None
    l1_localization_loss: L1LocalizationLoss | None = None
    weighted_giou: WeightedGIOULocalizationLoss | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightedL2LocalizationLoss(Message):
    """Half the squared difference."""

    deprecated: ClassVar[Deprecated] = {
        "anchorwise_output": "remove it; losses are always computed for each anchor",
    }

    anchorwise_output: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightedSmoothL1LocalizationLoss(Message):
    """Huber: quadratic up to delta, linear beyond."""

    deprecated: ClassVar[Deprecated] = {
        "anchorwise_output": "remove it; losses are always computed for each anchor",
    }

    anchorwise_output: bool = False
    delta: float = 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightedIOULocalizationLoss(Message):
    """1 - intersection over union."""


@dataclass(frozen=True, kw_only=True, repr=False)
class L1LocalizationLoss(Message):
    """Absolute difference."""


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightedGIOULocalizationLoss(Message):
    """1 - generalized intersection over union."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ClassificationLoss(Message):
    """Exactly one class loss."""

    oneofs: ClassVar[OneOfs] = {
        "classification_loss": (
            "weighted_sigmoid",
            "weighted_softmax",
            "weighted_logits_softmax",
            "bootstrapped_sigmoid",
            "weighted_sigmoid_focal",
            "penalty_reduced_logistic_focal_loss",
            "weighted_dice_classification_loss",
        ),
    }

    weighted_sigmoid: WeightedSigmoidClassificationLoss | None = None
    weighted_softmax: WeightedSoftmaxClassificationLoss | None = None
    weighted_logits_softmax: WeightedSoftmaxClassificationAgainstLogitsLoss | None = None
    bootstrapped_sigmoid: BootstrappedSigmoidClassificationLoss | None = None
    weighted_sigmoid_focal: SigmoidFocalClassificationLoss | None = None
    penalty_reduced_logistic_focal_loss: PenaltyReducedLogisticFocalLoss | None = None
    weighted_dice_classification_loss: WeightedDiceClassificationLoss | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightedSigmoidClassificationLoss(Message):
    """Independent sigmoid cross-entropy for each class."""

    deprecated: ClassVar[Deprecated] = {
        "anchorwise_output": "remove it; losses are always computed for each anchor",
    }

    anchorwise_output: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class SigmoidFocalClassificationLoss(Message):
    """Focal loss; alpha is used only when set."""

    deprecated: ClassVar[Deprecated] = {
        "anchorwise_output": "remove it; losses are always computed for each anchor",
    }

    anchorwise_output: bool = False
    gamma: float = 2.0
    alpha: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightedSoftmaxClassificationLoss(Message):
    """Softmax cross-entropy over the classes."""

    deprecated: ClassVar[Deprecated] = {
        "anchorwise_output": "remove it; losses are always computed for each anchor",
    }

    anchorwise_output: bool = False
    logit_scale: float = 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightedSoftmaxClassificationAgainstLogitsLoss(Message):
    """Softmax cross-entropy against targets given as logits."""

    deprecated: ClassVar[Deprecated] = {
        "anchorwise_output": "remove it; losses are always computed for each anchor",
    }

    anchorwise_output: bool = False
    logit_scale: float = 1.0


@dataclass(frozen=True, kw_only=True, repr=False)
class BootstrappedSigmoidClassificationLoss(Message):
    """Sigmoid loss whose targets are mixed with the predictions."""

    deprecated: ClassVar[Deprecated] = {
        "anchorwise_output": "remove it; losses are always computed for each anchor",
    }

    alpha: float = 0.0
    hard_bootstrap: bool = False
    anchorwise_output: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class PenaltyReducedLogisticFocalLoss(Message):
    """The heatmap focal loss of CenterNet."""

    alpha: float = 0.0
    beta: float = 0.0


class HardExampleLoss(IntEnum):
    """Which loss ranks the anchors."""

    BOTH = 0
    CLASSIFICATION = 1
    LOCALIZATION = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class HardExampleMiner(Message):
    """Keep the anchors with the largest loss."""

    num_hard_examples: int = 64
    iou_threshold: float = 0.7
    loss_type: HardExampleLoss = HardExampleLoss.BOTH
    max_negatives_per_positive: int = 0
    min_negatives_per_image: int = 0


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomExampleSampler(Message):
    """Sample anchors at random to a fraction of positives."""

    positive_sample_fraction: float = 0.01


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightedDiceClassificationLoss(Message):
    """Dice overlap loss for masks."""

    squared_normalization: bool = False
    is_prediction_probability: bool = False
