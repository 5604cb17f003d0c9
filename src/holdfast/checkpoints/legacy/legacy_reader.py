"""Reads the checkpoints of the OD API, object-based (TF2) and name-based (TF1), by their keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.checkpoints.find_checkpoint import find_prefix
from holdfast.checkpoints.legacy.legacy_sorting import Generation, generation_of, sort_names
from holdfast.errors import HoldfastError

# The reader raises errors of TensorFlow, and some of Python (a file that ends early: IndexError).
_READ_ERRORS = (tf.errors.OpError, RuntimeError, ValueError, LookupError)


@dataclass(frozen=True, kw_only=True)
class LegacyCheckpoint:
    """An open checkpoint: names and shapes are known, values are read when asked for."""

    prefix: str  # what comes before .index and .data-00000-of-00001
    generation: Generation
    shapes: Mapping[str, tuple[int, ...]]  # of the model's variables, by name, sorted
    averages: Mapping[str, str]  # name of a model's variable -> name of its moving average
    other: tuple[str, ...]  # optimizer, moving averages, quantizer, steps; sorted
    reader: Any = field(repr=False)
    # Of quantization, by name; they are among other, too.
    ranges: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def value(self, name: str) -> np.ndarray:
        """Read one tensor; HoldfastError when its file is missing, cut short or damaged."""
        try:
            return np.asarray(self.reader.get_tensor(name))
        except _READ_ERRORS as error:
            raise _unreadable(self.prefix, name, error) from error


def open_checkpoint(path: str | Path) -> LegacyCheckpoint:
    """Open a checkpoint by its prefix, by one of its files, or the latest one of a folder.

    An index without its data opens; reading a value from it is an error.
    """
    prefix = find_prefix(str(path))
    try:
        # tf.train.load_checkpoint would take a folder of the same name for the checkpoint.
        reader = tf.compat.v1.train.NewCheckpointReader(prefix)
        shapes = reader.get_variable_to_shape_map()
    except _READ_ERRORS as error:
        raise HoldfastError(
            f"{prefix} cannot be read as a checkpoint: {_first_line(error)}",
            fix="Copy or download it again, all of its files.",
        ) from error
    names = sort_names(shapes)
    return LegacyCheckpoint(
        prefix=prefix,
        generation=generation_of(shapes),
        shapes={name: tuple(shapes[name]) for name in names.model},
        ranges={name: tuple(shapes[name]) for name in names.ranges},
        averages=names.averages,
        other=names.other,
        reader=reader,
    )


def _unreadable(prefix: str, name: str, error: Exception) -> HoldfastError:
    if not tf.io.gfile.exists(prefix) and not tf.io.gfile.glob(f"{prefix}.data-*"):
        return HoldfastError(
            f"The checkpoint {prefix} has an .index but no .data file: its values are not there.",
            fix=f"Copy {prefix}.data-00000-of-00001 beside it.",
        )
    return HoldfastError(
        f"{prefix}: {name} cannot be read: {_first_line(error)}",
        fix="The file is cut short or damaged: copy or download it again.",
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
