"""Turn the config's loss blocks into loss functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from holdfast.config.keywords import all_keywords
from holdfast.config.part_choices import PartChoice, chosen_part
from holdfast.config.schema import losses as schema
from holdfast.errors import HoldfastError
from holdfast.geometry.tensor import Tensor
from holdfast.losses import classification, localization
from holdfast.losses.heatmap import penalty_reduced_focal
from holdfast.losses.loss_registry import (
    CLASSIFICATION_LOSSES,
    COMPARES_BOXES,
    LOCALIZATION_LOSSES,
)
from holdfast.losses.mining import HardMiner

AnchorLoss = Callable[[Tensor, Tensor, Tensor], Tensor]  # predictions, targets, weights -> (B, A)
Choices = Sequence[PartChoice]  # losses of a user's own take the place of the config's


def build_classification_loss(
    config: schema.ClassificationLoss, choices: Choices = ()
) -> AnchorLoss:
    """Make the class loss of anchors or proposals."""
    if (own := chosen_part(choices, "classification_loss")) is not None:
        function = partial(CLASSIFICATION_LOSSES[own.name], **dict(own.keywords))
        return classification.of_dense_targets(function)
    chosen = config.chosen("classification_loss")
    match chosen:
        case schema.WeightedSigmoidClassificationLoss():
            return classification.sigmoid
        case schema.SigmoidFocalClassificationLoss(gamma=gamma, alpha=alpha):
            # In the OD API an alpha that is not set is no alpha at all, not 0.
            own_alpha = alpha if chosen.has("alpha") else None
            return partial(classification.sigmoid_focal, gamma=gamma, alpha=own_alpha)
        case schema.WeightedSoftmaxClassificationLoss(logit_scale=scale):
            return partial(classification.softmax, logit_scale=scale)
        case schema.WeightedSoftmaxClassificationAgainstLogitsLoss(logit_scale=scale):
            return partial(classification.softmax_against_logits, logit_scale=scale)
        case schema.BootstrappedSigmoidClassificationLoss(alpha=alpha, hard_bootstrap=hard):
            return partial(classification.bootstrapped_sigmoid, alpha=alpha, hard_bootstrap=hard)
    raise HoldfastError(
        "classification_loss chooses no loss for anchors.",
        fix="Write classification_loss { weighted_sigmoid_focal { alpha: 0.25 gamma: 2.0 } }",
    )


def build_heatmap_loss(config: schema.ClassificationLoss) -> AnchorLoss:
    """Make the loss of the cells of heatmaps and masks."""
    match config.chosen("classification_loss"):
        case schema.PenaltyReducedLogisticFocalLoss(alpha=alpha, beta=beta):
            return partial(penalty_reduced_focal, alpha=alpha, beta=beta)
    return build_classification_loss(config)


def build_localization_loss(config: schema.LocalizationLoss, choices: Choices = ()) -> AnchorLoss:
    """Make the box loss; see `compares_boxes` for what it takes."""
    if (own := chosen_part(choices, "localization_loss")) is not None:
        return partial(LOCALIZATION_LOSSES[own.name], **dict(own.keywords))
    match config.chosen("localization_loss"):
        case schema.WeightedL2LocalizationLoss():
            return localization.l2
        case schema.WeightedSmoothL1LocalizationLoss(delta=delta):
            return partial(localization.smooth_l1, delta=delta)
        case schema.L1LocalizationLoss():
            return localization.l1
        case schema.WeightedIOULocalizationLoss():
            return localization.iou_loss
        case schema.WeightedGIOULocalizationLoss():
            return localization.giou_loss
    raise HoldfastError(
        "localization_loss chooses no loss.",
        fix="Write localization_loss { weighted_smooth_l1 { } }",
    )


def compares_boxes(config: schema.LocalizationLoss, choices: Choices = ()) -> bool:
    """Tell whether the box loss takes decoded boxes instead of codes."""
    if (own := chosen_part(choices, "localization_loss")) is not None:
        return own.name in COMPARES_BOXES
    return config.which("localization_loss") in ("weighted_iou", "weighted_giou")


def build_miner(config: schema.Loss) -> HardMiner | None:
    """Make the hard-example miner, if the config has one."""
    if config.hard_example_miner is None:
        return None
    return HardMiner(
        **all_keywords(config.hard_example_miner),
        classification_weight=config.classification_weight,
        localization_weight=config.localization_weight,
    )
