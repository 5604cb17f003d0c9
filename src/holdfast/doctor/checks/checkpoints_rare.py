"""checkpoints-rare: a machine that is taken away would take much work along."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.run_times import seconds_of_step
from holdfast.units import seconds_text

# Machines that can be taken away are, on average, after some hours; a warning before is 30 seconds
# to 2 minutes. Half an hour of work is what most would mind to lose.
_LONG_SECONDS, _VERY_LONG_SECONDS = 30 * 60, 2 * 60 * 60
_WANTED_SECONDS = 10 * 60
_DEFAULT_STEPS = 500


@check("checkpoints-rare", about="machine", needs=("steps",))
def checkpoints_rare(case: Case) -> Iterator[Finding]:
    """Much work would be lost between two checkpoints.

    Why it happens: checkpoints are written every so many steps, and a step of a large model takes
    seconds. A spot or preemptible machine that is taken away takes along what was learned since the
    last checkpoint.

    How it is seen: the steps between the run's checkpoints times the median time of its steps. More
    than half an hour is a note, more than two hours a warning.

    What helps: `--checkpoint-every` with as many steps as ten minutes have.
    """
    seconds = seconds_of_step(case.steps)
    saved = [event.step for event in case.events if event.kind == "saved"]
    gaps = [after - before for before, after in pairwise([0, *saved])]
    between = max(gaps) if gaps else max(_DEFAULT_STEPS, case.steps[-1].step)
    if seconds <= 0 or between * seconds < _LONG_SECONDS:
        return
    wanted = max(round(_WANTED_SECONDS / seconds), 1)
    yield Finding(
        code="checkpoints-rare",
        severity="warning" if between * seconds >= _VERY_LONG_SECONDS else "note",
        what=f"Between two checkpoints are {between} steps, {seconds_text(between * seconds)} of "
        "work.",
        why="When the machine is taken away or fails, the work since the last checkpoint is lost.",
        evidence={"steps_between": between, "step_seconds": seconds, "checkpoints": len(saved)},
        fix=Fix(
            text=f"Save every {wanted} steps, which is ten minutes.",
            command=f"holdfast train {case.shown_path} --checkpoint-every {wanted} --run RUN",
        ),
    )
