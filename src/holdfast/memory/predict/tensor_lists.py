"""Lists of tensors, which loops fill and stack: how many elements each will hold.

A loop is followed through one round, in which a list gets one element. What is alive in the last
round is all of them, so the element of the one round stands for as many as the list will have.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.memory.predict.operations import ALIASES, LIST_FILLERS
from holdfast.memory.predict.step_graph import NUMBER, GraphNode, Output

_SOURCES = ("TensorListReserve", "EmptyTensorList")
_FAR = 10_000  # nodes: no way back is as long


def list_lengths(nodes: Mapping[str, GraphNode]) -> dict[str, int | None]:
    """Say for each node that puts an element into a list in a loop how many the list will hold.

    nodes: with the way back of each loop still in it. None: the graph does not tell.
    """
    found: dict[str, int | None] = {}
    for node in nodes.values():
        if node.operation in LIST_FILLERS:
            source, merge = _source(nodes, node.inputs[0])
            if merge is not None:
                # A list that was made for nothing grows with each round.
                found[node.name] = _reserved(nodes, source) or _rounds(nodes, merge)
    return found


def _source(
    nodes: Mapping[str, GraphNode], taken: Output
) -> tuple[GraphNode | None, GraphNode | None]:
    """Walk back to where a list was made; give that, and the merge of the loop it came through."""
    merge: GraphNode | None = None
    for _ in range(_FAR):
        node = nodes[taken.node]
        if node.operation in _SOURCES or not node.inputs:
            return node, merge
        if node.operation.endswith("Merge"):
            merge = node
            taken = _entering(nodes, node) or node.inputs[0]
        elif node.operation in ALIASES or node.operation in LIST_FILLERS:
            taken = node.inputs[0]
        else:
            return node, merge
    return None, merge


def _reserved(nodes: Mapping[str, GraphNode], source: GraphNode | None) -> int | None:
    """Give the number of elements that a list was made for."""
    if source is None or source.operation != "TensorListReserve":
        return None
    return _number(nodes, source.inputs[1])


def _rounds(nodes: Mapping[str, GraphNode], merge: GraphNode) -> int | None:
    """Count the rounds of a loop that counts up from a constant to another one, by one."""
    frame = _frame(nodes, merge)
    conditions = (node for node in nodes.values() if node.operation == "LoopCond")
    for condition in conditions:
        for test in _comparisons(nodes, condition):
            counter = nodes[test.inputs[0].node]
            if counter.operation.endswith("Merge") and _frame(nodes, counter) == frame:
                entering = _entering(nodes, counter)
                first = _number(nodes, entering) if entering else None
                last = _number(nodes, test.inputs[1])
                if first is not None and last is not None:
                    return max(0, last - first)
    return None


def _comparisons(nodes: Mapping[str, GraphNode], node: GraphNode) -> list[GraphNode]:
    """List the comparisons that a loop goes on by; of several, each bounds it."""
    found, left = [], [node]
    while left:
        for each in left.pop().inputs:
            source = nodes[each.node]
            if source.operation == "Less":
                found.append(source)
            elif source.operation in ("LogicalAnd", "Identity"):
                left.append(source)
    return found


def _entering(nodes: Mapping[str, GraphNode], merge: GraphNode) -> Output | None:
    return next(
        (each for each in merge.inputs if nodes[each.node].operation.endswith("Enter")), None
    )


def _frame(nodes: Mapping[str, GraphNode], merge: GraphNode) -> object:
    entering = _entering(nodes, merge)
    return None if entering is None else nodes[entering.node].settings.get("frame_name")


def _number(nodes: Mapping[str, GraphNode], taken: Output) -> int | None:
    node = nodes[taken.node]
    while node.operation in ALIASES and node.inputs:
        node = nodes[node.inputs[0].node]
    number = node.settings.get(NUMBER)
    return number if isinstance(number, int) else None
