"""One look at a network while it learns: activations, batch norms, scores, matches.

The images of the last step pass through the network once more, as in training but without a
gradient, by a function of its own: the step's graph is not touched, nothing is changed by a look,
and images are looked at as many at a time as the step computes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from holdfast.data.sample import Batch, GroundTruth
from holdfast.geometry.targets import BACKGROUND
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.learning_signs import LearningSigns, places_of_boxes
from holdfast.models.layers.batch_norm import (
    FusedBatchNorm,
    batch_norms,
    collected_statistics,
    observed,
)
from holdfast.models.layers.block import Block
from holdfast.models.layers.observation import layer_group, observed_layers
from holdfast.training.step.training_step import TrainingStep

SCORE_EDGES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
_FEWEST_PLACES = 8  # of a map: a channel that is constant over fewer says nothing


class ActivationLook(NamedTuple):
    """Of one layer."""

    zeros: Tensor  # float32 ()  share of values that are 0
    dead: Tensor  # float32 ()  share of channels that are the same everywhere
    mean: Tensor  # float32 ()
    deviation: Tensor  # float32 ()


class NormLook(NamedTuple):
    """How far the statistics of the batch are from the moving ones, the mean over channels."""

    mean_shift: Tensor  # float32 ()  distance of the means, in moving deviations
    log_variance: Tensor  # float32 ()  distance of the variances' natural logarithms


class SignSums(NamedTuple):
    """What adds up over images; C classes."""

    images: Tensor  # float32 ()
    places: Tensor  # float32 ()  that take part in the loss
    positives: Tensor  # float32 ()  of them, those that learn an object
    agreeing: Tensor  # float32 ()  of these, those whose best class is the right one
    proposal_share: Tensor | None  # float32 ()  sum over the images
    boxes: Tensor  # float32 (C,)  labeled
    matched: Tensor | None  # float32 (C,)  of them, those that a place learns
    scores: Tensor  # float32 (edges + 1,)  of places by their best score, split at SCORE_EDGES
    positive_scores: Tensor  # float32 (edges + 1,)  of positives by the score of their class
    positive_total: Tensor  # float32 ()  sum of these scores


class Look(NamedTuple):
    """What one look saw; of several pieces, the activations' mean and the signs' sum."""

    activations: dict[str, ActivationLook]  # by layer group
    norms: dict[str, NormLook]
    weight_norms: dict[str, Tensor]
    signs: SignSums


class Probe:
    """Looks at what a step works with."""

    def __init__(self, step: TrainingStep) -> None:
        self._step = step
        self._look = tf.function(self._traced, autograph=False)

    def look(self, batch: Batch) -> Look:
        """Look at the images of one device, in pieces as the step computes them."""
        size = batch.images.shape[0] // self._step.accumulation
        pieces = pieces_of(batch, size)
        if self._step.takes_any_size:
            self._look.get_concrete_function(_of_any_size(pieces[0]))
        looks = [tf.nest.map_structure(_array, self._look(piece)) for piece in pieces]
        joined: Look = looks[0]._replace(
            activations=_mean([each.activations for each in looks]),
            norms=_mean([each.norms for each in looks]),
            signs=tf.nest.map_structure(
                lambda *each: None if each[0] is None else sum(each),
                *[each.signs for each in looks],
            ),
        )
        return joined

    def _traced(self, piece: Batch) -> Look:
        step, seen = self._step, _Seen()
        with (
            _kept_whole(step.detector),
            collected_statistics(),  # which thus do not move
            observed(batch_norms(step.detector), seen.norm),
            observed_layers(seen.layer),
        ):
            prepared, predictions = step.loss.predict(piece)
        signs = step.detector.signs(predictions, prepared, piece.truth)
        return Look(
            activations=_mean_by_group(seen.active | _missing(seen.normalized, seen.active)),
            norms=_mean_by_group(seen.norms),
            weight_norms=_weight_norms(step),
            signs=sign_sums(signs, piece.truth, step.detector.num_classes),
        )


def pieces_of(batch: Batch, size: int) -> list[Batch]:
    """Split the images of a batch into pieces of a size."""

    def piece(first: int) -> Batch:
        own: Batch = tf.nest.map_structure(
            lambda each: None if each is None else each[first : first + size], batch
        )
        return own

    return [piece(first) for first in range(0, batch.images.shape[0], size)]


def _of_any_size(piece: Batch) -> Batch:
    """Describe images of any height and width."""

    def described(value: Any, *sides: int | None) -> Any:
        shape = value.shape.as_list()
        shape[: len(sides)] = sides
        return tf.TensorSpec(shape, value.dtype)

    specification: Batch = tf.nest.map_structure(
        lambda each: None if each is None else described(each), piece
    )
    images, bits = piece.images, piece.truth.mask_bits
    truth = specification.truth
    if bits is not None:
        truth = truth._replace(mask_bits=described(bits, *bits.shape[:2], None, None))
    images = described(images, images.shape[0], None, None)
    return specification._replace(images=images, truth=truth)


class _Seen:
    """What passed while the network was traced, by layer group."""

    def __init__(self) -> None:
        self.active: dict[str, list[ActivationLook]] = {}
        self.normalized: dict[str, list[ActivationLook]] = {}
        self.norms: dict[str, list[NormLook]] = {}

    def norm(self, layer: FusedBatchNorm, inputs: Tensor) -> None:
        moving = (layer.moving_mean.value, layer.moving_variance.value)
        look = _norm(_by_channel(inputs), *moving, tf.constant(layer.settings.epsilon))
        self.norms.setdefault(layer_group(layer.path), []).append(look)

    def layer(self, layer: keras.layers.Layer, outputs: Any) -> None:
        is_map = isinstance(outputs, tf.Tensor) and outputs.shape.rank in (2, 4)
        if not is_map or layer.path is None:  # which layers without variables may not have
            return
        group = layer_group(layer.path)
        if _is_activated(layer):
            self.active.setdefault(group, []).append(_activation(_by_channel(outputs)))
        elif isinstance(layer, FusedBatchNorm):
            # A part that rectifies after its batch norm without a layer for it.
            self.normalized.setdefault(group, []).append(
                _activation(_by_channel(tf.nn.relu(outputs)))
            )


def _is_activated(layer: keras.layers.Layer) -> bool:
    """Tell whether what a layer gives has passed a function such as ReLU."""
    function = getattr(layer, "activation", None)
    return isinstance(layer, keras.layers.ReLU) or function not in (None, keras.activations.linear)


def _by_channel(values: Tensor) -> Tensor:
    """Give values as float32 (places, channels)."""
    return tf.reshape(tf.cast(values, tf.float32), (-1, values.shape[-1]))


def _traced_once(*ranks: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make one function for all layers, of float32 tensors with so many sides.

    A network has some hundred layers: what is written out for each is more than the step itself.
    """
    traced: Callable[[Callable[..., Any]], Callable[..., Any]] = tf.function(
        input_signature=[tf.TensorSpec([None] * rank, tf.float32) for rank in ranks],
        autograph=False,
        experimental_attributes={"_noinline": True},
    )
    return traced


@_traced_once(2)
def _activation(values: Tensor) -> ActivationLook:
    """Look at what a layer gives (places, channels)."""
    is_constant = tf.reduce_max(values, 0) == tf.reduce_min(values, 0)  # (channels,)
    dead = tf.reduce_mean(tf.cast(is_constant, tf.float32))
    mean, variance = tf.nn.moments(values, [0, 1])
    return ActivationLook(
        zeros=tf.reduce_mean(tf.cast(values == 0.0, tf.float32)),
        dead=tf.where(tf.shape(values)[0] < _FEWEST_PLACES, 0.0, dead),
        mean=mean,
        deviation=tf.sqrt(variance),
    )


@_traced_once(2, 1, 1, 0)
def _norm(
    values: Tensor, moving_mean: Tensor, moving_variance: Tensor, epsilon: Tensor
) -> NormLook:
    """Compare what a batch norm gets (places, channels) with its moving statistics."""
    mean, variance = tf.nn.moments(values, [0])
    shift = tf.abs(mean - moving_mean) / tf.sqrt(moving_variance + epsilon)
    ratio = tf.math.log(variance + epsilon) - tf.math.log(moving_variance + epsilon)
    return NormLook(tf.reduce_mean(shift), tf.reduce_mean(tf.abs(ratio)))


def sign_sums(signs: LearningSigns, truth: GroundTruth, num_classes: int) -> SignSums:
    """Count what adds up over the images of a piece."""
    counts = tf.cast(signs.counts, tf.float32)  # (B, N)
    learns = counts * tf.cast(signs.classes != BACKGROUND, tf.float32)
    best = tf.reduce_max(signs.scores, axis=-1)
    place_class = tf.maximum(signs.classes, 0)
    own = tf.gather(signs.scores, place_class, batch_dims=2)
    agrees = tf.cast(tf.argmax(signs.scores, -1, tf.int32) == place_class, tf.float32)
    is_box = tf.cast(truth.weights > 0.0, tf.float32)  # (B, G)
    box_class = tf.one_hot(truth.classes, num_classes)  # (B, G, C)
    places = places_of_boxes(signs, tf.shape(truth.weights)[1])
    share = signs.proposal_share
    return SignSums(
        images=tf.cast(tf.shape(counts)[0], tf.float32),
        places=tf.reduce_sum(counts),
        positives=tf.reduce_sum(learns),
        agreeing=tf.reduce_sum(learns * agrees),
        proposal_share=None if share is None else tf.reduce_sum(share),
        boxes=tf.einsum("bg,bgc->c", is_box, box_class),
        matched=None
        if places is None
        else tf.einsum("bg,bgc->c", is_box * tf.cast(places > 0.0, tf.float32), box_class),
        scores=_histogram(best, counts),
        positive_scores=_histogram(own, learns),
        positive_total=tf.reduce_sum(own * learns),
    )


def _histogram(scores: Tensor, weights: Tensor) -> Tensor:
    """Add up weights (B, N) by score; what is not a number is in the first bin."""
    above = [tf.reduce_sum(weights * tf.cast(scores > edge, tf.float32)) for edge in SCORE_EDGES]
    bounds = tf.stack([tf.reduce_sum(weights), *above, tf.zeros(())])
    return bounds[:-1] - bounds[1:]


def _weight_norms(step: TrainingStep) -> dict[str, Tensor]:
    squares: dict[str, list[Tensor]] = {}
    for variable in step.variables:
        half_square = tf.nn.l2_loss(variable.value)
        squares.setdefault(layer_group(variable.path), []).append(half_square)
    return {group: tf.sqrt(2.0 * tf.add_n(each)) for group, each in squares.items()}


@contextmanager
def _kept_whole(detector: Any) -> Iterator[None]:
    """Compute no block a second time: without a gradient nothing is kept anyway."""
    marked = [
        each
        for each in detector._flatten_layers()
        if isinstance(each, Block) and each.rematerializes
    ]
    for block in marked:
        block.rematerializes = False
    try:
        yield
    finally:
        for block in marked:
            block.rematerializes = True


def _array(value: Any) -> Any:
    return None if value is None else np.asarray(value)


def _missing(given: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    return {group: each for group, each in given.items() if group not in known}


def _mean_by_group(looks: dict[str, list[Any]]) -> dict[str, Any]:
    return {group: _mean_of(each, tf.add_n) for group, each in looks.items()}


def _mean(looks: list[dict[str, Any]]) -> dict[str, Any]:
    return {group: _mean_of([each[group] for each in looks], sum) for group in looks[0]}


def _mean_of(looks: list[Any], add: Callable[[list[Any]], Any]) -> Any:
    return type(looks[0])(*(add(list(each)) / len(looks) for each in zip(*looks, strict=True)))
