"""schedule-ends-early: the rate is practically 0 long before the run is over."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.facts.rate_curve import RateCurve
from holdfast.config.schema.optimizer import CosineDecayLearningRate, ExponentialDecayLearningRate
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix

# Manual schedules end at a hundredth of the first rate, and still learn a little with it.
_PRACTICALLY_NONE = 0.005  # of the peak
# A cosine is below that for the last 5 % of its steps.
_WARNS_BELOW, _FAILS_BELOW = 0.75, 0.5  # of the run


@check("schedule-ends-early", about="config", needs=("rate_curve",))
def schedule_ends_early(case: Case) -> Iterator[Finding]:
    """The learning rate is practically 0 long before the run is over.

    Why it happens: total_steps of a cosine schedule, or decay_steps of an exponential one, belong
    to a shorter run than num_steps. From there on the steps change nothing: the loss looks like a
    plateau, and neither more steps nor more data help.

    How it is seen: the last step whose rate is at least 0.5 % of the highest, against num_steps.
    Before three quarters of the run it is a warning, before half of it an error.

    What helps: a schedule as long as the run, or a run as long as the schedule.
    """
    curve = case.rate_curve
    peak = curve.peak
    if peak <= 0:
        return  # nothing-trains tells
    last = max(step for step in curve.steps if curve.at(step) >= _PRACTICALLY_NONE * peak)
    share = (last + 1) / curve.num_steps
    if share >= _WARNS_BELOW:
        return
    yield Finding(
        code="schedule-ends-early",
        severity="error" if share < _FAILS_BELOW else "warning",
        what=f"From step {last + 1} of {curve.num_steps} on the learning rate is less than 0.5 % "
        f"of its peak: {1 - share:.0%} of the run learns nothing.",
        why="Steps without a learning rate change nothing, so the loss stays where it is.",
        evidence={
            "last_step_that_learns": last,
            "num_steps": curve.num_steps,
            "highest_rate": peak,
            "rates": [
                {"step": step, "rate": curve.at(step)}
                for step in (0, last // 2, last, last + (curve.num_steps - last) // 2)
            ],
        },
        fix=Fix(text="Let the schedule last as long as the run.", set=_longer(curve)),
    )


def _longer(curve: RateCurve) -> dict[str, str]:
    match curve.schedule:
        case CosineDecayLearningRate():
            return {f"{curve.path}.total_steps": str(curve.num_steps)}
        case ExponentialDecayLearningRate():
            # Some ten decays in a run leave, with the usual factors, a tenth to a third.
            return {f"{curve.path}.decay_steps": str(max(curve.num_steps // 10, 1))}
    return {}
