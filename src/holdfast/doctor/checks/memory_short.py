"""memory-short: the plan does not fit into the memory of the device."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.units import bytes_text

_TIGHT = 0.97  # of the limit: what is left is less than plans are wrong by


@check("memory-short", about="machine", needs=("plan",))
def memory_short(case: Case) -> Iterator[Finding]:
    """The training needs more memory than it may have, or nearly as much.

    Why it happens: batch, resolution or the most crowded image are too much for the device, or
    another process has taken a part of it since the plan was made.

    How it is seen: base and predicted peak of the run's plan against its limit, and the peak that
    was measured, where the run has one. Beyond the limit it is an error, above 97 % of it a note.

    What helps: the settings that `holdfast plan` finds: pieces, rematerialization, precision.
    """
    plan, measured = case.plan, _measured(case)
    needed = plan.base_bytes + plan.predicted_peak_bytes
    held = needed if measured is None else plan.base_bytes + measured
    share = max(needed, held) / max(plan.limit_bytes, 1)
    if plan.fits and share < _TIGHT:
        return
    worst = max(plan.items, key=lambda name: plan.items[name], default="")
    yield Finding(
        code="memory-short",
        severity="note" if plan.fits and share <= 1 else "error",
        what=f"The training needs {bytes_text(max(needed, held))} of {bytes_text(plan.limit_bytes)}"
        " that it may hold.",
        why="When memory runs out, a step fails or the system ends the process.",
        evidence={
            "predicted_bytes": needed,
            "measured_bytes": None if measured is None else held,
            "limit_bytes": plan.limit_bytes,
            "largest_item": worst,
        },
        fix=Fix(
            text="Let the planner search for settings that fit, with the same batch.",
            command=f"holdfast plan {case.shown_path}",
        ),
    )


def _measured(case: Case) -> int | None:
    return case.manifest.measured_peak_bytes
