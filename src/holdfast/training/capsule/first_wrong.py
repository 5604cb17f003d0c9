"""The first number of a step that is not finite, and what it is a number of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.data.sample import Batch
from holdfast.models.detectors.interface import Detector
from holdfast.models.layers.batch_norm import collected_statistics
from holdfast.models.layers.observation import observed_layers
from holdfast.training.step.training_step import TrainingStep

IMAGES, TRUTH, WEIGHTS, LAYER, LOSS, GRADIENT = (
    "images",
    "ground truth",
    "weights",
    "layer",
    "loss",
    "gradient",
)


@dataclass(frozen=True, kw_only=True)
class WrongNumber:
    """Where a number is that is not finite, or a box that cannot be learned."""

    where: str  # IMAGES, TRUTH, WEIGHTS, LAYER, LOSS or GRADIENT
    name: str  # of the variable, the layer or the loss term; "" for images
    images: tuple[int, ...]  # of the batch, by number; all: ()
    text: str


def wrong_inputs(batch: Batch) -> Iterator[WrongNumber]:
    """Yield what is wrong in the batch before any network sees it."""
    if bad := _rows(np.asarray(batch.images)):
        yield WrongNumber(where=IMAGES, name="", images=bad, text="pixels are not finite")
    boxes, weights = np.asarray(batch.truth.boxes), np.asarray(batch.truth.weights)
    sides = boxes[..., 2:] - boxes[..., :2]
    with np.errstate(invalid="ignore"):
        is_good = np.isfinite(boxes).all(axis=-1) & (sides > 0.0).all(axis=-1)
    for image, box in np.argwhere((weights > 0.0) & ~is_good):
        corners = ", ".join(f"{each:.4g}" for each in boxes[image, box])
        yield WrongNumber(
            where=TRUTH,
            name=f"box {box}",
            images=(int(image),),
            text=f"box {box} is ({corners}): it has no area, or is not finite",
        )


def wrong_weights(detector: Detector) -> Iterator[WrongNumber]:
    """Yield the variables that are not finite."""
    for variable in detector.variables:
        values = np.asarray(variable.value)
        if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
            count = int(np.size(values) - np.isfinite(values).sum())
            yield WrongNumber(
                where=WEIGHTS,
                name=variable.path,
                images=(),
                text=f"{count} of {np.size(values)} numbers of {variable.path} are not finite",
            )


def wrong_layer(step: TrainingStep, pieces: Sequence[Batch]) -> WrongNumber | None:
    """Give the first layer whose output is not finite, in the order in which images pass them."""
    for number, piece in enumerate(pieces):
        seen: list[WrongNumber] = []
        first = number * int(piece.images.shape[0])

        def look(layer: keras.layers.Layer, outputs: Any) -> None:
            if not seen:  # noqa: B023
                seen.extend(_wrong_outputs(layer, outputs, piece, first))  # noqa: B023

        with collected_statistics(), observed_layers(look):
            step.loss.predict(piece)
        if seen:
            return seen[0]
    return None


def wrong_gradients(step: TrainingStep, pieces: Sequence[Batch]) -> WrongNumber | None:
    """Give the variable nearest to the loss whose gradient is not finite."""
    variables = step.variables
    for number, piece in enumerate(pieces):
        with collected_statistics(), tf.GradientTape() as tape:
            prepared, predictions = step.loss.predict(piece)
            normalizers = step.detector.normalizers(prepared)
            terms = step.detector.terms(predictions, prepared, normalizers)
            total = tf.add_n(list(terms.values()))
        gradients = tape.gradient(total, [variable.value for variable in variables])
        wrong = [
            variable.path
            for variable, gradient in zip(variables, gradients, strict=True)
            if gradient is not None and not np.isfinite(np.asarray(gradient)).all()
        ]
        if wrong:
            size = int(piece.images.shape[0])
            return WrongNumber(
                where=GRADIENT,
                name=wrong[-1],
                images=tuple(range(number * size, (number + 1) * size)),
                text=f"the gradients of {len(wrong)} variables are not finite, {wrong[-1]} among "
                "them is the nearest to the loss",
            )
    return None


def _wrong_outputs(
    layer: keras.layers.Layer, outputs: Any, piece: Batch, first: int
) -> Iterator[WrongNumber]:
    for tensor in tf.nest.flatten(outputs):
        if not isinstance(tensor, tf.Tensor) or not tensor.dtype.is_floating:
            continue
        values = np.asarray(tf.cast(tensor, tf.float32))
        bad = _rows(values)
        if bad:
            has_images = len(values) == int(piece.images.shape[0])
            name = (layer.path or "").partition("/")[2] or layer.name
            yield WrongNumber(
                where=LAYER,
                name=name,
                images=tuple(first + each for each in bad) if has_images else (),
                text=f"the output of {name} ({type(layer).__name__}) is the first that is not "
                "finite",
            )


def _rows(values: NDArray[Any]) -> tuple[int, ...]:
    """List the rows, one an image, that hold a number that is not finite."""
    if not np.ndim(values):
        return () if np.isfinite(values) else (0,)
    is_good = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    return tuple(int(each) for each in np.flatnonzero(~is_good))
