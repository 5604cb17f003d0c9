"""Loops of a graph, followed through one round.

TensorFlow lowers a loop to Enter, Merge, Switch, NextIteration and Exit. Here the way back is cut:
values enter, the body runs once, and what the loop gives is what the next round would have got.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from holdfast.memory.predict.step_graph import GraphNode, Output


def straightened(nodes: Sequence[GraphNode]) -> dict[str, GraphNode]:
    """Cut the way back of each loop, and let its results wait until the round is over."""
    by_name = {node.name: node for node in nodes}
    backward = {node.name for node in nodes if node.operation.endswith("NextIteration")}
    frames = _Frames(by_name, backward)
    return {node.name: frames.straightened(node) for node in nodes}


class _Frames:
    """The loops of a graph whose control flow is lowered to Enter, Merge, Switch and Exit."""

    def __init__(self, nodes: Mapping[str, GraphNode], backward: set[str]) -> None:
        self._nodes = nodes
        self._ends: dict[str, list[str]] = defaultdict(list)  # frame -> what closes a round
        self._next: dict[str, Output] = {}  # merge -> the value of the next round
        self._frame: dict[str, str] = {}  # merge -> frame
        self._backward = backward
        for node in nodes.values():
            if node.operation.endswith("Merge"):
                self._note(node)

    def _note(self, merge: GraphNode) -> None:
        back = [each for each in merge.inputs if each.node in self._backward]
        enter = [
            self._nodes[each.node]
            for each in merge.inputs
            if self._nodes[each.node].operation.endswith("Enter")
        ]
        if back and enter:
            frame = str(enter[0].settings["frame_name"])
            self._frame[merge.name] = frame
            self._next[merge.name] = back[0]
            self._ends[frame].append(back[0].node)

    def straightened(self, node: GraphNode) -> GraphNode:
        if node.operation.endswith("Merge") and node.name in self._next:
            kept = tuple(each for each in node.inputs if each.node not in self._backward)
            return replace(node, inputs=kept)
        if node.operation.endswith("Exit"):
            merge = self._merge_of(node)
            if merge is not None:
                ends = tuple(self._ends[self._frame[merge]])
                return replace(node, inputs=(self._next[merge],), waits_for=node.waits_for + ends)
        return node

    def _merge_of(self, leaving: GraphNode) -> str | None:
        for switch in _sources(self._nodes, leaving):
            for merge in _sources(self._nodes, switch):
                if merge.name in self._next:
                    return merge.name
        return None


def _sources(nodes: Mapping[str, GraphNode], node: GraphNode) -> Iterator[GraphNode]:
    return (nodes[each.node] for each in node.inputs)
