"""The largest batch that fits, for several resolutions and ways to compute a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.memory.planner import Predict


@dataclass(frozen=True, kw_only=True)
class Mode:
    """A way to compute a step."""

    name: str
    precision: str
    rematerialize: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Fits:
    """One row: the largest batch of each resolution; 0 where not even one image fits."""

    mode: Mode
    batches: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class _Line:
    """The peak as a straight line over the images computed at once."""

    fixed_bytes: float
    image_bytes: float

    def largest_batch(self, room_bytes: int, pixel_ratio: float) -> int:
        left = room_bytes - self.fixed_bytes
        return max(0, int(left // (self.image_bytes * pixel_ratio)))


def what_fits(
    predict: Predict, modes: Sequence[Mode], pixel_ratios: Sequence[float], batches: tuple[int, int]
) -> tuple[Fits, ...]:
    """Find the largest batch of each mode and resolution, from two predictions a mode.

    pixel_ratios: pixels of each resolution, over those of the one that is predicted. What is needed
    for an image is taken to grow with its pixels.
    """
    rows = []
    for mode in modes:
        plans = [
            predict(
                StepSettings(
                    micro_batch=count, precision=mode.precision, rematerialize=mode.rematerialize
                )
            )
            for count in batches
        ]
        line, room = _line(*plans), plans[0].limit_bytes - plans[0].base_bytes
        found = tuple(line.largest_batch(room, ratio) for ratio in pixel_ratios)
        rows.append(Fits(mode=mode, batches=found))
    return tuple(rows)


def _line(small: MemoryPlan, large: MemoryPlan) -> _Line:
    images = large.settings.micro_batch - small.settings.micro_batch
    growth = (large.predicted_peak_bytes - small.predicted_peak_bytes) / images
    growth = max(growth, 1.0)
    fixed = small.predicted_peak_bytes - growth * small.settings.micro_batch
    return _Line(fixed_bytes=fixed, image_bytes=growth)
