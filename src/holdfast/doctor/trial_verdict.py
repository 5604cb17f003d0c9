"""Whether a fix helped: its gain against what another seed changes alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.doctor.curves import last_level

_TIMES_NOISE = 2.0
_LEAST_GAIN = 0.01  # mAP: less is not worth a change
_LEAST_FALL = 0.1  # of the loss
_NOTHING = 0.02  # mAP at IoU 0.5 of both: too early to tell by it


@dataclass(frozen=True, kw_only=True)
class MeasuredArm:
    """How good a training was at its end."""

    precision: float | None  # mAP at IoU 0.5; None: not evaluated, or failed
    loss: float | None  # in training; None: failed


@dataclass(frozen=True, kw_only=True)
class TrialVerdict:
    """What the comparison says."""

    is_offered: bool
    judged_by: str  # "mAP" or "loss"
    gain: float  # of mAP; of the loss, the part that it fell by
    noise: float  # what another seed changes
    text: str


def measured(precision: float | None, losses: Sequence[float]) -> MeasuredArm:
    """Take the level of the last tenth of the losses."""
    finite = np.array([each for each in losses if math.isfinite(each)])
    return MeasuredArm(
        precision=precision, loss=float(np.median(last_level(finite))) if len(finite) else None
    )


def judge(
    as_it_is: MeasuredArm, fixed: MeasuredArm, other_seed: MeasuredArm, *, compares_loss: bool
) -> TrialVerdict:
    """Compare by mAP; where nothing is detected yet, by the training loss if it is of one kind."""
    before, after = as_it_is.precision or 0.0, fixed.precision or 0.0
    best = max(before, after, other_seed.precision or 0.0)
    if best >= _NOTHING or not compares_loss:
        noise = abs(before - (other_seed.precision or 0.0))
        gain = after - before
        return _verdict("mAP", gain, noise, max(_TIMES_NOISE * noise, _LEAST_GAIN))
    noise = abs(_fall(as_it_is, other_seed))
    gain = _fall(as_it_is, fixed)
    return _verdict("loss", gain, noise, max(_TIMES_NOISE * noise, _LEAST_FALL))


def _fall(before: MeasuredArm, after: MeasuredArm) -> float:
    """Give the part that the loss fell by; what failed lost all, and against it all is gained."""
    if before.loss is None or after.loss is None:
        return float((before.loss is None) - (after.loss is None))
    return 1.0 - after.loss / max(before.loss, 1e-12)


def _verdict(judged_by: str, gain: float, noise: float, needed: float) -> TrialVerdict:
    is_offered = gain >= needed
    what = f"{gain:+.3f} mAP at IoU 0.5" if judged_by == "mAP" else f"{gain:+.0%} of the loss gone"
    by_chance = f"another seed alone changes {noise:.3f}"
    text = (
        f"It helps: {what}; {by_chance}."
        if is_offered
        else f"It does not help measurably: {what}; {by_chance}. The fix is withdrawn."
    )
    return TrialVerdict(
        is_offered=is_offered, judged_by=judged_by, gain=gain, noise=noise, text=text
    )
