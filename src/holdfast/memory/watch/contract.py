"""The memory contract: a plan's items, and a step that held more than their sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.memory.plan import BatchShape, MemoryPlan
from holdfast.memory.predict.items import ACTIVATIONS, ALLOCATOR, LOOP, TARGETS
from holdfast.units import bytes_text

TOLERATED_SHARE = 0.05  # of the predicted peak
TOLERATED_BYTES = 64 * 2**20
NAMED_IMAGES = 3

LARGE, DENSE, LEAK, FRAGMENTATION = "large", "dense", "leak", "fragmentation"


@dataclass(frozen=True, kw_only=True)
class HeldStep:
    """What a step held, and what it worked on."""

    step: int  # from 1
    peak_bytes: int  # above the base
    before_bytes: int  # resident before it, above the base
    shape: BatchShape  # of its batch
    images: Sequence[str]  # by name
    boxes: Sequence[int]  # that each has
    pixels: Sequence[int]  # that each has, before the padding


@dataclass(frozen=True, kw_only=True)
class Surplus:
    """A step that held more than was planned."""

    step: int
    peak_bytes: int
    predicted_peak_bytes: int
    item: str  # of the plan, that must have been larger
    item_bytes: int  # as planned
    cause: str  # LARGE, DENSE, LEAK or FRAGMENTATION
    images: tuple[str, ...]  # that it comes from, if it comes from images

    @property
    def surplus_bytes(self) -> int:
        """How much more was held than planned."""
        return self.peak_bytes - self.predicted_peak_bytes

    def __str__(self) -> str:
        named = f" ({', '.join(self.images)})" if self.images else ""
        return (
            f"Step {self.step} held {bytes_text(self.peak_bytes)}, "
            f"{bytes_text(self.surplus_bytes)} more than planned. It is booked as {self.item!r} "
            f"({bytes_text(self.item_bytes)} in the plan): {_CAUSES[self.cause]}{named}."
        )


_CAUSES = {
    LARGE: "the batch's images are larger than any that was planned for",
    DENSE: "the batch has more boxes in an image than was planned for",
    LEAK: "more is held from step to step than at the beginning",
    FRAGMENTATION: "the batch is as planned and nothing else grew, so that freed memory lies in "
    "pieces too small to be used, or a kernel took more room to work in",
}


def surplus_of(
    plan: MemoryPlan, planned: BatchShape, held: HeldStep, *, first_before_bytes: int
) -> Surplus | None:
    """Book a step against a plan; None if it kept to it, or if the plan claims nothing.

    planned: the batch that the plan is for. first_before_bytes: what was held before one of the
    first steps, above the base.
    """
    predicted = plan.predicted_peak_bytes
    surplus = held.peak_bytes - predicted
    if not predicted or surplus <= max(TOLERATED_BYTES, TOLERATED_SHARE * predicted):
        return None
    cause, item, images = _booked(planned, held, surplus, held.before_bytes - first_before_bytes)
    return Surplus(
        step=held.step,
        peak_bytes=held.peak_bytes,
        predicted_peak_bytes=predicted,
        item=item,
        item_bytes=sum(size for name, size in plan.items.items() if name.startswith(item)),
        cause=cause,
        images=images,
    )


def _booked(
    planned: BatchShape, held: HeldStep, surplus: int, grown: int
) -> tuple[str, str, tuple[str, ...]]:
    shape = held.shape
    if shape.height * shape.width > planned.height * planned.width:
        return LARGE, ACTIVATIONS, _most(held.images, held.pixels)
    if shape.boxes > planned.boxes:
        return DENSE, TARGETS, _most(held.images, held.boxes)
    if grown > surplus / 2:
        return LEAK, LOOP, ()
    return FRAGMENTATION, ALLOCATOR, ()


def _most(images: Sequence[str], counts: Sequence[int]) -> tuple[str, ...]:
    order = sorted(range(len(images)), key=lambda index: -counts[index])
    return tuple(images[index] for index in order[:NAMED_IMAGES])
