"""Losses of users' own; those of the OD API have config fields of their own."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.geometry.tensor import Tensor
from holdfast.registry import Registry

# (predictions, targets, weights, *, keywords of --use) -> (B, A)
AnchorLoss = Callable[..., Tensor]
CLASSIFICATION_LOSSES: Registry[AnchorLoss] = Registry("classification loss")
LOCALIZATION_LOSSES: Registry[AnchorLoss] = Registry("localization loss")
COMPARES_BOXES: set[str] = set()  # names of localization losses that take boxes


def classification_loss(name: str) -> Callable[[AnchorLoss], AnchorLoss]:
    """Register the decorated function; `--use classification_loss=NAME` chooses it.

    It is called with logits and targets (B, A, C), the background's column included where there is
    one, and weights (B, A, C), or (B, A, 1) for those that all columns share; and with the keywords
    of --use. It gives the loss of each anchor, (B, A).
    """
    return CLASSIFICATION_LOSSES.register(name)


def localization_loss(
    name: str, *, compares_boxes: bool = False
) -> Callable[[AnchorLoss], AnchorLoss]:
    """Register the decorated function; `--use localization_loss=NAME` chooses it.

    It is called with predicted and true box codes (B, A, D), or with boxes (B, A, 4) where it
    compares_boxes, and weights (B, A); and with the keywords of --use. It gives (B, A).
    """

    def add(function: AnchorLoss) -> AnchorLoss:
        LOCALIZATION_LOSSES.register(name)(function)
        (COMPARES_BOXES.add if compares_boxes else COMPARES_BOXES.discard)(name)
        return function

    return add
