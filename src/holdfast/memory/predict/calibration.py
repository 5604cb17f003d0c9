"""Numbers that no graph tells: what TensorFlow and Python hold besides tensors, measured on a CPU.

`benchmarks/step_memory.py` compares what comes of them with real processes. The bytes of runtime
and of a node were fitted to the cells of the first five recipes of the benchmark, which the margin
was chosen by as well; its other cells are a test.
"""

from __future__ import annotations

from holdfast.memory.predict.step_graph import StepGraph

# Libraries paged in, threads, compiled kernels of oneDNN.
RUNTIME_BYTES = 25 << 20
# What Python and the optimizer keep of a node that was traced, and the executor of one that runs,
# and the holes that this leaves in the heap.
TRACED_NODE_BYTES = 11_800
NODE_BYTES = 24_000
# What is reserved in one piece, over what would be used of an endless one. In less, chunks cannot
# be split often enough and leave holes; more costs handles.
ARENA_FACTOR = 1.5
# The same for a batch in pieces. Between two pieces the place of all activations is free at once,
# and the allocator takes the smallest place that is large enough: what is left must be larger.
ARENA_FACTOR_OF_PIECES = 2.1
# What a training holds besides its steps and evaluations: threads of the input, checkpoints being
# written.
LOOP_BYTES = 16 << 20
# What oneDNN's kernels for batches of many shapes hold, by thread that runs operations: each thread
# keeps the last 1024 kernels of each kind, of every shape it has met. And what graphs that take
# any shape hold, with the holes that so many sizes leave. Measured with 1, 2 and 8 threads.
SHAPE_KERNEL_BYTES = 80 << 20
ANY_SHAPE_BYTES = 105 << 20
# Values that an initializer computes before the one that becomes the weight.
INITIALIZER_VALUES = 2
# The arena keeps a handle of 8 bytes for every 256 bytes of address space.
ARENA_HANDLE_SHARE = 32
# The order in which threads take up work differs from step to step, and from machine to machine: so
# do the holes in the arena. Some runs of some steps are simulated; the margin is for other orders.
SIMULATED_RUNS = 4
SIMULATED_STEPS = 4
SPEED_SPREAD = 0.25  # standard deviation of the logarithm of an operation's time, for a whole run
TIME_JITTER = 0.5  # from step to step, a time is up to this share longer or shorter
ORDER_MARGIN = 0.03

# A figure that stands on guesses of more than this share of all bytes is not given.
MOST_UNKNOWN = 0.05

# Of two cores.
_BYTES_PER_SECOND = 1.5e10
_FLOPS_PER_SECOND = 1.5e11
_START_SECONDS = 5e-7


def graph_bytes(graph: StepGraph) -> int:
    """Give what the process holds because of a graph, besides tensors."""
    return TRACED_NODE_BYTES * graph.traced_nodes + NODE_BYTES * len(graph.nodes)


def many_shapes_bytes(threads: int) -> int:
    """Give what the process holds more because batches differ in height and width."""
    return ANY_SHAPE_BYTES + SHAPE_KERNEL_BYTES * threads


def rough_seconds(flops: int, moved_bytes: int) -> float:
    """Guess how long an operation takes: only the order of magnitude matters, for the order."""
    return _START_SECONDS + moved_bytes / _BYTES_PER_SECOND + flops / _FLOPS_PER_SECOND
