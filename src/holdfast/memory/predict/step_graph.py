"""The graph that a training step runs, as plain values: what runs, on what, and how large it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

NUMBER = "number"  # the setting that holds the value of a constant that is one whole number


class TensorShape(NamedTuple):
    """A tensor's sides and the bytes of one of its numbers."""

    sides: tuple[int, ...]
    item_bytes: int

    @property
    def numbers(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.sides)

    @property
    def bytes(self) -> int:
        """How much memory it needs.

        >>> TensorShape((8, 300, 300, 3), 4).bytes
        8640000
        """
        return self.numbers * self.item_bytes


class Output(NamedTuple):
    """One of the tensors that a node makes."""

    node: str
    position: int = 0


@dataclass(frozen=True, kw_only=True)
class GraphNode:
    """An operation of the graph."""

    name: str
    operation: str
    inputs: tuple[Output, ...] = ()
    waits_for: tuple[str, ...] = ()  # nodes that must have run before, besides the inputs
    outputs: tuple[TensorShape, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)  # strides, frame names, …


@dataclass(frozen=True, kw_only=True)
class StepGraph:
    """All nodes of a step; the order is that in which equally ready ones are started."""

    nodes: tuple[GraphNode, ...]
    traced_nodes: int  # before the graph was optimized: what Python keeps of it
    unknown: tuple[str, ...] = ()  # nodes with an output whose size is a guess
    unknown_share: float = 0.0  # of the bytes of all tensors
    list_lengths: Mapping[str, int] = field(default_factory=dict)  # by node that fills it in a loop
