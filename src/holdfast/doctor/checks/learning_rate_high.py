"""learning-rate-high: the rate is far above what trained such a detector."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.usual_rates import FAILS_FROM, WARNS_FROM


@check("learning-rate-high", about="config", needs=("rate_curve", "usual_rates"))
def learning_rate_high(case: Case) -> Iterator[Finding]:
    """The learning rate is many times what detectors of this kind were trained with.

    Why it happens: published configs were trained with batches of 64 to 512 images. Whoever lowers
    batch_size to what fits on one card, and leaves the learning rate, takes steps that are 10 to
    100 times as long for what the batch can tell. The loss jumps or becomes NaN in the first
    hundreds of steps, or settles where the network finds background everywhere.

    How it is seen: the highest rate of the schedule, divided by the published rate scaled to this
    batch (in proportion; for Adam by the root). From 6 times on it is a warning, from 40 times on
    an error.

    What helps: the scaled rate, with a short warm-up.
    """
    curve, usual = case.rate_curve, case.usual_rates
    times = curve.peak / usual.high
    if times < WARNS_FROM:
        return
    yield Finding(
        code="learning-rate-high",
        severity="error" if times >= FAILS_FROM else "warning",
        what=f"The learning rate rises to {curve.peak:.3g}, {times:.0f} times what is usual for a "
        f"batch of {case.train_config.batch_size}.",
        why="Steps that are too long make the loss jump or become NaN, or leave a network that "
        "finds background everywhere.",
        evidence={
            "highest_rate": curve.peak,
            "usual_low": usual.low,
            "usual_high": usual.high,
            "batch_size": case.train_config.batch_size,
            "published": usual.rule,
        },
        fix=Fix(
            text=f"Lower it to {usual.high:.2g}, or raise the batch.",
            set=curve.scaled(usual.high / curve.peak),
        ),
    )
