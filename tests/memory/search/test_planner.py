from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.memory.search.planner import search

KEPT = {"a": 500, "b": 300, "c": 150, "d": 50}  # bytes an image
FIXED, BASE, REGIONS = 1000, 200, 800
PLAIN = StepSettings(micro_batch=8)


def peak(settings: StepSettings) -> int:
    """A network in which a block that is not kept is alive while it is computed again."""
    kept = sum(size for name, size in KEPT.items() if name not in settings.rematerialize)
    again = max((KEPT[name] for name in settings.rematerialize), default=0)
    return FIXED + settings.micro_batch * (kept + again) + REGIONS // settings.region_chunks


class Machine:
    """Predicts for a limit, and counts how often it was asked."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.asked = 0

    def __call__(self, settings: StepSettings) -> MemoryPlan:
        self.asked += 1
        needed = peak(settings)
        again = sum(KEPT[name] for name in settings.rematerialize)
        return MemoryPlan(
            fits=BASE + needed <= self.limit,
            limit_bytes=self.limit,
            base_bytes=BASE,
            predicted_peak_bytes=needed,
            items={"weights": FIXED, "activations": needed - FIXED},
            settings=settings,
            predicted_step_flops=3000 + again,
        )


def test_settings_that_fit_are_left_as_they_are():
    machine = Machine(BASE + peak(PLAIN))
    choice = search(machine, PLAIN, KEPT, trains_batch_norm=True)
    assert choice.plan.settings == PLAIN
    assert machine.asked == 1
    assert choice.time_factor == 1.0


def test_with_batch_norm_in_training_blocks_are_computed_twice_before_the_batch_is_split():
    limit = BASE + peak(replace(PLAIN, rematerialize=("a", "b")))
    choice = search(Machine(limit), PLAIN, KEPT, trains_batch_norm=True)
    assert choice.plan.settings == replace(PLAIN, rematerialize=("a", "b"))
    assert choice.time_factor == pytest.approx(3800 / 3000)
    assert "2 blocks (the largest)" in choice.reasons[1]


def test_with_frozen_batch_norm_the_batch_is_split_first():
    limit = BASE + peak(StepSettings(micro_batch=4))
    choice = search(Machine(limit), PLAIN, KEPT, trains_batch_norm=False)
    assert choice.plan.settings == StepSettings(micro_batch=4, accumulation=2)
    assert "frozen" in choice.reasons[-1]


def test_what_pieces_do_to_batch_norm_is_said():
    smaller = StepSettings(micro_batch=2, accumulation=4, rematerialize=tuple(KEPT))
    choice = search(Machine(BASE + peak(smaller)), PLAIN, KEPT, trains_batch_norm=True)
    assert choice.plan.fits
    assert choice.plan.settings.batch_size == 8
    assert "Batch norm sees 2 images at a time instead of 8" in choice.reasons[-1]


def test_when_nothing_fits_the_smallest_plan_says_by_how_much():
    smallest = StepSettings(micro_batch=1, accumulation=8, rematerialize=tuple(KEPT))
    choice = search(Machine(BASE + peak(smallest) - 1), PLAIN, KEPT, trains_batch_norm=False)
    assert not choice.plan.fits
    assert choice.plan.settings == smallest
    assert "1 B are missing" in choice.reasons[0]


def test_regions_are_looked_at_in_chunks_when_blocks_are_not_enough_and_before_the_batch_is_split():
    most = replace(PLAIN, rematerialize=tuple(KEPT))
    chunks = replace(most, region_chunks=8)
    limit = BASE + (peak(most) + peak(chunks)) // 2
    choice = search(Machine(limit), PLAIN, KEPT, trains_batch_norm=True, most_chunks=64)
    assert choice.plan.fits
    assert choice.plan.settings.region_chunks == 8
    assert choice.plan.settings.accumulation == 1
    assert any("8 chunks" in each for each in choice.reasons)
    without = search(Machine(limit), PLAIN, KEPT, trains_batch_norm=True)
    assert without.plan.settings.accumulation == 2


def test_regions_alone_are_divided_where_that_is_enough():
    chunks = replace(PLAIN, region_chunks=8)
    limit = BASE + peak(chunks)
    choice = search(Machine(limit), PLAIN, KEPT, trains_batch_norm=True, most_chunks=64)
    assert choice.plan.settings == chunks
    assert len(choice.tried) == 2


@given(
    limit=st.integers(0, 12_000),
    batch=st.integers(1, 24),
    trains_batch_norm=st.booleans(),
    given_blocks=st.sets(st.sampled_from(sorted(KEPT))),
)
def test_the_batch_is_kept_and_what_can_fit_does(limit, batch, trains_batch_norm, given_blocks):
    wanted = StepSettings(micro_batch=batch, rematerialize=tuple(sorted(given_blocks)))
    machine = Machine(limit)
    choice = search(machine, wanted, KEPT, trains_batch_norm=trains_batch_norm)
    assert choice.plan.settings.batch_size == batch
    assert set(given_blocks) <= set(choice.plan.settings.rematerialize)
    possible = [
        StepSettings(micro_batch=batch // count, accumulation=count, rematerialize=tuple(KEPT))
        for count in range(1, batch + 1)
        if batch % count == 0
    ]
    if any(BASE + peak(each) <= limit for each in possible):
        assert choice.plan.fits
    assert machine.asked == len(choice.tried)
