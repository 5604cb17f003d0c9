"""loss-not-finite: a loss or the gradient became NaN or infinite."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.history import History, history_of
from holdfast.doctor.rate_fix import scaled_rate
from holdfast.runs.events import Event

NOT_FINITE = "not_finite"  # why a step was put into a capsule
_ROSE = 10.0  # times the usual gradient, before the failure: it was on its way
_BEFORE = 10  # steps looked at before the failure
_SKIPPED_SHARE = 0.2  # of steps: with a loss scale, some gradients are too large and skipped


@check("loss-not-finite", about="run", needs=("events",))
def loss_not_finite(case: Case) -> Iterator[Finding]:
    """A loss or the gradient is not a finite number.

    Why it happens: a learning rate that is too high (the gradient grows for some steps, then
    overflows), or one batch with a box that makes a logarithm or a division infinite (gradient and
    loss are as always up to the step), or float16, whose largest number is 65504.

    How it is seen: steps whose loss is NaN or infinite, or that were put into a capsule for it.
    What gradients did in the 10 steps before tells the causes apart.

    What helps: a lower rate and train_config.gradient_clipping_by_norm; or `holdfast replay` of the
    capsule, which shows the images and the layer where the first wrong number appears.
    """
    steps = [event for event in case.events if event.kind == "step"]
    kept = [each for each in case.events if each.kind == "capsule" and _is_of_nan(each)]
    bad = [event for event in steps if _bad_terms(event)]
    if not bad and not kept and _skipped(steps) < _SKIPPED_SHARE:
        return
    first = min((event.step for event in (*bad, *kept)), default=steps[-1].step if steps else 0)
    rise = _rise(history_of([event for event in steps if event.step < first]))
    evidence: dict[str, Any] = {"step": first, "gradient_over_usual": rise}
    evidence |= {"terms": _bad_terms(bad[0])} if bad else {}
    evidence |= {"capsule": kept[-1].values.get("file")} if kept else {}
    yield Finding(
        code="loss-not-finite",
        severity="error",
        what=f"At step {first} the loss or its gradient is not a finite number.",
        why=f"Gradients had grown to {rise:.0f} times their usual size: steps were too long."
        if rise >= _ROSE
        else "Gradients were as always until then: something in that batch is special.",
        evidence=evidence,
        fix=Fix(
            text="Lower the rate and clip gradients."
            if rise >= _ROSE
            else "Look at the images of that batch; if their boxes are right, clip gradients.",
            set=(scaled_rate(case, 0.1) if rise >= _ROSE else {})
            | {"train_config.gradient_clipping_by_norm": "10"},
            command=_replay(case, kept),
        ),
    )


def _is_of_nan(event: Event) -> bool:
    return event.values.get("why") == NOT_FINITE


def _replay(case: Case, kept: Sequence[Event]) -> str | None:
    if not kept:
        return None
    return shlex.join(["holdfast", "replay", str(case.run_path / str(kept[-1].values.get("file")))])


def _bad_terms(event: Event) -> list[str]:
    losses = event.values.get("losses") or {}
    return [name for name, value in losses.items() if not math.isfinite(value)]


def _skipped(steps: Sequence[Event]) -> float:
    """Give the share of steps whose gradient was not finite."""
    finite = [math.isfinite(event.values.get("gradient_norm", 0.0)) for event in steps]
    return 1.0 - sum(finite) / len(finite) if finite else 0.0


def _rise(history: History) -> float:
    """Say how much larger than usual gradients were just before."""
    if len(history) < 2 * _BEFORE:
        return 1.0
    usual = float(np.median(history.gradient_norm[:-_BEFORE]))
    return float(history.gradient_norm[-_BEFORE:].max()) / max(usual, 1e-12)
