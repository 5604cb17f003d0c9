"""What a run records of how it learns, every some steps: the event `vitals`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.data.sample import Batch
from holdfast.training.journal import Journal
from holdfast.training.reporter import Reporter, TakenStep
from holdfast.training.session import Session
from holdfast.training.step.training_step import StepOutcome
from holdfast.training.surviving.out_of_memory import is_out_of_memory, release
from holdfast.training.vitals.probe import SCORE_EDGES, Look, Probe, SignSums

_LONGEST_REASON = 300  # characters
EARLY = (20, 50)  # steps looked at besides: what goes wrong at once shows at once


class VitalsRecord:
    """Counts what is learned from, and looks at the network from time to time.

    Only the process that writes the run looks, at the images of its first device.
    """

    def __init__(self, session: Session, journal: Journal, reporter: Reporter) -> None:
        self._session = session
        self._journal = journal
        self._reporter = reporter
        self._is_on = journal.run is not None and session.settings.vitals_every is not None
        self._probe: Probe | None = None
        self._pieces = 0
        self._begin()

    def _begin(self) -> None:
        self._steps = 0
        self._boxes = np.zeros(self._session.detector.num_classes)
        self._shares: list[float] = []

    def stepped(self, taken: TakenStep, batch: Batch, outcome: StepOutcome) -> None:
        """Hear of a step; after a look that failed, no more are taken."""
        if not self._is_on:
            return
        self._count(taken, batch)
        every = self._session.settings.vitals_every
        if taken.step not in EARLY and (not every or taken.step % every):
            return
        started = time.perf_counter()
        try:
            look = self._looked(of_first_device(batch))
        except Exception as error:  # a training does not end because nobody can look at it
            self._give_up(taken.step, error)
            return
        values = self._values(look, outcome)
        seconds = round(time.perf_counter() - started, 4)
        self._journal.record(taken.step, "vitals", **values, seconds=seconds)
        self._begin()

    def _looked(self, batch: Batch) -> Look:
        step = self._session.step
        if self._probe is not None and self._pieces == step.accumulation:
            return self._probe.look(batch)
        self._probe, self._pieces = Probe(step), step.accumulation
        look = self._probe.look(batch)
        release()  # what tracing left behind
        return look

    def _give_up(self, step: int, error: Exception) -> None:
        self._is_on, self._probe = False, None
        release()
        why = (
            "there is not enough memory"
            if is_out_of_memory(error)
            else f"{type(error).__name__}: {str(error).strip()[:_LONGEST_REASON]}"
        )
        text = f"The network cannot be inspected, so vitals are no longer recorded: {why}."
        self._journal.noted(step, text)
        self._reporter.note(text)

    def _count(self, taken: TakenStep, batch: Batch) -> None:
        self._steps += 1
        whole = taken.step_seconds + taken.input_seconds
        self._shares.append(taken.input_seconds / whole if whole else 0.0)
        for classes, weights in zip(
            _parts(batch.truth.classes), _parts(batch.truth.weights), strict=True
        ):
            labeled = np.asarray(classes)[np.asarray(weights) > 0.0]
            self._boxes += np.bincount(labeled, minlength=len(self._boxes))[: len(self._boxes)]

    def _values(self, look: Look, outcome: StepOutcome) -> dict[str, Any]:
        norms = np.asarray(outcome.group_norms).tolist()
        gradients = dict(zip(self._session.step.groups, norms, strict=True))
        return {
            "images": int(look.signs.images),
            "steps": self._steps,  # since the last look: what `classes.boxes` counts
            "layers": _layers(gradients, _numbers(look.weight_norms)),
            "activations": {group: _plain(each) for group, each in look.activations.items()},
            "batch_norm": {group: _plain(each) for group, each in look.norms.items()},
            "positives": _positives(look.signs),
            "scores": _scores(look.signs),
            "classes": self._classes(look.signs),
            "input_share": round(statistics.median(self._shares), 4),
        }

    def _classes(self, signs: SignSums) -> dict[str, Any]:
        matched = signs.boxes if signs.matched is None else signs.matched
        return {
            "boxes": self._named(self._boxes),
            "looked_at": self._named(signs.boxes),
            "matched": self._named(matched),
        }

    def _named(self, counts: Any) -> dict[str, int]:
        names = self._session.data.records.names or {}
        return {
            names.get(number + 1) or str(number + 1): int(count)
            for number, count in enumerate(counts)
        }


def _layers(gradients: Mapping[str, float], weights: Mapping[str, float]) -> dict[str, Any]:
    return {
        group: {
            "gradient_norm": norm,
            "weight_norm": weights[group],
            "ratio": norm / weights[group] if weights[group] else None,
        }
        for group, norm in gradients.items()
    }


def _positives(signs: SignSums) -> dict[str, Any]:
    boxes, images = float(np.sum(signs.boxes)), float(signs.images)
    matched = boxes if signs.matched is None else float(np.sum(signs.matched))
    proposals = signs.proposal_share
    return {
        "share": float(signs.positives / max(signs.places, 1.0)),
        "per_image": float(signs.positives) / images,
        "boxes_per_image": boxes / images,
        "matched_boxes_per_image": matched / images,
        "proposal_share": None if proposals is None else float(proposals) / images,
    }


def _scores(signs: SignSums) -> dict[str, Any]:
    positives = float(signs.positives)
    return {
        "edges": list(SCORE_EDGES),
        "places": [int(each) for each in signs.scores],
        "positives": [int(each) for each in signs.positive_scores],
        "positive_mean": float(signs.positive_total) / positives if positives else None,
        "positive_agreement": float(signs.agreeing) / positives if positives else None,
    }


def _plain(look: Any) -> dict[str, float]:
    return _numbers(look._asdict())


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


def _parts(value: Any) -> list[Any]:
    """List what the devices of this process hold."""
    return list(getattr(value, "values", [value]))


def of_first_device(batch: Batch) -> Batch:
    """Give what the first device of this process has of a batch."""
    first: Batch = tf.nest.map_structure(
        lambda each: None if each is None else _parts(each)[0], batch
    )
    return first
