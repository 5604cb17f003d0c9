"""A loss that is not a number: the training stops, and keeps what is needed to find out why."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.data.sample import Batch
from holdfast.errors import HoldfastError
from holdfast.training.step.training_step import TOTAL, StepOutcome

_NAMED = 8  # images named in the message


class TrainingFailedError(HoldfastError):
    """The training cannot go on."""


def check_finite(result: StepOutcome, step: int, batch: Any, folder: Path, skips: bool) -> None:
    """Raise if a loss is not finite, or gradients are not; the weights have not moved then.

    skips: with a loss scale, gradients too large for float16 are skipped and not an error.
    """
    losses = {name: float(value) for name, value in result.losses.items()}
    bad = [name for name, value in losses.items() if not math.isfinite(value) and name != TOTAL]
    if not bad and (skips or math.isfinite(float(result.gradient_norm))):
        return
    what = f"{bad[0]} is {losses[bad[0]]}" if bad else "the gradient is not finite"
    local = tf.nest.map_structure(_local, batch)
    path = save_batch(local, folder / f"failed-step-{step:08d}.npz")
    names = [name.decode(errors="replace") for name in np.ravel(local.source_ids)[:_NAMED]]
    raise TrainingFailedError(
        f"At step {step}, {what}. The batch: {', '.join(names)}. It is kept in {path}; the weights "
        "were not changed by it.",
        fix="Look at these images with `holdfast inspect`; lower the learning rate, or clip "
        "gradients with train_config.gradient_clipping_by_norm: 10.",
    )


def save_batch(batch: Batch, path: Path) -> Path:
    """Write a batch so that `numpy.load` reads it."""
    fields = batch._asdict() | batch.truth._asdict()
    arrays: dict[str, Any] = {
        name: np.asarray(value)
        for name, value in fields.items()
        if name != "truth" and value is not None
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
    return path


def _local(value: Any) -> Any:
    """Join what the replicas of this process hold."""
    if value is None:
        return None
    parts = getattr(value, "values", None)
    return np.asarray(value) if parts is None else np.concatenate([np.asarray(p) for p in parts])
