"""How many records, calls and batches fit into the host memory that the input pipeline may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

DEFAULT_BUDGET_BYTES = 512 * 2**20
# Decoding, one augmentation's copy and its result are alive at once in a call.
COPIES_PER_CALL = 3


@dataclass(frozen=True, kw_only=True)
class Buffers:
    """The sizes that bound the pipeline's memory; their cost never exceeds the budget."""

    shuffle_records: int
    parallel_calls: int
    prefetch_batches: int


def plan_buffers(
    budget_bytes: int,
    *,
    record_bytes: Sequence[int],
    largest_image_bytes: int,
    batch_bytes: int,
    cores: int,
    waiting_records: int = 0,
) -> Buffers:
    """Share a budget: first one call and one batch, then calls up to the cores, then shuffling.

    `record_bytes` are the stored sizes of all records. The shuffle buffer is bounded by the sum of
    the largest ones, so that it holds even when chance puts all of them in at once.
    `waiting_records` is how many are held anyway, for batches to become full.

    >>> plan_buffers(20_000, record_bytes=[400, 100, 500], largest_image_bytes=1_000,
    ...              batch_bytes=2_000, cores=2)
    Buffers(shuffle_records=3, parallel_calls=2, prefetch_batches=1)
    """
    call_bytes = COPIES_PER_CALL * largest_image_bytes
    largest = sorted(record_bytes, reverse=True)
    fixed_bytes = batch_bytes + sum(largest[:waiting_records])
    spare = budget_bytes - fixed_bytes - max(record_bytes, default=0)
    calls = min(cores, max(1, spare // 2 // max(call_bytes, 1)))
    left = budget_bytes - fixed_bytes - calls * call_bytes
    records = sum(1 for _ in takewhile(lambda total: total <= left, accumulate(largest)))
    return Buffers(shuffle_records=max(1, records), parallel_calls=calls, prefetch_batches=1)
