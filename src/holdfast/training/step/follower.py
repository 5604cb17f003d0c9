"""What follows the weights: parts of a step that act when the optimizer has moved them."""

from __future__ import annotations

from typing import Any, Protocol

from holdfast.geometry.tensor import Tensor


class Follower(Protocol):
    """A part that follows each step in which the weights moved; a step has a list of them."""

    def look(self, step: Tensor) -> list[Tensor]:
        """Compute what it needs of the weights before a step moves them."""

    def follow(self, seen: list[Tensor], updates: Tensor) -> None:
        """Act after the weights have moved; updates counts their updates, the last included."""

    def measures(self) -> dict[str, Tensor]:
        """Give the numbers that are noted with each step, float32 () each, by their names."""

    def facts(self) -> dict[str, Any]:
        """Give what the run notes with each checkpoint, by the names of the facts."""
