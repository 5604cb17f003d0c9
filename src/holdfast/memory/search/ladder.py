"""Ever cheaper ways to compute the same step, for when memory runs out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.memory.plan import StepSettings

MOST_CHUNKS = 8  # of regions: one chunk is then no longer what needs most


def ladder(
    blocks: Sequence[str], current: StepSettings, most_chunks: int = 1
) -> tuple[StepSettings, ...]:
    """List ever cheaper settings: all blocks computed twice, regions in chunks, smaller pieces.

    The batch stays as it is. Computing blocks and regions twice costs time and changes no number;
    pieces change what batch norm sees, so they come last. most_chunks: as many as the regions of a
    detector can be looked at in; 1 where it has none. There is one rung for chunks: every rung that
    does not help costs a restart.

    >>> [rung.micro_batch for rung in ladder(["a", "b"], StepSettings(micro_batch=12))]
    [12, 6, 3, 1]
    >>> ladder(["a"], StepSettings(micro_batch=1, rematerialize=("a",)))
    ()
    """
    batch, rungs = current.batch_size, []
    rung = replace(current, rematerialize=tuple(blocks))
    if not set(blocks) <= set(current.rematerialize):
        rungs.append(rung)
    chunks = fewer_regions_at_once(current.region_chunks, most_chunks)
    if chunks > rung.region_chunks:
        rung = replace(rung, region_chunks=chunks)
        rungs.append(rung)
    size = current.micro_batch
    while size > 1:
        size = next(half for half in range(size // 2, 0, -1) if batch % half == 0)
        rungs.append(replace(rung, micro_batch=size, accumulation=batch // size))
    return tuple(rungs)


def fewer_regions_at_once(chunks: int, most_chunks: int) -> int:
    """Give the number of chunks that comes after the present one; the same if there is none."""
    return max(chunks, min(MOST_CHUNKS, most_chunks))


def settings_text(settings: StepSettings) -> str:
    """Say how a step is computed.

    >>> settings_text(StepSettings(micro_batch=4, accumulation=2, rematerialize=("a",)))
    'batch in 2 pieces, 1 block computed twice'
    >>> settings_text(StepSettings(micro_batch=4, region_chunks=8))
    'whole batch, no blocks computed twice, regions in 8 chunks'
    """
    pieces, blocks = settings.accumulation, len(settings.rematerialize)
    batch = f"batch in {pieces} pieces" if pieces > 1 else "whole batch"
    text = f"{batch}, {blocks or 'no'} block{'' if blocks == 1 else 's'} computed twice"
    chunks = settings.region_chunks
    return f"{text}, regions in {chunks} chunks" if chunks > 1 else text
