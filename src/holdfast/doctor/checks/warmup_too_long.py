"""warmup-too-long: the rate rises for much of the run."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix

# Published warm-ups take 0.3 to 10 % of the run; a third leaves two thirds to learn.
_LONG_SHARE = 0.34
# Of the rate that is meant: a run with less on average is one with a rate ten times too low.
_HARDLY_ANY_RATE = 0.1
_SHARE_TO_TAKE = 0.05


@check("warmup-too-long", about="config", needs=("rate_curve",))
def warmup_too_long(case: Case) -> Iterator[Finding]:
    """The warm-up takes a large part of the run, or outlasts it.

    Why it happens: num_steps was lowered for less data, and warmup_steps stayed as published. The
    run is over while the learning rate still rises, and the network has been trained with a part
    of the rate that the config names.

    How it is seen: warmup_steps (burnin_steps, or the first step of a manual schedule with warmup)
    against num_steps. More than a third is a warning. If the mean rate of the run comes to less
    than a tenth of the rate that it should rise to, it is an error.

    What helps: a twentieth of the run.
    """
    curve, warmup = case.rate_curve, case.rate_curve.warmup_steps
    share = warmup / curve.num_steps
    if share <= _LONG_SHARE:
        return
    wanted = max(round(curve.num_steps * _SHARE_TO_TAKE), 1)
    yield Finding(
        code="warmup-too-long",
        severity="error" if curve.mean < _HARDLY_ANY_RATE * curve.meant else "warning",
        what=f"The warm-up of {warmup} steps takes {min(share, 1):.0%} of the {curve.num_steps} "
        "steps of the run" + (", and is not over at its end." if share > 1 else "."),
        why="The rate that the config names is reached late or never: little is learned.",
        evidence={
            "warmup_steps": warmup,
            "num_steps": curve.num_steps,
            "meant_rate": curve.meant,
            "mean_rate": curve.mean,
        },
        fix=Fix(text=f"Warm up for {wanted} steps.", set={curve.warmup_field: str(wanted)}),
    )
