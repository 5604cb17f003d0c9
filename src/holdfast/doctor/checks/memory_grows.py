"""memory-grows: the process holds more and more memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.curves import block_medians
from holdfast.doctor.finding import Finding, Fix
from holdfast.memory.watch.trend import trend_of
from holdfast.units import bytes_text

_WARM_UP = 50  # steps in which a healthy training grows, too
_FEWEST = 400  # steps after it
_BLOCKS = 16
_MUCH = 200 * 2**20  # bytes, and also
_MUCH_SHARE = 0.1  # of what was held


@check("memory-grows", about="run", needs=("events", "history"))
def memory_grows(case: Case) -> Iterator[Finding]:
    """The process that trains holds more memory with every step, and does not stop.

    Why it happens: a step that is traced anew for every shape of images, a list that someone
    appends to, a shuffle buffer or cache that is still filling, files that are never closed.

    How it is seen: the training watches itself and notes growth with what grows; besides, medians
    of resident memory over 16 parts of the run rise in nearly all pairs, by 200 MiB and 10 %. It is
    an error if the limit will be reached before the last planned step.

    What helps: it depends on what grows, which is in the evidence.
    """
    noted = [event for event in case.events if event.kind == "growth"]
    if noted:
        values = noted[-1].values
        cause = values.get("cause") or {}
        ends = (values.get("limit_step") or 0) <= (case.planned_steps or 0)
        yield Finding(
            code="memory-grows",
            severity="error" if ends else "warning",
            what=f"{_grown_text(values)}; the limit is reached at about step "
            f"{values.get('limit_step')}.",
            why=f"What grows: {cause.get('name')}: {cause.get('detail')}.",
            evidence={
                "noted_at_steps": [event.step for event in noted[-8:]],
                "held": values.get("held"),
                "limit": values.get("limit"),
                "limit_step": values.get("limit_step"),
                "cause": cause.get("name"),
            },
            fix=Fix(text=_FIXES.get(str(cause.get("name")), _OTHER)),
        )
        return
    yield from _grown(case)


def _grown_text(values: Mapping[str, Any]) -> str:
    per_step = float(values.get("per_step") or 0.0)
    is_memory = "memory" in str(values.get("what"))
    amount = bytes_text(per_step) if is_memory else f"{per_step:.3g}"
    return f"{str(values.get('what')).capitalize()} grows by {amount} a step"


def _grown(case: Case) -> Iterator[Finding]:
    history = case.history
    held = history.resident_bytes[_WARM_UP:]
    if len(held) < _FEWEST or not held.any():
        return
    blocks = block_medians(held, _BLOCKS)
    found = trend_of(range(len(blocks)), blocks.tolist())
    grown = float(blocks[-1] - blocks[0])
    if not found.is_growth or grown < max(_MUCH, _MUCH_SHARE * float(blocks[0])):
        return
    steps = history.steps[_WARM_UP:]
    per_step = grown / float(steps[-1] - steps[0])
    yield Finding(
        code="memory-grows",
        severity="warning",
        what=f"Memory grows by about {bytes_text(per_step)} a step: from "
        f"{bytes_text(float(blocks[0]))} to {bytes_text(float(blocks[-1]))} so far.",
        why="Sooner or later the kernel ends the process, or it swaps.",
        evidence={
            "first_bytes": int(blocks[0]),
            "now_bytes": int(blocks[-1]),
            "bytes_per_step": per_step,
            "significance": found.significance,
            "steps": f"{steps[0]} to {np.max(steps)}",
        },
        fix=Fix(text=_OTHER),
    )


_OTHER = "Checkpoints are kept: start the same command again when memory gets short."
_FIXES = {
    "retracing": "Let all images have one shape: fixed_shape_resizer, or pad_to_max_dimension.",
    "input buffer": "Lower shuffle_buffer_size in train_input_reader.",
}
