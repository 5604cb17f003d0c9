"""What losses and metrics promise: finite numbers that follow from the weights and the objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.evaluation.metrics.compared_objects import FoundObjects, LabeledObjects
from holdfast.evaluation.metrics.metrics_set import METRICS, Evaluator
from holdfast.losses.loss_registry import (
    CLASSIFICATION_LOSSES,
    COMPARES_BOXES,
    LOCALIZATION_LOSSES,
    AnchorLoss,
)

_IMAGES, _ANCHORS, _CLASSES = 2, 6, 3
_EXTREME = 80.0  # logits at which exponentials overflow float32


def check_classification_loss(name: str, **keywords: Any) -> None:
    """Check a registered classification loss; AssertionError says which promise it breaks.

    It gives one finite number for each anchor, also for extreme logits, with a finite gradient;
    an anchor of weight 0 costs nothing, and the right answer costs less than the wrong one.
    """
    loss = CLASSIFICATION_LOSSES[name]
    random = np.random.default_rng(0)
    targets = np.eye(_CLASSES, dtype=np.float32)[random.integers(0, _CLASSES, (_IMAGES, _ANCHORS))]
    for size in (1.0, _EXTREME):
        logits = size * random.normal(size=targets.shape).astype(np.float32)
        for columns in (1, _CLASSES):
            weights = np.ones((_IMAGES, _ANCHORS, columns), np.float32)
            _check_loss(loss, logits, targets, weights, keywords)
    right, wrong = (4.0 * sign * (2.0 * targets - 1.0) for sign in (1.0, -1.0))
    weights = np.ones((_IMAGES, _ANCHORS, 1), np.float32)
    costs = [np.asarray(loss(each, targets, weights, **keywords)) for each in (right, wrong)]
    _require((costs[0] < costs[1]).all(), "the right class costs no less than a wrong one")


def check_localization_loss(name: str, **keywords: Any) -> None:
    """Check a registered localization loss; AssertionError says which promise it breaks.

    It gives one finite number for each anchor with a finite gradient, also where nothing is to be
    mended; an anchor of weight 0 costs nothing, and the true box costs less than another.
    """
    loss = LOCALIZATION_LOSSES[name]
    random = np.random.default_rng(0)
    targets = random.normal(size=(_IMAGES, _ANCHORS, 4)).astype(np.float32)
    others = random.normal(size=targets.shape).astype(np.float32)
    if name in COMPARES_BOXES:
        targets, others = _as_boxes(targets), _as_boxes(others)
    weights = np.ones((_IMAGES, _ANCHORS), np.float32)
    for predictions in (others, targets):
        _check_loss(loss, predictions, targets, weights, keywords)
    costs = [np.asarray(loss(each, targets, weights, **keywords)) for each in (targets, others)]
    _require((costs[0] < costs[1]).all(), "the true box costs no less than another one")


def check_metric(name: str) -> None:
    """Check a registered metric; AssertionError says which promise it breaks.

    It names its values the same with and without objects, and images may come in any number of
    pieces.
    """
    empty = _result(name, [])
    labeled, found = _objects()
    whole = _result(name, [(labeled, found)])
    _require(set(empty) == set(whole), f"without objects it has {set(empty)}, else {set(whole)}")
    _require(all(isinstance(value, float) for value in whole.values()), f"not floats: {whole}")
    pieces = [(_of_image(labeled, image), _of_image(found, image)) for image in (0, 1)]
    for key, value in _result(name, pieces).items():
        np.testing.assert_allclose(value, whole[key], rtol=1e-5, err_msg=f"{key}, in pieces")


def _check_loss(
    loss: AnchorLoss, predictions: Any, targets: Any, weights: Any, keywords: dict[str, Any]
) -> None:
    given = tf.constant(predictions)
    with tf.GradientTape() as tape:
        tape.watch(given)
        costs = loss(given, tf.constant(targets), tf.constant(weights), **keywords)
    gradient = tape.gradient(costs, given)
    shape = (_IMAGES, _ANCHORS)
    _require(tuple(costs.shape) == shape, f"it gives {tuple(costs.shape)}, not {shape}")
    _require(np.isfinite(costs).all(), "the loss is not finite")
    _require(gradient is not None and np.isfinite(gradient).all(), "the gradient is not finite")
    idle = loss(given, tf.constant(targets), tf.zeros_like(weights), **keywords)
    _require(not np.any(idle), "anchors of weight 0 cost something")


def _as_boxes(values: Any) -> Any:
    """Turn numbers (…, 4) into boxes with an area."""
    corner, sides = values[..., :2], np.abs(values[..., 2:]) + 0.1
    return np.concatenate([corner, corner + sides], axis=-1).astype(np.float32)


def _result(name: str, pieces: list[tuple[LabeledObjects, FoundObjects]]) -> dict[str, float]:
    evaluator: Evaluator = METRICS[name]({1: "cat", 2: "dog"})
    for labeled, found in pieces:
        evaluator.add(labeled, found)
    return evaluator.result()


def _objects() -> tuple[LabeledObjects, FoundObjects]:
    """Make two images with two objects each, of which three are found."""
    boxes = np.array([[0, 0, 20, 20], [30, 30, 60, 50]] * 2, np.float32)
    image, number = np.array([0, 0, 1, 1], np.int32), np.array([0, 1, 0, 1], np.int32)
    none = np.zeros(4, np.bool_)
    labeled = LabeledObjects(image, boxes, number, none, none, none, np.zeros(4, np.float32))
    scores = np.array([0.9, 0.6, 0.8], np.float32)
    return labeled, FoundObjects(image[:3], boxes[:3] + 1, number[:3], scores)


def _of_image(objects: Any, image: int) -> Any:
    rows = objects.image == image
    return type(objects)(*(None if column is None else column[rows] for column in objects))


def _require(holds: Any, text: str) -> None:
    if not holds:
        raise AssertionError(text)
