"""recovered-often: the run ran out of memory or died, more than once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.runs.events import Event

_OFTEN = 3
_KINDS = {"recovered": "memory ran out", "restarted": "the process died", "gave_up": "given up"}


@check("recovered-often", about="run", needs=("events",))
def recovered_often(case: Case) -> Iterator[Finding]:
    """The training ran out of memory or its process died, and it went on in another way.

    Why it happens: something else took memory, the plan was too tight for the largest batch, or the
    machine ends processes. Each time steps are repeated, and the cheaper way may be slower.

    How it is seen: events of recoveries and restarts. One is a note, three are a warning; given up
    after three restarts without a checkpoint is an error.

    What helps: plan for less memory from the start (`holdfast plan --memory`), save more often
    (`--checkpoint-every`), or free what else runs.
    """
    found = [event for event in case.events if event.kind in _KINDS]
    if not found:
        return
    given_up = any(event.kind == "gave_up" for event in found)
    lost = sum(_repeated(event) for event in found)
    often = len(found) >= _OFTEN
    yield Finding(
        code="recovered-often",
        severity="error" if given_up else "warning" if often else "note",
        what=f"{len(found)} times the training ran out of memory or died; {lost} steps were taken "
        "again.",
        why="It goes on by itself, in a cheaper and slower way; steps since a checkpoint are lost.",
        evidence={"times": [_row(event) for event in found[-8:]], "steps_repeated": lost},
        fix=Fix(
            text="Let it plan for what there really is: pass --memory a little below it, and "
            "--checkpoint-every 200.",
        ),
    )


def _repeated(event: Event) -> int:
    reached = event.values.get("reached")
    if reached is not None:
        return max(int(reached) - event.step, 0)
    return int(event.values.get("repeated") or 0)


def _row(event: Event) -> dict[str, Any]:
    values = event.values
    why = values.get("evidence") or values.get("reason") or values.get("cause")
    return {"step": event.step, "what": _KINDS[event.kind], "why": str(why)[:120]}
