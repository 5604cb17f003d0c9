"""A memory plan: how a step is computed, and the memory it will need, item by item."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.units import bytes_text


@dataclass(frozen=True, kw_only=True)
class StepSettings:
    """What can be changed about a step without changing the global batch."""

    micro_batch: int  # images computed at once
    accumulation: int = 1  # micro-batches a step, one after the other
    precision: str = "float32"
    rematerialize: tuple[str, ...] = ()  # names of blocks that are computed again for the gradient
    region_chunks: int = 1  # in which a second stage looks at its regions, one after the other

    @property
    def batch_size(self) -> int:
        """Images a step, on one device."""
        return self.micro_batch * self.accumulation


@dataclass(frozen=True, kw_only=True)
class BatchShape:
    """The worst batch of a data set: its largest image, and its most crowded one."""

    height: int  # of the network's input
    width: int
    boxes: int  # to which every image of a batch is padded
    keypoints: int = 0  # of each box, where the detector learns them


@dataclass(frozen=True, kw_only=True)
class BlockActivation:
    """A tensor that is alive at the peak."""

    layer: str
    operation: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True, kw_only=True)
class MemoryPlan:
    """Settings of a step, and the peak that was predicted for them.

    predicted_peak_bytes is above base_bytes, what the process held before the detector was built.
    """

    fits: bool
    limit_bytes: int
    base_bytes: int
    predicted_peak_bytes: int
    items: dict[str, int]  # their sum is predicted_peak_bytes
    settings: StepSettings
    assumptions: tuple[str, ...] = ()
    predicted_step_flops: int = 0
    largest_activations: tuple[BlockActivation, ...] = field(default=())
    arena_bytes: int = 0  # to be reserved in one piece before the first step
    measured_peak_bytes: int | None = None

    def __post_init__(self) -> None:
        if sum(self.items.values()) != self.predicted_peak_bytes:
            raise ValueError("The items of a memory plan do not add up to its peak.")

    def __str__(self) -> str:
        """Say in a line whether it fits."""
        needed = self.base_bytes + self.predicted_peak_bytes
        verdict = "fits" if self.fits else "does not fit"
        return f"{bytes_text(needed)} of {bytes_text(self.limit_bytes)}: {verdict}"

    def document(self) -> dict[str, Any]:
        """Give the plan as JSON knows it; the keys are fixed, other tools read them."""
        document = asdict(self)
        if self.measured_peak_bytes is None:
            del document["measured_peak_bytes"]
        document["settings"]["rematerialize"] = list(self.settings.rematerialize)
        document["assumptions"] = list(self.assumptions)
        document["largest_activations"] = [
            asdict(each) | {"shape": list(each.shape)} for each in self.largest_activations
        ]
        return document


def read_settings(document: Mapping[str, Any]) -> StepSettings:
    """Read settings from JSON values."""
    return StepSettings(**dict(document) | {"rematerialize": tuple(document["rematerialize"])})


def load_plan(path: Path) -> MemoryPlan:
    """Read a plan from a file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HoldfastError(f"{path} cannot be read as a plan: {error}.") from error
    return read_plan(document)


def read_plan(document: Mapping[str, Any]) -> MemoryPlan:
    """Read what `MemoryPlan.document` wrote; HoldfastError if it is something else."""
    try:
        activations = tuple(
            BlockActivation(**dict(each, shape=tuple(each["shape"])))
            for each in document.get("largest_activations", ())
        )
        known = {name: document[name] for name in MemoryPlan.__annotations__ if name in document}
        return MemoryPlan(
            **known
            | {
                "items": dict(document["items"]),
                "settings": read_settings(document["settings"]),
                "assumptions": tuple(document["assumptions"]),
                "largest_activations": activations,
            }
        )
    except (KeyError, TypeError, ValueError) as error:
        raise HoldfastError(
            f"This is not a memory plan: {error!r}.",
            fix="Give a plan.json of a run, or what `holdfast plan --json` printed.",
        ) from error
