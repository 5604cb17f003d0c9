"""From logits to scores: sigmoid, softmax or none, and calibration."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from keras import ops

from holdfast.errors import HoldfastError
from holdfast.geometry.tensor import Tensor

Conversion = Literal["IDENTITY", "SIGMOID", "SOFTMAX"]
Knots = Sequence[tuple[float, float]]  # x, y of a piecewise-linear function, x rising
Calibration = Callable[[Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class ScoreConversion:
    """Turns logits (..., columns) into scores of the same shape.

    Logits are divided by logit_scale, converted, then calibrated. A calibration by temperature is a
    logit_scale: multiply the two. SOFTMAX is over the columns, background included.

    >>> converter = ScoreConversion(conversion="SIGMOID", logit_scale=2.0)
    >>> float(converter.scores(ops.array(0.0)))
    0.5
    """

    conversion: Conversion = "IDENTITY"
    logit_scale: float = 1.0
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        if self.logit_scale <= 0.0:
            raise HoldfastError(
                f"logit_scale is {self.logit_scale:g}: logits divided by it would turn around.",
                fix="Set it above 0; 1 changes nothing.",
            )

    def scores(self, logits: Tensor) -> Tensor:
        """Convert logits."""
        scores = self._converted(logits * (1.0 / self.logit_scale))
        return scores if self.calibration is None else self.calibration(scores)

    def _converted(self, logits: Tensor) -> Tensor:
        match self.conversion:
            case "IDENTITY":
                return logits
            case "SIGMOID":
                return ops.sigmoid(logits)
            case "SOFTMAX":
                return ops.softmax(logits, axis=-1)


@dataclass(frozen=True, kw_only=True)
class InterpolatedScores:
    """A calibration by one piecewise-linear function; constant before its first and last knot.

    >>> calibration = InterpolatedScores(knots=((0.0, 0.0), (0.5, 0.1), (1.0, 1.0)))
    >>> [round(float(value), 3) for value in calibration(ops.array([0.25, 0.75, 2.0]))]
    [0.05, 0.55, 1.0]
    """

    knots: Knots

    def __post_init__(self) -> None:
        x = [point[0] for point in self.knots]
        if not x or any(left >= right for left, right in itertools.pairwise(x)):
            raise HoldfastError(
                f"A calibration needs points of rising x; it has x = {x}.",
                fix="Sort the x_y_pair entries and leave out those of equal x.",
            )

    def __call__(self, scores: Tensor) -> Tensor:
        """Calibrate scores of any shape."""
        x, y = (np.array(values, np.float32) for values in zip(*self.knots, strict=True))
        scores = ops.clip(scores, x[0], x[-1])
        # Knot `right` is the first beyond the score; the last segment also holds its end.
        flat = ops.searchsorted(x, ops.reshape(scores, (-1,)), side="right")
        right = ops.clip(ops.reshape(flat, ops.shape(scores)), 1, max(1, len(x) - 1))
        slope = np.diff(y, append=y[-1:]) / np.diff(x, append=x[-1:] + 1.0)
        left = right - 1
        return ops.take(y, left) + (scores - ops.take(x, left)) * ops.take(slope, left)


@dataclass(frozen=True, kw_only=True)
class InterpolatedColumns:
    """A calibration by one piecewise-linear function for each column; others stay as they are.

    Columns are those of the predictions: background, if there is one, is column 0.
    """

    knots: Mapping[int, Knots]

    def __call__(self, scores: Tensor) -> Tensor:
        """Calibrate scores (..., columns)."""
        columns = ops.unstack(scores, scores.shape[-1], axis=-1)
        calibrated = [
            InterpolatedScores(knots=self.knots[column])(values) if column in self.knots else values
            for column, values in enumerate(columns)
        ]
        return ops.stack(calibrated, axis=-1)
