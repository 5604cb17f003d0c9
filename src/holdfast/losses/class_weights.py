"""Class weights: boxes of rare classes count more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def balanced_class_weights(counts: Sequence[int]) -> list[float]:
    """Give each class a weight in inverse proportion to its number of boxes.

    Their mean over all boxes is 1, so that the loss keeps its size; a class without boxes has 1.

    >>> balanced_class_weights([30, 10, 0])
    [0.6666666666666666, 2.0, 1.0]
    """
    boxes = np.array(counts, np.float64)
    is_present = boxes > 0
    share = boxes.sum() / max(1, is_present.sum())
    return [float(share / count) if count else 1.0 for count in boxes]
