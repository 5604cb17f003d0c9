"""The graph that a training step runs, as plain values: what runs, on what, and how large it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Shape(NamedTuple):
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

        >>> Shape((8, 300, 300, 3), 4).bytes
        8640000
        """
        return self.numbers * self.item_bytes


class Output(NamedTuple):
    """One of the tensors that a node makes."""

    node: str
    position: int = 0


@dataclass(frozen=True, kw_only=True)
class Node:
    """An operation of the graph."""

    name: str
    operation: str
    inputs: tuple[Output, ...] = ()
    waits_for: tuple[str, ...] = ()  # nodes that must have run before, besides the inputs
    outputs: tuple[Shape, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)  # strides, frame names, …


@dataclass(frozen=True, kw_only=True)
class StepGraph:
    """All nodes of a step; the order is that in which equally ready ones are started."""

    nodes: tuple[Node, ...]
    traced_nodes: int  # before the graph was optimised: what Python keeps of it
    unknown: tuple[str, ...] = ()  # nodes with an output whose shape the graph does not tell
