"""What the planner is told about a training: traced graphs, and what lies outside of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LargestShapes = Mapping[str, tuple[int, ...]]  # of inputs traced with open sides, by their name


@dataclass(frozen=True, kw_only=True)
class TracedStep:
    """A step traced for one shape of batch, never run.

    graph: the FuncGraph of the step. Lists hold the bytes of each variable, in the order in which
    they are made.
    """

    graph: Any
    weights: tuple[int, ...]
    optimizer_slots: tuple[int, ...]
    averages: tuple[int, ...]
    input_batch: tuple[int, ...]  # bytes of each tensor of a batch
    teacher: tuple[int, ...] = ()  # weights of a detector that is learned from
    blocks: tuple[str, ...] = ()  # names of the parts that activations are counted by
    accumulation: int = 1  # rounds of the loop that computes gradients; 1: there is none
    trains_batch_norm: bool = True  # some batch norm sees the batch: pieces of it are not the same
    most_region_chunks: int = 1  # that its regions can be looked at in, one after the other
    largest: LargestShapes = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TracedEvaluation:
    """An evaluation traced for its largest batch, never run. It uses the weights of the step."""

    graph: Any
    input_batch: tuple[int, ...]  # bytes of each tensor of a batch
    batches: int = 2  # alive at once, the one in use included
    largest: LargestShapes = field(default_factory=dict)
