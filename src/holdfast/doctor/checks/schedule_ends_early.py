"""schedule-ends-early: the rate is practically 0 long before the run is over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.config.facts.rate_curve import RateCurve
from holdfast.config.schema.optimizer import (
    CosineDecayLearningRate,
    ExponentialDecayLearningRate,
    ManualStepLearningRate,
)
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix, Severity

# Manual schedules end at a hundredth of the first rate, and still learn a little with it.
_PRACTICALLY_NONE = 0.005  # of the peak
# A cosine is below that for the last 5 % of its steps.
_WARNS_BELOW, _FAILS_BELOW = 0.75, 0.5  # of the run
# One published schedule is below a twentieth after an eighth of its 5 million steps, all others
# after half of theirs; steps that were meant as epochs are over within the first hundredths.
_LITTLE = 0.05  # of the peak
_WARNS_BELOW_OF_LITTLE, _FAILS_BELOW_OF_LITTLE = 0.1, 0.05  # of the run
_LAST_CHANGE = 0.9  # of the run: where a manual schedule that is stretched ends


@check("schedule-ends-early", about="config", needs=("rate_curve",))
def schedule_ends_early(case: Case) -> Iterator[Finding]:
    """The learning rate is practically 0 long before the run is over.

    Why it happens: total_steps of a cosine schedule, decay_steps of an exponential one, or the
    steps of a manual one belong to a shorter run than num_steps, or count epochs. From there on the
    steps change nothing: the loss looks like a plateau, and neither more steps nor more data help.

    How it is seen: the last step whose rate is at least 0.5 % of the highest, against num_steps.
    Before three quarters of the run it is a warning, before half of it an error. So is a rate that
    is below 5 % of the highest after a tenth, or a twentieth, of the run.

    What helps: a schedule as long as the run, or a run as long as the schedule.
    """
    curve = case.rate_curve
    peak = curve.peak
    if peak <= 0:
        return  # nothing-trains tells
    found = _ends(curve, _PRACTICALLY_NONE, _WARNS_BELOW, _FAILS_BELOW) or _ends(
        curve, _LITTLE, _WARNS_BELOW_OF_LITTLE, _FAILS_BELOW_OF_LITTLE
    )
    if found is None:
        return
    last = found.last_step
    little = "nothing" if found.part == _PRACTICALLY_NONE else "next to nothing"
    yield Finding(
        code="schedule-ends-early",
        severity=found.severity,
        what=f"From step {last + 1} of {curve.num_steps} on the learning rate is less than "
        f"{found.part:.1%} of its peak: {1 - (last + 1) / curve.num_steps:.0%} of the run learns "
        f"{little}.",
        why="Steps with hardly any learning rate change nothing, so the loss stays where it is.",
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


class _End(NamedTuple):
    part: float  # of the peak: the rate is below it
    last_step: int  # with more
    severity: Severity


def _ends(curve: RateCurve, part: float, warns_below: float, fails_below: float) -> _End | None:
    last = max(step for step in curve.steps if curve.at(step) >= part * curve.peak)
    share = (last + 1) / curve.num_steps
    if share >= warns_below:
        return None
    return _End(part, last, "error" if share < fails_below else "warning")


def _longer(curve: RateCurve) -> dict[str, str]:
    match curve.schedule:
        case CosineDecayLearningRate():
            return {f"{curve.path}.total_steps": str(curve.num_steps)}
        case ExponentialDecayLearningRate():
            # Some ten decays in a run leave, with the usual factors, a tenth to a third.
            return {f"{curve.path}.decay_steps": str(max(curve.num_steps // 10, 1))}
        case ManualStepLearningRate(schedule=entries, warmup=warms) if entries[-1].step > 0:
            longer = max(_LAST_CHANGE * curve.num_steps / entries[-1].step, 1.0)
            return {
                f"{curve.path}.schedule[{index}].step": str(round(entry.step * longer))
                for index, entry in enumerate(entries)
                if index or not warms  # the first step of a warm-up is its end
            }
    return {}
