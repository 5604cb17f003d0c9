"""All that a training remembers, as tensors with names: what a checkpoint holds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import tensorflow as tf

from holdfast.checkpoints.own.own_names import inner_path
from holdfast.checkpoints.own.saved_checkpoints import Restored
from holdfast.errors import HoldfastError
from holdfast.training.step.training_step import TrainingStep


def state_of(step: TrainingStep) -> dict[str, tf.Variable]:
    """Name the variables of the detector, the optimizer, the averages and the loss scale."""
    averages = step.averages.variables if step.averages is not None else {}
    inner = partial(inner_path, step.detector)
    parts: dict[str, Mapping[str, Any]] = {
        "model": {inner(each.path): each.value for each in step.detector.variables},
        "optimizer": step.optimizer.variables,
        "average": {inner(path): each for path, each in averages.items()},
        "state/loss_scale": step.loss_scale.variables if step.loss_scale is not None else {},
    }
    return {f"{group}/{name}": each for group, own in parts.items() for name, each in own.items()}


def restore_state(step: TrainingStep, restored: Restored) -> None:
    """Give every variable the value it had; nothing changes if one is missing."""
    variables = state_of(step)
    missing = [name for name in variables if name not in restored.tensors]
    if missing:
        raise HoldfastError(
            f"{restored.checkpoint.path} does not hold {missing[0]}"
            + (f" and {len(missing) - 1} more." if len(missing) > 1 else "."),
            fix="Resume the run with the settings it was begun with, or begin a new one.",
        )
    values = {name: restored.tensors[name] for name in variables}
    for name, variable in variables.items():
        variable.assign(values[name])
