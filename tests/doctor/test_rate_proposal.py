from __future__ import annotations

import numpy as np
import pytest

from holdfast.doctor.rate_proposal import propose_rate

RATES = np.geomspace(1e-6, 10.0, 100)


def curve(falls_at: float, rises_at: float, noise: float, seed: int = 0) -> list[float]:
    """A loss of 4 that falls to 1.5 around one rate, and rises without end from another one on."""
    chance = np.random.default_rng(seed)
    fallen = 2.5 / (1 + np.exp(-3 * np.log10(RATES / falls_at)))
    risen = np.maximum(RATES / rises_at, 1.0) ** 1.5
    return ((4.0 - fallen) * risen * np.exp(chance.normal(0, noise, len(RATES)))).tolist()


@pytest.mark.parametrize("noise", [0.02, 0.25])
@pytest.mark.parametrize(("falls_at", "rises_at"), [(1e-4, 1e-2), (1e-2, 1.0)])
def test_the_proposal_lies_between_what_learns_and_what_breaks(falls_at, rises_at, noise):
    for seed in range(5):
        found = propose_rate(RATES, curve(falls_at, rises_at, noise, seed))
        assert found.rate is not None
        assert falls_at / 3 <= found.rate <= rises_at / 2
        assert found.fell_to < 0.7


def test_numbers_that_are_not_finite_are_not_looked_at():
    losses = curve(1e-3, 0.1, 0.05)
    cut = [loss if rate < 0.5 else float("nan") for rate, loss in zip(RATES, losses, strict=True)]
    assert propose_rate(RATES, cut).rate == pytest.approx(propose_rate(RATES, losses).rate, rel=0.5)


def test_where_nothing_falls_nothing_is_proposed():
    chance = np.random.default_rng(3)
    losses = 4.0 * np.exp(chance.normal(0, 0.02, 100)) * np.maximum(RATES / 1e-3, 1.0)
    assert propose_rate(RATES, losses.tolist()).rate is None


def test_a_loss_that_never_rises_is_bounded_by_its_lowest_place():
    found = propose_rate(RATES[:60], curve(1e-4, 1e9, 0.02)[:60])
    assert found.rises_from is None
    assert found.rate is not None
    assert found.rate <= found.lowest_at / 2
