"""Ever cheaper ways to compute the same step, for when memory runs out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
