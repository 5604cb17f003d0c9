"""What the planner is told about a training step: its traced graph, and what lies outside of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
    blocks: tuple[str, ...] = ()  # names of the parts that activations are counted by
    accumulation: int = 1  # rounds of the loop that computes gradients; 1: there is none
    trains_batch_norm: bool = True  # some batch norm sees the batch: pieces of it are not the same
