"""What a run's events say, as curves by step: losses by term, rate, gradients, times, memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.doctor.curves import Values
from holdfast.runs.events import Event

TOTAL, PENALTY = "Loss/total_loss", "Loss/regularization_loss"
MEAN_PRECISION = ("DetectionBoxes_Precision/mAP", "PascalBoxes_Precision/mAP@0.5IOU")
PRECISION_AT_HALF = ("DetectionBoxes_Precision/mAP@.50IOU", "PascalBoxes_Precision/mAP@0.5IOU")
_LEARNING = 0.5  # of the highest rate so far: below it a training warms up, or ends
_RISING = 1.02  # over the last tenth of the steps: the warm-up is not over


@dataclass(frozen=True, kw_only=True)
class History:
    """The steps of a run, one value for each in every curve."""

    steps: NDArray[np.int64]
    terms: Mapping[str, Values]  # losses by name, without the total and the penalty of weights
    rate: Values
    gradient_norm: Values
    step_seconds: Values
    input_seconds: Values
    resident_bytes: Values

    @property
    def loss(self) -> Values:
        """What is learned: all terms; a penalty falls by itself and would hide it."""
        return np.sum(list(self.terms.values()), axis=0) if self.terms else np.zeros(len(self))

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def is_warming_up(self) -> bool:
        """Whether the learning rate still rises to its height."""
        if len(self) < 10:
            return True
        before = self.rate[-max(len(self) // 10, 5)]
        return bool(self.rate[-1] >= self.rate.max() and self.rate[-1] > _RISING * before)

    @property
    def full_rate(self) -> NDArray[np.bool_]:
        """The steps whose rate was at least half of the highest: those that learn."""
        is_full: NDArray[np.bool_] = self.rate >= _LEARNING * self.rate.max(initial=0.0)
        return is_full

    def range_text(self, first: int, last: int) -> str:
        """Name the steps from one index to another."""
        return f"{self.steps[first]} to {self.steps[last]}"


def history_of(steps: Sequence[Event]) -> History:
    """Put step events side by side; a step that was done again counts as it was done last.

    Values that are not finite are carried over from the step before: `loss-not-finite` tells.
    """
    kept = list({event.step: event for event in steps}.values())
    names = dict.fromkeys(name for event in kept for name in event.values.get("losses") or ())
    return History(
        steps=np.array([event.step for event in kept], np.int64),
        terms={
            name: _carried([_number((each.values.get("losses") or {}).get(name)) for each in kept])
            for name in names
            if name not in (TOTAL, PENALTY)
        },
        rate=_curve(kept, "learning_rate"),
        gradient_norm=_curve(kept, "gradient_norm"),
        step_seconds=_curve(kept, "step_seconds"),
        input_seconds=_curve(kept, "input_seconds"),
        resident_bytes=_curve(kept, "resident_bytes"),
    )


def metric_of(evaluation: Event, names: Sequence[str]) -> float | None:
    """Give the first of some metrics that an evaluation has; None where no object counted."""
    metrics = evaluation.values.get("metrics") or {}
    for name in names:
        value = metrics.get(name)
        if isinstance(value, int | float) and math.isfinite(value) and value >= 0:
            return float(value)
    return None


def best_precision(evaluations: Sequence[Event]) -> float | None:
    """Give the best mAP at IoU 0.5 so far; None without an evaluation that has one."""
    found = [metric_of(each, PRECISION_AT_HALF) for each in evaluations]
    return max((value for value in found if value is not None), default=None)


def term_name(name: str) -> str:
    """Write a term as people say it.

    >>> term_name("Loss/BoxClassifierLoss/localization_loss")
    'BoxClassifierLoss/localization'
    """
    return name.removeprefix("Loss/").removesuffix("_loss")


def _curve(steps: Sequence[Event], name: str) -> Values:
    return _carried([_number(event.values.get(name)) for event in steps])


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _carried(values: list[float]) -> Values:
    series = np.array(values, np.float64)
    finite = np.isfinite(series)
    if not finite.any():
        return np.zeros(len(series))
    latest = np.maximum.accumulate(np.where(finite, np.arange(len(series)), -1))
    latest[latest < 0] = int(np.argmax(finite))
    return series[latest]
