"""When a training no longer gets better."""

from __future__ import annotations

import math

from holdfast.evaluation.result import EvaluationResult

# The first of these that an evaluation has is what it is judged by.
JUDGED_BY = ("DetectionBoxes_Precision/mAP", "PascalBoxes_Precision/mAP@0.5IOU")


class Stopping:
    """Counts evaluations that were not better than the best one before."""

    def __init__(self, *, patience: int | None, best: float | None = None) -> None:
        self.patience = patience
        self.best = best
        self.waited = 0

    @property
    def is_over(self) -> bool:
        """Whether patience has run out."""
        return self.patience is not None and self.waited >= self.patience

    @staticmethod
    def metric_of(result: EvaluationResult) -> float | None:
        """Give the one number that an evaluation is judged by."""
        for name in JUDGED_BY:
            value = result.metrics.get(name)
            if value is not None and math.isfinite(value):
                return value
        return None

    def judge(self, result: EvaluationResult) -> bool:
        """Tell whether this evaluation is the best so far."""
        metric = self.metric_of(result)
        if metric is None:
            return False
        if self.best is not None and metric <= self.best:
            self.waited += 1
            return False
        self.best, self.waited = metric, 0
        return True
