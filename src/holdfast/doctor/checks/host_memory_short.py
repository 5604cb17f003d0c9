"""host-memory-short: buffers of the input need much of the host's memory."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.facts.input_sizes import input_shape
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.units import bytes_text

_MUCH, _ALL = 0.5, 1.0  # of what is free
_BATCHES = 3  # alive at once: one that is filled, one that waits, one that is computed
_CHANNEL_BYTES = 3 * 4  # float32 RGB


@check("host-memory-short", about="machine", needs=("train.statistics", "train.reader", "model"))
def host_memory_short(case: Case) -> Iterator[Finding]:
    """The buffers of the input need a large part of the host's free memory.

    Why it happens: shuffle_buffer_size counts records, each with its encoded image: 2048 pictures
    of 5 MB are 10 GB. Large batches of large inputs wait in memory besides.

    How it is seen: shuffle_buffer_size, where the config sets it, times the mean size of a record,
    plus three batches of the input, against what the host and its container have free. More than
    half is a warning, more than all of it an error.

    What helps: a smaller shuffle_buffer_size, or leaving it out: Holdfast then keeps to a budget.
    """
    from holdfast.memory.devices.device import host_limit

    statistics, reader = case.train.statistics, case.train.reader
    sizes = statistics.stored_bytes
    mean = sum(sizes) / max(len(sizes), 1)
    records = min(reader.shuffle_buffer_size, len(sizes))
    shuffled = mean * records if reader.has("shuffle_buffer_size") and reader.shuffle else 0.0
    batch = case.train_config.batch_size
    shape = input_shape(case.model, batch)
    pixels = shape.height * shape.width if shape is not None else statistics.largest_image_bytes / 3
    waiting = _BATCHES * batch * pixels * _CHANNEL_BYTES
    free = host_limit()
    share = (shuffled + waiting) / max(free.bytes, 1)
    if share < _MUCH:
        return
    yield Finding(
        code="host-memory-short",
        severity="error" if share > _ALL else "warning",
        what=f"The buffers of the input need {bytes_text(shuffled + waiting)} of the "
        f"{bytes_text(free.bytes)} that the host has ({free.source}).",
        why="A host without memory swaps, or ends the process.",
        evidence={
            "shuffle_bytes": round(shuffled),
            "batches_bytes": round(waiting),
            "free_bytes": free.bytes,
            "shuffle_buffer_size": reader.shuffle_buffer_size,
            "mean_record_bytes": round(mean),
        },
        fix=Fix(
            text="Shuffle fewer records at a time."
            if shuffled > waiting
            else "Lower the batch or the size of the input.",
            set={"train_input_reader.shuffle_buffer_size": "256"} if shuffled > waiting else {},
        ),
    )
