"""A rehearsal: the worst batch of the data is computed once before the first step."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from holdfast.memory.devices.gpu import recent_peak_above
from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.memory.search.ladder import settings_text
from holdfast.training.fitting.plan_training import worst_specification
from holdfast.training.fitting.random_batch import random_batch
from holdfast.training.fitting.worst_batch import worst_of
from holdfast.training.journal import Journal
from holdfast.training.reporter import Reporter
from holdfast.training.session import Session
from holdfast.training.surviving.failure import TrainingFailedError
from holdfast.training.surviving.out_of_memory import (
    Snapshot,
    is_out_of_memory,
    reason_text,
    release,
)
from holdfast.units import bytes_text


def rehearse(session: Session, plan: MemoryPlan, journal: Journal, reporter: Reporter) -> None:
    """Compute a step on the worst batch that the data can give; nothing is learned from it.

    Where memory does not suffice, cheaper settings are taken, as in training. The weights do not
    move, and what a step changes besides them is put back.
    """
    worst = worst_of(session.config, session.pipeline(), session.data.statistics)
    specification = session.pipeline().batches().element_spec
    described = worst_specification(specification, worst.shape)
    if session.strategy.num_replicas_in_sync == 1:
        session.step.expect(specification)
    whole = random_batch(_of_replica(described, session), session.detector.num_classes)
    batch = whole
    if session.strategy.num_replicas_in_sync > 1:
        distribute = session.strategy.experimental_distribute_values_from_function
        batch = distribute(lambda context: whole)
    ways = iter(session.cheaper_settings())
    while (reason := _failed(session, batch)) is not None:
        _go_on_cheaper(session, next(ways, None), reason, reporter)
    shape = worst.shape
    text = (
        f"Rehearsed the worst batch ({shape.height} x {shape.width} pixels, {shape.boxes} boxes an "
        f"image): the process held {bytes_text(recent_peak_above(session.base_bytes))}, and "
        f"{bytes_text(plan.predicted_peak_bytes)} are planned."
    )
    journal.noted(journal.latest_step, text)
    reporter.note(text)


def _failed(session: Session, batch: Any) -> str | None:
    """Take the step without moving a weight; say why memory did not suffice."""
    snapshot = Snapshot(session.step.side_state)
    snapshot.take()
    session.step.hold_above(-math.inf)
    try:
        float(session.step.run(batch, tf.constant(0, tf.int64)).gradient_norm)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return reason_text(error)
    finally:
        snapshot.put_back()
        session.step.hold_above(math.inf)
    return None


def _go_on_cheaper(
    session: Session, after: StepSettings | None, reason: str, reporter: Reporter
) -> None:
    if after is None:
        raise TrainingFailedError(
            "The worst batch of the data does not fit into memory, though it is computed in the "
            f"cheapest way. The runtime says: {reason}",
            fix="Give the process more memory, or take a smaller image_resizer or network.",
        )
    reporter.note(
        f"There is not enough memory for the worst batch ({settings_text(session.step_settings)}): "
        f"continuing in a cheaper way: {settings_text(after)}."
    )
    session.switch(after)
    release()


def _of_replica(specification: Any, session: Session) -> Any:
    """Describe the part of a batch that one device gets."""
    replicas = session.strategy.num_replicas_in_sync

    def part(each: Any) -> Any:
        if not isinstance(each, tf.TensorSpec):
            return None
        return tf.TensorSpec((each.shape[0] // replicas, *each.shape[1:]), each.dtype)

    return tf.nest.map_structure(part, specification)
