"""The focal loss of heatmaps, in which places near an object count less."""

from __future__ import annotations

from keras import ops

from holdfast.geometry.tensor import Tensor

# Probabilities stay this far from 0 and 1, so that their logarithms stay finite.
CLIP = 1e-4


def penalty_reduced_focal(
    logits: Tensor, targets: Tensor, weights: Tensor, *, alpha: float = 2.0, beta: float = 4.0
) -> Tensor:
    """Pixelwise logistic focal loss (Zhou et al. 2019, equation 1), of the shape of the logits.

    Targets are 1 at the centre of an object and fall off around it; only a 1 is positive.

        (1 - p)**alpha * -log(p)                       where t = 1
        (1 - t)**beta * p**alpha * -log(1 - p)         elsewhere
    """
    p = ops.clip(ops.sigmoid(logits), CLIP, 1.0 - CLIP)
    positive = (1.0 - p) ** alpha * ops.log(p)
    negative = (1.0 - targets) ** beta * p**alpha * ops.log(1.0 - p)
    return -ops.where(targets == 1.0, positive, negative) * weights
