"""What the memory of a step is needed for: tensors sorted by what made them."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence

from holdfast.memory.plan import BlockActivation
from holdfast.memory.predict.lifetimes import Buffer
from holdfast.memory.predict.operations import ALIASES
from holdfast.memory.predict.step_graph import GraphNode, StepGraph

WEIGHTS = "weights"
SLOTS = "optimizer slots"
AVERAGES = "averages"
TEACHER_WEIGHTS = "teacher weights"
TEACHER = "teacher"  # what it computes; also the scope that it does so in
INPUT = "input batch"
ALLOCATOR = "allocator"
RUNTIME = "runtime"
LOOP = "training loop"
MANY_SHAPES = "many shapes"
EVALUATION = "evaluation"
DECODING = "decoding and shuffling"
READING = "open files of the store"
GRADIENTS = "gradients"
ACCUMULATORS = "accumulators"
ACTIVATIONS = "activations"  # followed by / and the block
ACTIVATION_GRADIENTS = "gradients of activations"
RECOMPUTED = "recomputed activations"
TARGETS = "targets and loss"
CONSTANTS = "constants"

# Scopes in the detector's: its parts, and what is cut out for the second stage.
_PARTS = (
    *("backbone", "neck", "head"),
    *("proposal_head", "regions", "region_extractor", "box_head", "mask_head"),
)
_HANDED_ON = ALIASES | {"AddN", "Mul", "AddV2", "Select", "SelectV2"}
_UPDATES = "ResourceApply"


class Grouping:
    """Names for the tensors of one graph."""

    def __init__(self, graph: StepGraph, blocks: Sequence[str]) -> None:
        self._blocks = frozenset(blocks)
        self._inner = frozenset(name.partition("/")[2] for name in blocks)
        self._gradients = _gradient_nodes(graph)
        self._has_loop = any(
            "Backprop" in node.operation and "/body/" in node.name for node in graph.nodes
        )

    def item(self, buffer: Buffer) -> str:
        """Say what a buffer is for."""
        name = buffer.node.name
        if buffer.is_constant:
            return CONSTANTS
        if any(_plain(each) == TEACHER for each in name.split("/")):
            return TEACHER
        if name in self._gradients:
            is_sum = "Backprop" not in buffer.node.operation and self._has_loop
            return ACCUMULATORS if is_sum else GRADIENTS
        layer = layer_of(name)
        if "gradient_tape" in name:
            return ACTIVATION_GRADIENTS if layer or self._is_inner(name) else TARGETS
        if layer:
            return f"{ACTIVATIONS}/{self.block(name)}"
        return RECOMPUTED if self._is_inner(name) else TARGETS

    def block(self, name: str) -> str:
        """Name the block that a node belongs to: backbone/expanded_conv_3."""
        path = layer_of(name).split("/")
        block = "/".join(path[:2])
        return block if block in self._blocks else path[0]

    def totals(self, buffers: Iterable[Buffer]) -> dict[str, int]:
        """Add up the bytes of each item, the largest first."""
        total: Counter[str] = Counter()
        for buffer in buffers:
            total[self.item(buffer)] += buffer.bytes
        return dict(total.most_common())

    def block_bytes(self, buffers: Iterable[Buffer]) -> dict[str, int]:
        """Give the activations of each block among the buffers; 0 for a block that has none."""
        totals = self.totals(buffers)
        return {block: totals.get(f"{ACTIVATIONS}/{block}", 0) for block in sorted(self._blocks)}

    def _is_inner(self, name: str) -> bool:
        """Tell whether a node is of a block computed again, whose name lacks the part it is in."""
        return any(_plain(each) in self._inner for each in name.split("/"))


def largest_activations(
    buffers: Iterable[Buffer], grouping: Grouping, count: int = 5
) -> tuple[BlockActivation, ...]:
    """List the largest tensors kept for the backward pass, by layer."""
    kept = [each for each in buffers if grouping.item(each).startswith(f"{ACTIVATIONS}/")]
    kept.sort(key=lambda each: -each.bytes)
    return tuple(
        BlockActivation(
            layer=layer_of(each.node.name),
            operation=each.node.operation,
            shape=each.node.outputs[0].sides,
            bytes=each.bytes,
        )
        for each in kept[:count]
    )


def layer_of(name: str) -> str:
    """Give the layer that a node was made in; "" for one outside of the network.

    >>> layer_of("while/body/_1/while/detector_1/backbone_1/expanded_conv_1_2/expand_1/Relu6")
    'backbone/expanded_conv_1/expand'
    >>> layer_of("detector_1/regions_1/CropAndResize")
    'regions'
    """
    path = [_plain(each) for each in name.split("/")]
    for index, each in enumerate(path[:-1]):
        if each in _PARTS and index and path[index - 1] == "detector":
            return "/".join(path[index:-1])
    return ""


def _plain(scope: str) -> str:
    """Take off the number that Keras gives to each call of a layer."""
    return re.sub(r"_\d+$", "", scope)


def _gradient_nodes(graph: StepGraph) -> frozenset[str]:
    """Find what the optimizer gets, back to where it was computed: all of a weight's size."""
    nodes = {node.name: node for node in graph.nodes}
    found: set[str] = set()
    waiting: deque[str] = deque()
    for node in graph.nodes:
        if node.operation.startswith(_UPDATES):
            waiting.extend(each.node for each in node.inputs if _is_tensor(nodes[each.node]))
    while waiting:
        name = waiting.popleft()
        if name in found:
            continue
        found.add(name)
        node = nodes[name]
        if node.operation in _HANDED_ON:
            waiting.extend(each.node for each in node.inputs if _is_tensor(nodes[each.node]))
    return frozenset(found)


def _is_tensor(node: GraphNode) -> bool:
    return any(len(shape.sides) for shape in node.outputs) and node.operation != "ReadVariableOp"
