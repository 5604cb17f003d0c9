"""Class weights: boxes of rare classes count more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.errors import HoldfastError

# Of n boxes of a class, (1 - BETA^n) / (1 - BETA) are effective: 632 of 1000, 1000 of a million.
BETA = 0.999


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


def effective_number_weights(counts: Sequence[int], beta: float = BETA) -> list[float]:
    """Weigh classes by the inverse of their effective number of boxes (arXiv 1901.05555, eq. 2).

    The more boxes a class has, the less one more says: weights differ less than by inverse
    frequency. Classes without boxes have 1; the mean over all boxes is 1.

    >>> [round(weight, 2) for weight in effective_number_weights([4000, 400, 0])]
    [0.85, 2.52, 1.0]
    """
    weights = [(1 - beta) / (1 - beta**count) if count else 1.0 for count in counts]
    return normalized(weights, counts)


def normalized(weights: Sequence[float], counts: Sequence[int]) -> list[float]:
    """Scale weights to a mean of 1 over all boxes; classes without boxes have 1.

    So the loss keeps its size, and the learning rate its meaning.
    """
    boxes = sum(counts)
    total = sum(weight * count for weight, count in zip(weights, counts, strict=True))
    if boxes and not total:
        raise HoldfastError(
            "The class weights of all classes in the data are 0: nothing would be learned.",
            fix="Give at least one class that occurs a weight above 0.",
        )
    return [
        weight * boxes / total if count else 1.0
        for weight, count in zip(weights, counts, strict=True)
    ]
