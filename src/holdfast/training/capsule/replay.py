"""Take the step of a capsule once more, and look into it."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.config.part_choices import parse_choice
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.sample import Batch, GroundTruth
from holdfast.errors import HoldfastError
from holdfast.memory.plan import read_settings
from holdfast.models.layers.batch_norm import collected_statistics
from holdfast.training.capsule.capsule_file import Capsule, read_capsule
from holdfast.training.capsule.first_wrong import (
    LOSS,
    WrongNumber,
    wrong_gradients,
    wrong_inputs,
    wrong_layer,
    wrong_weights,
)
from holdfast.training.fitting.tracing import BuiltStep, build_step
from holdfast.training.step.state import state_of
from holdfast.training.step.training_step import TrainingStep
from holdfast.training.vitals.probe import pieces_of

LARGEST = 10  # places listed


@dataclass(frozen=True, kw_only=True)
class Place:
    """An anchor, region or cell, and what it adds to a loss term."""

    term: str
    image: int  # of the batch, by number
    number: int
    box: tuple[float, ...]  # y_min, x_min, y_max, x_max normalized to the padded input
    loss: float


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What a step did, once more."""

    capsule: Capsule
    batch: Batch
    losses: dict[str, float]
    gradient_norm: float
    is_equal: bool | None  # to the last bit what was recorded; None: nothing was
    by_image: list[dict[str, float]]  # the loss terms that are made of places
    largest: tuple[Place, ...]  # the largest first; those that are not finite before all
    wrong: tuple[WrongNumber, ...]  # in the order in which they come up

    def document(self) -> dict[str, Any]:
        """Give what `--json` prints."""
        known = self.capsule.document
        names = known["images"]
        return {
            **{
                name: known[name] for name in ("step", "why", "text", "seed", "weights", "versions")
            },
            "recorded": {name: known[name] for name in ("losses", "gradient_norm")},
            "losses": self.losses,
            "gradient_norm": self.gradient_norm,
            "is_equal": self.is_equal,
            "images": [
                {"image": name, "position": position, "losses": losses}
                for name, position, losses in zip(
                    names, known["positions"], self.by_image, strict=True
                )
            ],
            "largest": [asdict(each) | {"image": names[each.image]} for each in self.largest],
            "wrong": [
                asdict(each) | {"images": [names[number] for number in each.images]}
                for each in self.wrong
            ],
        }


def replay(path: Path) -> Replayed:
    """Rerun the step of a capsule on one device: its losses and gradients, not its update.

    Where the training ran on several devices, their parts become pieces of one, and sums are equal
    up to rounding.
    """
    capsule = read_capsule(path)
    known = capsule.document
    if not capsule.weights:
        raise HoldfastError(
            f"{path} holds no weights: they were too large for it.",
            fix=f"Resume the run from its checkpoint of step {known['weights']['checkpoint_step']} "
            f"with --capsule-at {known['step']}, where the data is.",
        )
    if known["deterministic"]:
        tf.config.experimental.enable_op_determinism()
    built, batch = _built(capsule), batch_of(capsule)
    _fill(built.step, capsule)
    built.step.hold_above(-float("inf"))
    number = tf.constant(known["step"] - 1, tf.int64)
    outcome = built.step.run(tf.nest.map_structure(_tensor, batch), number)
    _fill(built.step, capsule)  # the statistics of batch norm have moved
    losses = {name: float(value) for name, value in outcome.losses.items()}
    norm = float(outcome.gradient_norm)
    pieces = pieces_of(batch, len(batch.images) // built.step.accumulation)
    pieces = [tf.nest.map_structure(_tensor, piece) for piece in pieces]
    by_image, largest = _places(built.step, pieces)
    is_finite = bool(np.isfinite([norm, *losses.values()]).all())
    return Replayed(
        capsule=capsule,
        batch=batch,
        losses=losses,
        gradient_norm=norm,
        is_equal=_is_equal(known, losses, norm),
        by_image=by_image,
        largest=largest,
        wrong=(
            *wrong_inputs(batch),
            *wrong_weights(built.detector),
            *(() if is_finite else _wrong(built.step, pieces, losses, largest)),
        ),
    )


def batch_of(capsule: Capsule) -> Batch:
    """Give the batch that the step took, as arrays."""
    truth = {name: capsule.batch.get(name) for name in GroundTruth._fields}
    return Batch(
        images=capsule.batch["images"],
        sizes=capsule.batch["sizes"],
        truth=GroundTruth(**truth),
        source_ids=np.array([name.encode() for name in capsule.document["images"]]),
        positions=capsule.batch["positions"],
    )


def _built(capsule: Capsule) -> BuiltStep:
    known = capsule.document
    config: TrainEvalPipelineConfig = decode(known["config"], TrainEvalPipelineConfig).message
    config = config.replace(parts=tuple(parse_choice(each) for each in known["parts"]))
    settings = read_settings(known["settings"])
    # One device computes one after the other what several did side by side.
    pieces = len(capsule.batch["images"]) // settings.micro_batch
    return build_step(
        config,
        replace(settings, accumulation=pieces),
        class_weights=known["class_weights"],
        teacher=known.get("teacher"),
        seed=known["seed"],
    )


def _fill(step: TrainingStep, capsule: Capsule) -> None:
    variables = state_of(step)
    for name, value in capsule.weights.items():
        if name not in variables:
            raise HoldfastError(
                f"The detector of this version has no variable {name}.",
                fix=f"Replay with the versions that made it: {capsule.document['versions']}.",
            )
        variables[name].assign(value)


def _places(
    step: TrainingStep, pieces: Sequence[Batch]
) -> tuple[list[dict[str, float]], tuple[Place, ...]]:
    """Give the loss terms of each image, and the places with the largest losses."""
    detector = step.detector
    by_image: list[dict[str, float]] = []
    places: list[Place] = []
    normalizers: dict[str, Any] = {}
    for piece in pieces:
        for name, count in detector.normalizers(
            step.loss.prepare(step.loss.weighed(piece))
        ).items():
            normalizers[name] = normalizers.get(name, 0.0) + count
    for piece in pieces:
        with collected_statistics():
            prepared, predictions = step.loss.predict(piece)
        terms = detector.place_losses(predictions, prepared, normalizers)
        first = len(by_image)
        for image in range(int(piece.images.shape[0])):
            by_image.append(
                {name: float(tf.reduce_sum(term.losses[image])) for name, term in terms.items()}
            )
        for name, term in terms.items():
            places += _largest(name, np.asarray(term.losses), np.asarray(term.boxes), first)
    return by_image, tuple(heapq.nlargest(LARGEST, places, key=_size))


def _largest(name: str, losses: Any, boxes: Any, first: int) -> list[Place]:
    sizes = np.where(np.isfinite(losses), np.abs(losses), np.inf)
    order = np.argsort(-sizes, axis=None)[:LARGEST]
    found = [np.unravel_index(each, losses.shape) for each in order]
    return [
        Place(
            term=name,
            image=first + int(image),
            number=int(place),
            box=tuple(map(float, boxes[place] if boxes.ndim == 2 else boxes[image, place])),
            loss=float(losses[image, place]),
        )
        for image, place in found
    ]


def _size(place: Place) -> float:
    return abs(place.loss) if np.isfinite(place.loss) else float("inf")


def _wrong(
    step: TrainingStep,
    pieces: Sequence[Batch],
    losses: Mapping[str, float],
    largest: Sequence[Place],
) -> tuple[WrongNumber, ...]:
    layer = wrong_layer(step, pieces)
    found = [layer] if layer else []
    for name, value in losses.items():
        if not np.isfinite(value):
            places = [each for each in largest if each.term == name and _size(each) == np.inf]
            images = tuple(dict.fromkeys(each.image for each in places))
            found.append(
                WrongNumber(where=LOSS, name=name, images=images, text=f"{name} is {value}")
            )
    if not found:
        gradient = wrong_gradients(step, pieces)
        found += [gradient] if gradient else []
    return tuple(found)


def _is_equal(known: Mapping[str, Any], losses: Mapping[str, float], norm: float) -> bool | None:
    if known["losses"] is None:
        return None
    pairs = [(known["losses"][name], value) for name, value in losses.items()]
    pairs.append((known["gradient_norm"], norm))
    return all(before == after or (before != before and after != after) for before, after in pairs)


def _tensor(value: Any) -> Any:
    return None if value is None else tf.constant(value)
