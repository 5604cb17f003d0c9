"""Which learning rates train detectors: what was published, scaled to a batch and an optimizer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from holdfast.config.facts.networks import Detector, extractor_of
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.optimizer import (
    AdamOptimizer,
    MomentumOptimizer,
    Optimizer,
    RMSPropOptimizer,
)

# Rates of one image in the batch, with a momentum of 0.9: the published rate over its batch.
# Two stages: 0.0003 of 1 (TF1's zoo) to 0.04 of 64; 0.002 of 64 was published, too.
_TWO_STAGES = (1e-4, 6.25e-4)
# One stage whose maps share a head: 0.08 of 128, 0.04 of 64. `holdfast new` takes the same.
_PYRAMID = (6e-4, 6.25e-4)
# One stage with a head for each map: 0.8 of 512, and found by trying (docs/new.md) 0.01 of 8.
_PLAIN = (6e-4, 1.56e-3)
# RMSProp with its epsilon of 1 divides by about 1: it is momentum with a rate of 0.004 of 24.
_RMSPROP = (1e-4, 1.67e-4)
_LIKE_MOMENTUM = 0.1  # epsilons above it are larger than most squared gradients
# Adam's steps are as long as its rate, however large the gradient: 0.001 of 128, and half to
# fine-tune; by the root of the batch (arXiv 1404.5997, section 5). Others use a fourth.
_ADAM = (2.5e-4 / math.sqrt(128), 1e-3 / math.sqrt(128))

# What was published is within a factor of 3 of these ranges. So are rates that users train well
# with at a tenth of the batch without scaling them, by a factor of 6 and more.
WARNS_FROM, FAILS_FROM = 6.0, 40.0  # times the highest
WARNS_BELOW, FAILS_BELOW = 10.0, 30.0  # parts of the lowest
_USUAL_MOMENTUM = 0.9


@dataclass(frozen=True, kw_only=True)
class UsualRates:
    """The range of peak rates that trained such detectors, for this batch and optimizer."""

    low: float
    high: float
    rule: str  # how it follows from what was published

    @property
    def middle(self) -> float:
        """A rate to begin with."""
        return math.sqrt(self.low * self.high)


def usual_rates(detector: Detector, optimizer: Optimizer, batch_size: int) -> UsualRates | None:
    """Scale what was published to a config's batch; None where no optimizer is chosen."""
    chosen = optimizer.chosen("optimizer")
    images = max(batch_size, 1)
    match chosen:
        case AdamOptimizer():
            return _scaled(_ADAM, math.sqrt(images), "0.001 for 128 images, by the root")
        case RMSPropOptimizer(epsilon=epsilon) if epsilon < _LIKE_MOMENTUM:
            return _scaled(_ADAM, math.sqrt(images), "as Adam's: 0.001 for 128, by the root")
        case RMSPropOptimizer():
            factor = images * _slowness(chosen.momentum_optimizer_value)
            return _scaled(_RMSPROP, factor, "0.004 for 24 images, in proportion")
        case MomentumOptimizer():
            factor = images * _slowness(chosen.momentum_optimizer_value)
            return _scaled(_of_detector(detector), factor, _rule(detector))
    return None


def _slowness(momentum: float) -> float:
    """Momentum m repeats each step 1 / (1 - m) times: the rate must make up for it."""
    return max(1 - momentum, 1e-3) / (1 - _USUAL_MOMENTUM)


def _scaled(of_one: tuple[float, float], factor: float, rule: str) -> UsualRates:
    return UsualRates(low=of_one[0] * factor, high=of_one[1] * factor, rule=rule)


def _of_detector(detector: Detector) -> tuple[float, float]:
    if isinstance(detector, FasterRcnn):
        return _TWO_STAGES
    known = extractor_of(detector)
    return _PLAIN if known is None or known.neck == "ssd_layers" else _PYRAMID


def _rule(detector: Detector) -> str:
    published = {_TWO_STAGES: "0.0003 for 1 to 0.04 for 64 images", _PLAIN: "0.8 for 512 images"}
    where = published.get(_of_detector(detector), "0.08 for 128 images")
    return f"{where}, in proportion"
