"""What an out-of-memory error asks for: to see it, to go back before it, and what to try next."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf

from holdfast.geometry.tensor import Tensor
from holdfast.memory.plan import StepSettings


def ladder(blocks: Sequence[str], current: StepSettings) -> tuple[StepSettings, ...]:
    """List ever cheaper settings: first all blocks computed twice, then ever smaller pieces.

    The batch stays as it is. Computing blocks twice costs a third more time and changes no number;
    pieces change what batch norm sees, so they come second.

    >>> [rung.micro_batch for rung in ladder(["a", "b"], StepSettings(micro_batch=12))]
    [12, 6, 3, 1]
    >>> ladder(["a"], StepSettings(micro_batch=1, rematerialize=("a",)))
    ()
    """
    everything, batch = tuple(blocks), current.batch_size
    keeps_some = not set(everything) <= set(current.rematerialize)
    sizes = [current.micro_batch] if keeps_some else []
    size = current.micro_batch
    while size > 1:
        size = next(half for half in range(size // 2, 0, -1) if batch % half == 0)
        sizes.append(size)
    return tuple(
        replace(current, micro_batch=size, accumulation=batch // size, rematerialize=everything)
        for size in sizes
    )


def settings_text(settings: StepSettings) -> str:
    """Say how a step is computed.

    >>> settings_text(StepSettings(micro_batch=4, accumulation=2, rematerialize=("a",)))
    'batch in 2 pieces, 1 block computed twice'
    """
    pieces, blocks = settings.accumulation, len(settings.rematerialize)
    batch = f"batch in {pieces} pieces" if pieces > 1 else "whole batch"
    return f"{batch}, {blocks or 'no'} block{'' if blocks == 1 else 's'} computed twice"


def is_out_of_memory(error: BaseException | None) -> bool:
    """Tell whether an error means that memory ran out, whoever noticed it.

    What is raised while such an error is being handled is one too: Keras wraps errors.
    """
    if error is None:
        return False
    if isinstance(error, MemoryError | tf.errors.ResourceExhaustedError):
        return True
    text = str(error).lower()
    return any(sign in text for sign in _SIGNS) or is_out_of_memory(
        error.__cause__ or error.__context__
    )


def reason_text(error: BaseException) -> str:
    """Give the line of an error that speaks of memory; around it stands the whole graph."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    about = [line for line in lines if any(sign in line.lower() for sign in _SIGNS)]
    return next(iter([*about, *lines]), type(error).__name__)[:_LONGEST_REASON]


_LONGEST_REASON = 300  # letters
_SIGNS = (
    "out of memory",
    "out_of_memory",
    "oom when allocating",
    "failed to allocate",
    "bad_alloc",
    "arena alloc failed",  # protobuf
    "alloc_failed",  # CUDNN_STATUS_ALLOC_FAILED and its kin
    "resource_exhausted",
    "status: 1, message",  # dnnl_out_of_memory, as TensorFlow's oneDNN kernels pass it on
)


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
