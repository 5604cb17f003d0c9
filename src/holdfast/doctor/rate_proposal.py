"""Which learning rate a range test speaks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.doctor.curves import Values, change, first_level, smoothed

RULE = (
    "a third of the rate at which the smoothed loss is lowest, and at most a fifth of the one from "
    "which on it rises"
)
_BELOW_LOWEST = 1 / 3  # what is best for a few steps is too long for many
_BELOW_RISE = 1 / 5
_RISEN = 1.3  # times the lowest smoothed loss: from here on it gets worse
_WIDTH = 9  # steps over which the loss is smoothed
_FELL = 0.95  # of the first loss, or less: there is something to choose from


@dataclass(frozen=True, kw_only=True)
class RateProposal:
    """A rate to train with, and what it follows from."""

    rate: float | None  # None: no rate made the loss fall
    smoothed: tuple[float, ...]
    lowest_at: float  # the rate with the lowest smoothed loss
    rises_from: float | None  # None: it never rose
    fell_to: float  # the lowest smoothed loss over the first one


def propose_rate(rates: Sequence[float], losses: Sequence[float]) -> RateProposal:
    """Apply the RULE to what was seen; rates rise.

    >>> rates = [10.0**power for power in np.linspace(-6, 1, 100)]
    >>> losses = [4.0 if rate < 1e-3 else 1.0 if rate < 0.1 else 9.0 for rate in rates]
    >>> found = propose_rate(rates, losses)
    >>> 1e-3 <= found.rate <= 0.1
    True
    """
    finite = np.isfinite(np.asarray(losses, np.float64))
    tried = np.asarray(rates, np.float64)[finite]
    curve = _smooth(np.asarray(losses, np.float64)[finite])
    at = _last_of_lowest(curve)
    risen = np.flatnonzero(curve[at:] > _RISEN * curve[at])
    rises_from = float(tried[at + risen[0]]) if len(risen) else None
    fell = change(first_level(curve), curve[max(at - 2, 0) : at + 3]).ratio
    rate = _BELOW_LOWEST * float(tried[at])
    if rises_from is not None:
        rate = min(rate, _BELOW_RISE * rises_from)
    return RateProposal(
        rate=_rounded(rate) if fell <= _FELL else None,
        smoothed=tuple(curve.tolist()),
        lowest_at=float(tried[at]),
        rises_from=rises_from,
        fell_to=fell,
    )


def _smooth(values: Values) -> Values:
    """Median first, against spikes, then a mean, against steps."""
    medians = smoothed(values, _WIDTH)
    half = _WIDTH // 4
    parts = (medians[max(at - half, 0) : at + half + 1] for at in range(len(medians)))
    return np.array([np.mean(part) for part in parts])


def _last_of_lowest(curve: Values) -> int:
    """Find the lowest place; of a flat bottom the middle."""
    lowest = np.flatnonzero(curve <= curve.min() * 1.02)
    return int(lowest[len(lowest) // 2])


def _rounded(rate: float) -> float:
    """Give two digits: more are not known."""
    return float(f"{rate:.1e}")
