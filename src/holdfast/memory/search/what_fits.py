"""The largest batch that fits, for several resolutions and ways to compute a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.memory.search.planner import FIXED_ITEMS


@dataclass(frozen=True, kw_only=True)
class Fits:
    """One row: the largest batch of each resolution; 0 where not even one image fits."""

    precision: str
    rematerializes: bool
    batches: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class _Line:
    """The peak as a straight line over the images computed at once."""

    fixed_bytes: float
    image_bytes: float

    def largest_batch(self, room_bytes: int, pixel_ratio: float) -> int:
        left = room_bytes - self.fixed_bytes
        return max(0, int(left // (self.image_bytes * pixel_ratio)))


def what_fits(plan: MemoryPlan, pixel_ratios: Sequence[float]) -> Fits:
    """Find the largest batch at each resolution for the way in which one plan computes a step.

    pixel_ratios: pixels of each resolution, over those of the one that was planned. What is needed
    for an image is taken to grow with its pixels.
    """
    line, room = _line(plan), plan.limit_bytes - plan.base_bytes
    return Fits(
        precision=plan.settings.precision,
        rematerializes=bool(plan.settings.rematerialize),
        batches=tuple(line.largest_batch(room, ratio) for ratio in pixel_ratios),
    )


def tried_in(settings: StepSettings, tried: Sequence[MemoryPlan]) -> MemoryPlan | None:
    """Find a plan that computes in the same precision, with blocks computed twice or without.

    The batch of both is in one piece.
    """
    alike = [
        plan
        for plan in tried
        if plan.settings.accumulation == settings.accumulation
        and plan.settings.precision == settings.precision
        and plan.settings.region_chunks == settings.region_chunks
        and bool(plan.settings.rematerialize) == bool(settings.rematerialize)
    ]
    # A search begins with all blocks that keep anything, and then takes fewer.
    return max(alike, key=lambda plan: len(plan.settings.rematerialize), default=None)


def _line(plan: MemoryPlan) -> _Line:
    fixed = sum(size for name, size in plan.items.items() if name in FIXED_ITEMS)
    moving = max(1, plan.predicted_peak_bytes - fixed)
    return _Line(fixed_bytes=fixed, image_bytes=moving / plan.settings.micro_batch)
