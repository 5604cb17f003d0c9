"""learning-rate-low: the rate is far below what trained such a detector."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.usual_rates import FAILS_BELOW, WARNS_BELOW


@check("learning-rate-low", about="config", needs=("rate_curve", "usual_rates"))
def learning_rate_low(case: Case) -> Iterator[Finding]:
    """The learning rate is a small part of what detectors of this kind were trained with.

    Why it happens: a rate of another optimizer (Adam's 0.00001 for momentum), a zero too many, or a
    rate for one image kept with a large batch. The loss falls so slowly that the run is over before
    the head has learned anything, and mAP stays near 0.

    How it is seen: the highest rate after the warm-up, compared with the published rate scaled to
    this batch. Below a tenth of the lowest it is a warning, below a thirtieth an error.

    What helps: the scaled rate. Fine-tuning on few images takes no less of it: only a shorter run.
    """
    curve, usual = case.rate_curve, case.usual_rates
    rate = curve.settled
    if rate <= 0 or rate * WARNS_BELOW >= usual.low:
        return  # of a rate of 0, nothing-trains tells
    times = usual.low / rate
    yield Finding(
        code="learning-rate-low",
        severity="error" if times > FAILS_BELOW else "warning",
        what=f"The learning rate rises to {rate:.3g} only: usual are {usual.low:.2g} to "
        f"{usual.high:.2g} for a batch of {case.train_config.batch_size}.",
        why="With steps this short the run is over before the head has learned anything.",
        evidence={
            "highest_rate": rate,
            "usual_low": usual.low,
            "usual_high": usual.high,
            "batch_size": case.train_config.batch_size,
            "published": usual.rule,
        },
        fix=Fix(
            text=f"Raise it to {usual.middle:.2g}.",
            set=curve.scaled(usual.middle / rate),
        ),
    )
