"""The checks of losses and metrics say which promise a part breaks."""

from __future__ import annotations

import math

import pytest
from keras import ops

from holdfast.evaluation.metrics.metrics_set import METRICS
from holdfast.losses import classification, localization
from holdfast.losses.loss_registry import (
    CLASSIFICATION_LOSSES,
    LOCALIZATION_LOSSES,
    classification_loss,
    localization_loss,
)
from holdfast.testing import (
    check_classification_loss,
    check_localization_loss,
    check_metric,
)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch) -> None:
    for table in (CLASSIFICATION_LOSSES, LOCALIZATION_LOSSES, METRICS):
        monkeypatch.setattr(table, "_entries", dict(table._entries))
        monkeypatch.setattr(table, "_makers", dict(table._makers))


def test_a_classification_loss_of_the_house_passes():
    @classification_loss("focal")
    def focal(logits, targets, weights):
        return classification.sigmoid_focal(logits, targets, weights + ops.zeros_like(logits))

    check_classification_loss("focal")


@pytest.mark.parametrize(
    ("function", "boxes"),
    [
        (localization.smooth_l1, False),
        (localization.l1, False),
        (localization.l2, False),
        (localization.iou_loss, True),
        (localization.giou_loss, True),
    ],
)
def test_localization_losses_of_the_house_pass(function, boxes: bool):
    localization_loss("one", compares_boxes=boxes)(function)
    check_localization_loss("one")


def exploding(logits, targets, weights):
    return ops.sum(-targets * ops.log(ops.exp(logits) / (1 + ops.exp(logits))) * weights, axis=-1)


def weightless(logits, targets, weights):
    return classification.sigmoid(logits, targets, ops.ones(logits.shape[:2]))


def summed(logits, targets, weights):
    return ops.sum(weights * (targets - logits) ** 2)


def backwards(logits, targets, weights):
    return -ops.sum((targets - ops.sigmoid(logits)) ** 2 * weights, axis=-1)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (exploding, "not finite"),
        (weightless, "anchors of weight 0 cost something"),
        (summed, r"it gives \(\), not \(2, 6\)"),
        (backwards, "the right class costs no less"),
    ],
)
def test_a_classification_loss_that_breaks_a_promise_is_named(function, message: str):
    classification_loss("broken")(function)
    with pytest.raises(AssertionError, match=message):
        check_classification_loss("broken")


def rooted(codes, targets, weights):
    return ops.sqrt(ops.sum((codes - targets) ** 2, axis=-1)) * weights


def test_a_gradient_that_is_infinite_at_the_true_box_is_found():
    localization_loss("rooted")(rooted)
    with pytest.raises(AssertionError, match="the gradient is not finite"):
        check_localization_loss("rooted")


@pytest.mark.parametrize("name", METRICS)
def test_metrics_of_the_house_pass(name: str):
    check_metric(name)


class LastPiece:
    """A metric that forgets all images but the last ones."""

    def __init__(self, classes):
        self.value = math.nan

    def add(self, labeled, found):
        self.value = float(found.scores.mean())

    def result(self):
        return {"last": self.value}


class Shy(LastPiece):
    """A metric that says nothing without objects."""

    def result(self):
        return {} if math.isnan(self.value) else {"last": self.value}


@pytest.mark.parametrize(
    ("metric", "message"), [(LastPiece, "in pieces"), (Shy, "without objects")]
)
def test_a_metric_that_breaks_a_promise_is_named(metric, message: str):
    METRICS.register("broken")(metric)
    with pytest.raises(AssertionError, match=message):
        check_metric("broken")
