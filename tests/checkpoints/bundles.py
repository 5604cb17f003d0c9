"""Small checkpoints written for a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf


def write_bundle(prefix: Path, values: Mapping[str, object]) -> Path:
    """Write a checkpoint that holds these keys and nothing else."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(values),
        shape_and_slices=[""] * len(values),
        tensors=[tf.constant(value) for value in values.values()],
    )
    return prefix


def write_zeros(prefix: Path, shapes: Mapping[str, Sequence[int]]) -> Path:
    """Write zeros under these keys."""
    return write_bundle(
        prefix, {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    )
