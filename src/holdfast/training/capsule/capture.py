"""Put a step into a capsule: what it took, as it was before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.config.text.encode import encode
from holdfast.data.sample import Batch
from holdfast.memory.plan import MemoryPlan
from holdfast.runs.run import CAPSULES_NAME
from holdfast.training.capsule.capsule_file import (
    LARGEST_RECORDS_BYTES,
    LARGEST_WEIGHTS_BYTES,
    SUFFIX,
    Array,
    Capsule,
    write_capsule,
)
from holdfast.training.capsule.loss_alarm import OUT_OF_MEMORY
from holdfast.training.cluster import worker_index
from holdfast.training.session import Session
from holdfast.training.step.state import state_of
from holdfast.training.step.training_step import StepOutcome

_PACKAGES = ("holdfast", "tensorflow", "keras", "numpy")


def capture(
    session: Session,
    batch: Any,
    outcome: StepOutcome | None,
    *,
    step: int,
    why: str,
    text: str,
    folder: Path,
    checkpoint: int | None,
    plan: MemoryPlan | None,
) -> Path:
    """Write the capsule of a step that has not moved the weights; give its file.

    step: its number, from 1. outcome: None where there is none. folder: the run's. checkpoint: the
    step of the last one.
    """
    local = local_batch(batch)
    document = {
        "step": step,
        "why": why,
        "text": text,
        **_numbers(outcome),
        "images": [name.decode(errors="replace") for name in np.ravel(local.source_ids)],
        "positions": [int(each) for each in local.positions],  # with the seed: every draw
        "seed": session.settings.seed,
        "weights": {"checkpoint_step": checkpoint},
        "settings": asdict(session.step_settings),
        "replicas": session.strategy.num_replicas_in_sync,
        "deterministic": session.settings.deterministic,
        "class_weights": _list(session.step.loss.class_weights),
        "teacher": session.settings.teacher,
        "class_names": {
            str(each): name for each, name in (session.data.records.names or {}).items()
        },
        "parts": [str(each) for each in session.config.parts],
        "plan": None if plan is None else plan.document(),
        "config": encode(session.config),
        "versions": {name: version(name) for name in _PACKAGES},
    }
    # Where memory is short, the records are not looked up: the batch is here anyway.
    capsule = Capsule(
        document=document,
        batch=_arrays(local),
        weights=_weights(session),
        records=() if why == OUT_OF_MEMORY else _records(session, local),
    )
    worker = f"-worker{worker_index()}" if worker_index() else ""
    name = f"step-{step:08d}-{why.replace('_', '-')}{worker}{SUFFIX}"
    return write_capsule(folder / CAPSULES_NAME / name, capsule)


def local_batch(batch: Any) -> Batch:
    """Join what the devices of this process hold of a batch, as arrays."""
    joined: Batch = tf.nest.map_structure(_local, batch)
    return joined


def _local(value: Any) -> Any:
    if value is None:
        return None
    parts = getattr(value, "values", [value])
    # What there is not at all is described device by device, too.
    return None if parts[0] is None else np.concatenate([np.asarray(part) for part in parts])


def _numbers(outcome: StepOutcome | None) -> dict[str, Any]:
    if outcome is None:
        return {"losses": None, "gradient_norm": None, "learning_rate": None}
    return {
        "losses": {name: float(value) for name, value in outcome.losses.items()},
        "gradient_norm": float(outcome.gradient_norm),
        "learning_rate": float(outcome.learning_rate),
    }


def _arrays(batch: Batch) -> dict[str, Array]:
    fields = batch._asdict() | batch.truth._asdict()
    left = ("truth", "source_ids")  # the ids are in the document
    return {name: each for name, each in fields.items() if name not in left and each is not None}


def _weights(session: Session) -> Mapping[str, Array]:
    """Give what losses and gradients follow from, without the optimizer's memory."""
    state = {
        name: each
        for name, each in state_of(session.step).items()
        if name.startswith(("model/", "state/loss_scale/"))
    }
    total = sum(int(tf.size(each)) * each.dtype.size for each in state.values())
    if total > LARGEST_WEIGHTS_BYTES:
        return {}
    return {name: np.asarray(each.read_value()) for name, each in state.items()}


def _records(session: Session, batch: Batch) -> tuple[bytes, ...]:
    """Find the records of a batch again; none where they are too large."""
    wanted = [int(each) for each in batch.positions]
    found = dict(_found(session, min(wanted), max(wanted)))
    records = tuple(found[position] for position in wanted)
    return records if sum(map(len, records)) <= LARGEST_RECORDS_BYTES else ()


def _found(session: Session, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    stream = session.pipeline().stream
    for position, record in stream.endless(first).take(last - first + 1).as_numpy_iterator():
        yield int(position), record


def _list(values: Any) -> list[float] | None:
    return None if values is None else [float(each) for each in values]
