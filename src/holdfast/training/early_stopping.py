"""When a training no longer gets better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

# The first of these that an evaluation has is what it is judged by.
JUDGED_BY = (
    "DetectionBoxes_Precision/mAP",
    "DetectionMasks_Precision/mAP",
    "PascalBoxes_Precision/mAP@0.5IOU",
)


class Stopping:
    """Counts evaluations that were not better than the best one before.

    earlier: the metrics of the evaluations so far, also of earlier processes, in their order.

    >>> Stopping(patience=2, earlier=[{JUDGED_BY[0]: value} for value in (0.3, 0.2, 0.1)]).is_over
    True
    """

    def __init__(
        self, *, patience: int | None, earlier: Iterable[Mapping[str, float | None]] = ()
    ) -> None:
        self.patience = patience
        self.best: float | None = None
        self.waited = 0
        for metrics in earlier:
            self.judge(metrics)

    @property
    def is_over(self) -> bool:
        """Whether patience has run out."""
        return self.patience is not None and self.waited >= self.patience

    def judge(self, metrics: Mapping[str, float | None]) -> bool:
        """Tell whether this evaluation is the best so far."""
        metric = judged_metric(metrics)
        if metric is None:
            return False
        if self.best is not None and metric <= self.best:
            self.waited += 1
            return False
        self.best, self.waited = metric, 0
        return True


def judged_metric(metrics: Mapping[str, float | None]) -> float | None:
    """Give the one number that an evaluation is judged by; None if it has none."""
    for name in JUDGED_BY:
        value = metrics.get(name)
        if value is not None and math.isfinite(value):
            return value
    return None
