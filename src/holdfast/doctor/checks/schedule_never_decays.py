"""schedule-never-decays: the run ends with the rate it was trained with."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.schema.optimizer import ConstantLearningRate, CosineDecayLearningRate
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix

# Half of the peak at the end is where the noise of the last steps still costs accuracy: manual
# schedules fall to a tenth or less, cosines to 0.
_STILL_HIGH = 0.5
_WORTH_DECAYING = 1000  # steps: shorter runs are trials


@check("schedule-never-decays", about="config", needs=("rate_curve",))
def schedule_never_decays(case: Case) -> Iterator[Finding]:
    """The learning rate is still high when the run ends.

    Why it happens: the schedule is longer than the run (num_steps or --steps was lowered, and
    total_steps stayed), or the rate is constant. The weights keep jumping around the minimum that
    they would settle in: mAP goes up and down between evaluations, and ends some points lower.

    How it is seen: the rate at the last step is more than half of the highest, in a run of at least
    1000 steps. It is a warning for cosine and constant schedules. For the others it is a note,
    since the OD API's own configs for fine-tuning end so.

    What helps: total_steps equal to num_steps, or a cosine schedule instead of a constant rate.
    """
    curve = case.rate_curve
    peak, last = curve.peak, curve.at(curve.num_steps - 1)
    if curve.num_steps < _WORTH_DECAYING or last <= _STILL_HIGH * peak:
        return
    if curve.warmup_steps >= curve.num_steps:
        return  # warmup-too-long tells
    is_cosine = isinstance(curve.schedule, CosineDecayLearningRate)
    is_usual = not is_cosine and not isinstance(curve.schedule, ConstantLearningRate)
    longer = {f"{curve.path}.total_steps": str(curve.num_steps)} if is_cosine else {}
    yield Finding(
        code="schedule-never-decays",
        severity="note" if is_usual else "warning",
        what=f"At the last of {curve.num_steps} steps the learning rate is {last:.3g}, "
        f"{last / peak:.0%} of its highest.",
        why="Weights that keep jumping do not settle: the result depends on where they are when "
        "the run ends.",
        evidence={
            "highest_rate": peak,
            "last_rate": last,
            "num_steps": curve.num_steps,
            "schedule": type(curve.schedule).__name__,
        },
        fix=Fix(
            text="Let the rate fall to 0 by the end of the run."
            if is_cosine
            else "Use cosine_decay_learning_rate with total_steps equal to num_steps.",
            set=longer,
        ),
    )
