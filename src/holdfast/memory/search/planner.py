"""The search for settings that fit into memory, keep the batch, and cost the least time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.memory.plan import MemoryPlan, StepSettings
from holdfast.memory.predict.items import (
    ACCUMULATORS,
    AVERAGES,
    DECODING,
    EVALUATION,
    GRADIENTS,
    LOOP,
    MANY_SHAPES,
    READING,
    RUNTIME,
    SLOTS,
    WEIGHTS,
)
from holdfast.memory.search.ladder import fewer_regions_at_once
from holdfast.memory.search.suggestion import MemorySuggestion
from holdfast.units import bytes_text

Predict = Callable[[StepSettings], MemoryPlan]
_CLOSE = 0.9  # of the room: a plan that fills so much of it is not made any larger
_AIM = 0.95  # of the room: blocks save a little less than they keep

# What does not shrink with the images that are computed at once.
FIXED_ITEMS = frozenset(
    (
        WEIGHTS,
        GRADIENTS,
        SLOTS,
        AVERAGES,
        ACCUMULATORS,
        RUNTIME,
        LOOP,
        MANY_SHAPES,
        EVALUATION,
        DECODING,
        READING,
    )
)


@dataclass(frozen=True, kw_only=True)
class StepChoice:
    """A plan, why it is so, and what else was looked at."""

    plan: MemoryPlan
    reasons: tuple[str, ...]
    tried: tuple[MemoryPlan, ...]  # in order, the chosen one among them
    suggestions: tuple[MemorySuggestion, ...] = ()  # where nothing fits

    @property
    def time_factor(self) -> float:
        """How many more operations a step needs than the first one that was tried."""
        return self.plan.predicted_step_flops / max(1, self.tried[0].predicted_step_flops)


def search(
    predict: Predict,
    wanted: StepSettings,
    kept_bytes: Mapping[str, int],
    *,
    trains_batch_norm: bool,
    most_chunks: int = 1,
    is_exact: bool = True,
) -> StepChoice:
    """Find settings that fit, beginning with the wanted ones, which are kept if they do.

    kept_bytes: what each block that can be rematerialized keeps for the gradient.
    trains_batch_norm: then pieces change what batch norm sees, so blocks are computed twice before
    the batch is split. Otherwise both give the same numbers, and pieces cost less. most_chunks: in
    how many the regions of a second stage can be looked at. is_exact: the limit is what the
    prediction counts, so that no more blocks than needed are computed twice.
    """
    tried: list[MemoryPlan] = []

    def attempt(settings: StepSettings) -> MemoryPlan:
        known = next((plan for plan in tried if plan.settings == settings), None)
        if known is None:
            known = predict(settings)
            tried.append(known)
        return known

    first = attempt(wanted)
    if first.fits:
        return StepChoice(plan=first, reasons=("It fits as it is.",), tried=tuple(tried))
    every = tuple(dict.fromkeys((*wanted.rematerialize, *_by_size(kept_bytes))))
    for settings in _rungs(first, every, trains_batch_norm, most_chunks):
        plan = attempt(settings)
        if plan.fits:
            if is_exact:
                too_few = next((each for each in tried if _is_less(each, plan)), None)
                plan = _fewest_blocks(attempt, wanted, plan, too_few, kept_bytes)
            reasons = tuple(_reasons(first, plan, every, trains_batch_norm))
            return StepChoice(plan=plan, reasons=reasons, tried=tuple(tried))
    smallest = min(tried, key=lambda plan: plan.predicted_peak_bytes)
    return StepChoice(plan=smallest, reasons=(_missing(smallest),), tried=tuple(tried))


def _rungs(
    first: MemoryPlan, every: tuple[str, ...], trains_batch_norm: bool, most_chunks: int
) -> Iterator[StepSettings]:
    """Yield ever smaller settings, leaving out those that surely do not suffice."""
    wanted = first.settings
    pieces = list(_splits(wanted.batch_size, wanted.accumulation))
    if not trains_batch_norm:
        for count in pieces[1:]:
            if _estimate(first, wanted.batch_size // count) <= _room(first):
                yield _split(wanted, count)
    chunked = replace(
        wanted, region_chunks=fewer_regions_at_once(wanted.region_chunks, most_chunks)
    )
    yield chunked  # only regions are computed twice then
    yield replace(wanted, rematerialize=every)
    for count in pieces:
        yield replace(_split(chunked, count), rematerialize=every)


def _is_less(plan: MemoryPlan, than: MemoryPlan) -> bool:
    """Tell whether a plan is another one with fewer blocks computed twice."""
    blocks = than.settings.rematerialize[: len(plan.settings.rematerialize)]
    return plan is not than and plan.settings == replace(than.settings, rematerialize=blocks)


def _by_size(kept_bytes: Mapping[str, int]) -> list[str]:
    """List the blocks that keep anything, the largest first."""
    worth = [name for name, kept in kept_bytes.items() if kept > 0]
    return sorted(worth, key=lambda name: -kept_bytes[name])


def _fewest_blocks(
    attempt: Predict,
    wanted: StepSettings,
    plan: MemoryPlan,
    too_few: MemoryPlan | None,
    kept_bytes: Mapping[str, int],
) -> MemoryPlan:
    """Compute fewer blocks twice as long as it still fits, until little room is left.

    too_few: a plan with fewer blocks that does not fit, None if it is not known. Each attempt is
    where the peak would fill the room if what blocks keep were what they save.
    """
    every = plan.settings.rematerialize
    least = len((too_few.settings if too_few is not None else wanted).rematerialize)
    most = len(every)
    while most - least > max(1, len(every) // 8) and plan.predicted_peak_bytes < _CLOSE * _room(
        plan
    ):
        middle = _guess(too_few, plan, least, [kept_bytes.get(name, 0) for name in every[:most]])
        fewer = attempt(replace(plan.settings, rematerialize=tuple(every[:middle])))
        if fewer.fits:
            plan, most = fewer, middle
        else:
            too_few, least = fewer, middle
    return plan


def _guess(
    too_few: MemoryPlan | None, enough: MemoryPlan, least: int, kept_bytes: Sequence[int]
) -> int:
    """Choose a number of blocks between one that is too few and one that is enough."""
    most = len(kept_bytes)
    if too_few is None or not sum(kept_bytes[least:]):
        return (least + most) // 2
    peaks = too_few.predicted_peak_bytes, enough.predicted_peak_bytes
    share = (peaks[0] - _AIM * _room(enough)) / max(1, peaks[0] - peaks[1])
    wanted, saved = share * sum(kept_bytes[least:]), 0
    for count in range(least + 1, most):
        saved += kept_bytes[count - 1]
        if saved >= wanted:
            return count
    return most - 1


def _splits(batch: int, pieces: int) -> Iterator[int]:
    """Yield numbers of equal pieces, from the present one up to one image each."""
    return (count for count in range(pieces, batch + 1) if batch % count == 0)


def _split(settings: StepSettings, count: int) -> StepSettings:
    return replace(settings, micro_batch=settings.batch_size // count, accumulation=count)


def _room(plan: MemoryPlan) -> int:
    return plan.limit_bytes - plan.base_bytes


def _estimate(plan: MemoryPlan, micro_batch: int) -> int:
    """Guess the peak with fewer images at once: what is not fixed shrinks with them."""
    fixed = sum(size for name, size in plan.items.items() if name in FIXED_ITEMS)
    moving = plan.predicted_peak_bytes - fixed
    return fixed + moving * micro_batch // plan.settings.micro_batch


def _reasons(
    first: MemoryPlan, plan: MemoryPlan, every: Sequence[str], trains_batch_norm: bool
) -> Iterator[str]:
    needed = first.base_bytes + first.predicted_peak_bytes
    yield (
        f"As it is, the step needs {bytes_text(needed)}, "
        f"{bytes_text(needed - first.limit_bytes)} more than there is."
    )
    settings = plan.settings
    if settings.rematerialize != first.settings.rematerialize:
        which = "all" if len(settings.rematerialize) == len(every) else "the largest"
        yield (
            f"{len(settings.rematerialize)} blocks ({which}) are computed again for the gradient "
            "instead of being kept: the numbers stay the same, a step takes longer."
        )
    if settings.region_chunks != first.settings.region_chunks:
        yield (
            f"The regions of the second stage are looked at in {settings.region_chunks} chunks, "
            "one after the other, and again for the gradient: the numbers stay the same."
        )
    if settings.accumulation != first.settings.accumulation:
        yield (
            f"Each batch of {settings.batch_size} is computed in {settings.accumulation} pieces of "
            f"{settings.micro_batch}, whose gradients are added up: the batch stays what it was."
        )
        yield (
            f"Batch norm sees {settings.micro_batch} image"
            f"{'s' if settings.micro_batch > 1 else ''} at a time instead of "
            f"{first.settings.micro_batch}: its statistics are noisier. Freeze it "
            "(freeze_batchnorm: true) when you start from a checkpoint."
            if trains_batch_norm
            else "Batch norm is frozen, so that pieces change nothing."
        )


def _missing(plan: MemoryPlan) -> str:
    over = plan.base_bytes + plan.predicted_peak_bytes - plan.limit_bytes
    images, blocks = plan.settings.micro_batch, len(plan.settings.rematerialize)
    chunks = plan.settings.region_chunks
    return (
        f"Nothing fits: with {images} image{'s' if images > 1 else ''} at a time and "
        f"{blocks or 'no'} block{'' if blocks == 1 else 's'} computed twice"
        f"{f', regions in {chunks} chunks' if chunks > 1 else ''}, which needs least, "
        f"{bytes_text(over)} are missing."
    )
