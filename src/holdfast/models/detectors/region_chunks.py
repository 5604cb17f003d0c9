"""Detectors that can look at their regions in chunks: how many, and how they are told."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from holdfast.errors import HoldfastError
from holdfast.models.detectors.interface import Detector


@runtime_checkable
class LooksAtRegions(Protocol):
    """A detector whose later stages look at the regions that its first one proposes."""

    region_chunks: int  # 1: all regions at once

    @property
    def most_region_chunks(self) -> int:
        """In how many chunks it can look at them without a change of its numbers."""


def region_chunks(detector: Detector) -> int:
    """Say in how many chunks a detector looks at its regions; 1 where it has none."""
    return detector.region_chunks if isinstance(detector, LooksAtRegions) else 1


def most_region_chunks(detector: Detector) -> int:
    """Say in how many chunks it can do so; 1 where it has none."""
    return detector.most_region_chunks if isinstance(detector, LooksAtRegions) else 1


def split_regions(detector: Any, count: int) -> None:
    """Look at the regions in so many chunks from now on; what was traced before stays as it is."""
    most = most_region_chunks(detector)
    if count > most:
        raise HoldfastError(
            f"The detector cannot look at its regions in {count} chunks: "
            + (
                f"it has {most} of them."
                if most > 1
                else "it has none, or its batch norm would see one chunk of them at a time."
            ),
            fix="Make a new plan with `holdfast plan`. Batch norm that stays as it is "
            "(batch_norm_trainable: false) allows chunks.",
        )
    if isinstance(detector, LooksAtRegions):
        detector.region_chunks = count
