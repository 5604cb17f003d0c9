"""When each tensor of a step is made and freed, in the order in which TensorFlow runs the step.

A tensor is made when its operation starts, and freed after the last operation that needs it.
Element-wise operations write over an input of the same size that nobody else needs. A loop is
followed through one round: what is alive in the next rounds is the same.

Of the operations that an operation makes ready, its thread goes on with the cheap ones and with the
last of the others; the rest it puts in front of its own queue. A thread with nothing to do takes
the first of its queue, or the last of another's.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from holdfast.memory.predict import operations
from holdfast.memory.predict.loops import straightened
from holdfast.memory.predict.step_graph import GraphNode, Output, StepGraph, TensorShape


@dataclass(eq=False, slots=True)
class Buffer:
    """A piece of memory that tensors live in."""

    node: GraphNode  # who made it
    bytes: int
    is_constant: bool = False  # lives as long as the graph
    pieces: int = 1  # elements of a list, each with memory of its own

    @property
    def piece_bytes(self) -> int:
        """Give the size of what is asked for at once."""
        return self.bytes // self.pieces


class MemoryEvent(NamedTuple):
    """A buffer that is made, or freed."""

    buffer: Buffer
    is_made: bool


@dataclass(frozen=True, kw_only=True)
class Lifetimes:
    """What a step does to memory."""

    constants: tuple[Buffer, ...]
    events: tuple[MemoryEvent, ...]  # in the order of execution

    def peak(self, counts: Callable[[Buffer], bool] = lambda buffer: True) -> int:
        """Give the most bytes alive at once, of the buffers that count."""
        alive = peak = sum(each.bytes for each in self.constants if counts(each))
        for buffer, is_made in self.events:
            if counts(buffer):
                alive += buffer.bytes if is_made else -buffer.bytes
                peak = max(peak, alive)
        return peak

    def alive_at_peak(self) -> list[Buffer]:
        """List the buffers that are alive when most bytes are."""
        alive: dict[Buffer, None] = dict.fromkeys(self.constants)
        now = peak = sum(each.bytes for each in self.constants)
        position = -1
        for index, (buffer, is_made) in enumerate(self.events):
            now += buffer.bytes if is_made else -buffer.bytes
            if now > peak:
                peak, position = now, index
        for buffer, is_made in self.events[: position + 1]:
            if is_made:
                alive[buffer] = None
            else:
                del alive[buffer]
        return list(alive)


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Threads that run operations, each for a time that is never quite the same."""

    count: int = 1
    seconds: Mapping[str, float] = field(default_factory=dict)  # by node; 1 where it is not said
    jitter: float = 0.0  # a time is up to this share longer or shorter
    seed: int = 0


def follow(graph: StepGraph, *, workers: Workers | None = None) -> Lifetimes:
    """Walk through the graph and note what is made and freed; by default with one worker."""
    walk = _Walk(straightened(graph.nodes), graph.list_lengths)
    walk.run(workers or Workers())
    return Lifetimes(constants=tuple(walk.constants), events=tuple(walk.events))


class _Thread:
    """What a thread will run: first what it goes on with, then its queue."""

    __slots__ = ("next", "queue")

    def __init__(self) -> None:
        self.next: deque[str] = deque()
        self.queue: deque[str] = deque()

    def take(self, others: Sequence[_Thread]) -> str | None:
        """Give the next operation, if need be one of another thread's."""
        for mine in (self.next, self.queue):
            if mine:
                return mine.popleft()
        return next((each.queue.pop() for each in others if each.queue), None)

    def add(self, ready: Sequence[GraphNode]) -> None:
        """Take what an operation of this thread made ready."""
        dear = [node.name for node in ready if node.operation not in operations.CHEAP]
        self.next.extend(node.name for node in ready if node.operation in operations.CHEAP)
        if dear and not self.next:
            self.next.append(dear.pop())
        self.queue.extendleft(dear)


class _Walk:
    def __init__(self, nodes: Mapping[str, GraphNode], list_lengths: Mapping[str, int]) -> None:
        self._nodes = nodes
        self._list_lengths = list_lengths
        self._held: dict[Buffer, tuple[Buffer, ...]] = {}  # by a list: what is in it
        self._followers: dict[str, list[str]] = defaultdict(list)
        self._pending: dict[str, int] = {}
        self._uses: Counter[Output] = Counter()  # edges that take an output
        self._users: Counter[Buffer] = Counter()  # edges that still need a buffer
        self._buffers: dict[Output, Buffer] = {}
        self._fixed: set[str] = set()  # nodes that give the same in every step
        self.constants: list[Buffer] = []
        self.events: list[MemoryEvent] = []
        for node in nodes.values():
            before = [each.node for each in node.inputs] + list(node.waits_for)
            self._pending[node.name] = len(before)
            self._uses.update(node.inputs)
            for name in before:
                self._followers[name].append(node.name)

    def run(self, workers: Workers) -> None:
        chance = random.Random(workers.seed)
        threads = [_Thread() for _ in range(workers.count)]
        for name in [name for name, count in self._pending.items() if not count]:
            chance.choice(threads).queue.append(name)
        # When it ends, a number that breaks ties, its thread, its name.
        running: list[tuple[float, int, _Thread, str]] = []
        idle, clock, started = list(threads), 0.0, 0
        while True:
            for thread in list(idle):
                taken = thread.take(threads)
                if taken is not None:
                    idle.remove(thread)
                    self._start(self._nodes[taken])
                    factor = 1.0 + workers.jitter * (2.0 * chance.random() - 1.0)
                    started += 1
                    end = clock + workers.seconds.get(taken, 1.0) * factor
                    heappush(running, (end, started, thread, taken))
            if not running:
                return
            clock, _, thread, name = heappop(running)
            self._finish(self._nodes[name])
            thread.add(self._made_ready(name))
            idle.append(thread)

    def _made_ready(self, name: str) -> list[GraphNode]:
        ready = []
        for follower in self._followers[name]:
            self._pending[follower] -= 1
            if not self._pending[follower]:
                ready.append(self._nodes[follower])
        return ready

    def _start(self, node: GraphNode) -> None:
        self._note_fixed(node)
        self._make_outputs(node, [self._buffers.get(each) for each in node.inputs])

    def _note_fixed(self, node: GraphNode) -> None:
        if node.operation == "Const":
            self._fixed.add(node.name)
        elif (
            node.operation in operations.TRIED_BEFOREHAND
            and node.inputs
            and all(each.node in self._fixed for each in node.inputs)
        ):
            self._fixed.add(node.name)
            self.constants.extend(Buffer(node, each.bytes, True) for each in node.outputs)

    def _finish(self, node: GraphNode) -> None:
        for each in node.inputs:
            self._release(self._buffers.get(each))
        for index in range(len(node.outputs)):
            made = self._buffers.get(Output(node.name, index))
            if made is not None and not self._users[made]:
                self._free(made)

    def _make_outputs(self, node: GraphNode, inputs: Sequence[Buffer | None]) -> None:
        kind = node.operation
        if kind in operations.NO_MEMORY:
            return
        taken: Buffer | None = None
        for index, shape in enumerate(node.outputs):
            output = Output(node.name, index)
            if kind in operations.ALIASES:
                buffer = _aliased(node, inputs, index)
            elif kind in operations.LIST_READERS:
                buffer = inputs[0]
            elif kind in operations.LIST_FILLERS:
                buffer = self._filled_list(node, inputs)
            elif kind == "Const":
                buffer = Buffer(node, shape.bytes, is_constant=True)
                self.constants.append(buffer)
            else:
                if index == 0 and kind in operations.WRITES_OVER_INPUT:
                    taken = self._reusable(node, inputs, shape.bytes)
                buffer = taken if index == 0 and taken is not None else self._made(node, shape)
                if buffer is not taken:
                    self.events.append(MemoryEvent(buffer, True))
            if buffer is not None:
                self._buffers[output] = buffer
                self._users[buffer] += self._uses[output]

    def _made(self, node: GraphNode, shape: TensorShape) -> Buffer:
        if node.operation != "TensorListFromTensor":
            return Buffer(node, shape.bytes)
        source = node.inputs[0]
        copied = self._nodes[source.node].outputs[source.position]
        return Buffer(node, copied.bytes, pieces=max(1, copied.sides[0] if copied.sides else 1))

    def _filled_list(self, node: GraphNode, inputs: Sequence[Buffer | None]) -> Buffer:
        """Give the list after the last round: it holds the other elements besides this one."""
        source = node.inputs[-1]
        element = self._nodes[source.node].outputs[source.position].bytes
        others = self._list_lengths.get(node.name, 1) - 1
        buffer = Buffer(node, element * max(0, others), pieces=max(1, others))
        held = tuple(each for each in (inputs[0], inputs[-1]) if each is not None)
        self._users.update(held)
        self._held[buffer] = held
        self.events.append(MemoryEvent(buffer, True))
        return buffer

    def _reusable(
        self, node: GraphNode, inputs: Sequence[Buffer | None], size: int
    ) -> Buffer | None:
        """Find an input that this operation is the last to need, and that has the right size."""
        for buffer, source in zip(inputs, node.inputs, strict=True):
            if (
                buffer is not None
                and not buffer.is_constant
                and buffer.pieces == 1
                and buffer not in self._held
                and buffer.bytes == size
                and self._users[buffer] == 1
                and self._item_bytes(source) == node.outputs[0].item_bytes
            ):
                return buffer
        return None

    def _item_bytes(self, source: Output) -> int:
        outputs = self._nodes[source.node].outputs
        return outputs[source.position].item_bytes if source.position < len(outputs) else 0

    def _release(self, buffer: Buffer | None) -> None:
        if buffer is not None:
            self._users[buffer] -= 1
            if not self._users[buffer]:
                self._free(buffer)

    def _free(self, buffer: Buffer) -> None:
        if not buffer.is_constant:
            self.events.append(MemoryEvent(buffer, False))
            self._users[buffer] = 1 << 60  # never again
        for each in self._held.pop(buffer, ()):
            self._release(each)


def _aliased(node: GraphNode, inputs: Sequence[Buffer | None], index: int) -> Buffer | None:
    """Give the input that an output is: the same one for IdentityN, else the first that exists."""
    if node.operation == "IdentityN":
        return inputs[index]
    if node.operation == "Merge":
        return None if index else next((each for each in inputs if each is not None), None)
    return inputs[0] if inputs else None
