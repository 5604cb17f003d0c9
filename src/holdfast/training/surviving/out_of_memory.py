"""An out-of-memory error: seen whoever noticed it, gone back before, cleaned up after."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from holdfast.geometry.tensor import Tensor
from holdfast.training.surviving.memory_signs import (
    LONGEST_LINE,
    memory_line,
    speaks_of_memory,
)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Tell whether an error means that memory ran out, whoever noticed it.

    What is raised while such an error is being handled is one too: Keras wraps errors.
    """
    if error is None:
        return False
    if isinstance(error, MemoryError | tf.errors.ResourceExhaustedError):
        return True
    return speaks_of_memory(str(error)) or is_out_of_memory(error.__cause__ or error.__context__)


def reason_text(error: BaseException) -> str:
    """Give the line of an error that speaks of memory; around it stands the whole graph."""
    lines = str(error).strip().splitlines()
    return memory_line(str(error)) or next(iter(lines), type(error).__name__)[:LONGEST_LINE]


class Snapshot:
    """The values of some variables, to go back to.

    Taking it copies nothing: it holds on to the present values, and a variable that is assigned
    later gets memory of its own. So it is for variables that are small.
    """

    def __init__(self, variables: Sequence[tf.Variable]) -> None:
        self._variables = [part for variable in variables for part in _parts(variable)]
        self._read = tf.function(
            lambda: [variable.read_value() for variable in self._variables], autograph=False
        )
        self._values: list[Tensor] = []

    def take(self) -> None:
        """Note the present values."""
        self._values = self._read() if self._variables else []

    def put_back(self) -> None:
        """Give the variables the values they had."""
        for variable, value in zip(self._variables, self._values, strict=True):
            variable.assign(value)


def _parts(variable: Any) -> Sequence[tf.Variable]:
    """Give the variable of each replica of this process: they may differ between two syncs."""
    parts: Sequence[tf.Variable] | None = getattr(variable, "values", None)
    return [variable] if parts is None else parts


def release() -> None:
    """Give back what a failed step left behind: its graph, its buffers, freed blocks."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of Linux' C library alone
    if trim is not None:
        trim(0)
