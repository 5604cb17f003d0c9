"""Graphs made by hand, of which the answer is known; and graphs traced by TensorFlow."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from holdfast.memory.predict.lifetimes import Lifetimes, Workers, follow
from holdfast.memory.predict.optimized_graph import optimized_graph
from holdfast.memory.predict.step_graph import GraphNode, Output, StepGraph, TensorShape
from holdfast.models.layers.recomputation import recomputed

KIB = TensorShape((256,), 4)


def node(
    name: str, operation: str, *inputs: str, shape: TensorShape = KIB, after: str = ""
) -> GraphNode:
    return GraphNode(
        name=name,
        operation=operation,
        inputs=tuple(Output(each) for each in inputs),
        waits_for=(after,) if after else (),
        outputs=(shape,),
    )


def lifetimes(*nodes: GraphNode, workers: int = 1) -> Lifetimes:
    graph = StepGraph(nodes=nodes, traced_nodes=len(nodes))
    return follow(graph, workers=Workers(count=workers))


def traced(function: Callable[..., object], *shapes: tuple[int, ...]) -> Lifetimes:
    specifications = [tf.TensorSpec(shape, tf.float32) for shape in shapes]
    return follow(
        optimized_graph(tf.function(function).get_concrete_function(*specifications).graph)
    )


def test_a_chain_that_cannot_write_over_its_input_needs_two_tensors() -> None:
    chain = [node("a", "Conv2D"), node("b", "Conv2D", "a"), node("c", "Conv2D", "b")]
    assert lifetimes(*chain).peak() == 2 * KIB.bytes


def test_element_wise_operations_write_over_an_input_nobody_else_needs() -> None:
    chain = [node("a", "Conv2D"), node("b", "Relu", "a"), node("c", "Mul", "b", "b")]
    assert lifetimes(*chain[:2]).peak() == KIB.bytes
    # The same tensor twice: two users, so that it is not written over.
    assert lifetimes(*chain).peak() == 2 * KIB.bytes


def test_an_input_that_is_needed_later_is_kept() -> None:
    kept = [node("a", "Conv2D"), node("b", "Relu", "a"), node("c", "Conv2D", "b"),
            node("d", "ReluGrad", "c", "a")]  # fmt: skip
    assert lifetimes(*kept).peak() == 3 * KIB.bytes


def test_an_input_of_another_size_or_type_is_not_written_over() -> None:
    small, halves = TensorShape((1,), 4), TensorShape((512,), 2)
    broadcast = [node("a", "Conv2D", shape=small), node("b", "Add", "a", "a")]
    assert lifetimes(*broadcast).peak() == small.bytes + KIB.bytes
    cast = [node("a", "Conv2D"), node("b", "Mul", "a", shape=halves)]
    assert lifetimes(*cast).peak() == 2 * KIB.bytes


def test_aliases_need_no_memory_and_keep_what_they_stand_for() -> None:
    names = [node("a", "Conv2D"), node("b", "Reshape", "a"), node("c", "Identity", "b"),
             node("d", "Conv2D", "c")]  # fmt: skip
    assert lifetimes(*names).peak() == 2 * KIB.bytes
    assert [event.is_made for event in lifetimes(*names).events] == [True, True, False, False]


def test_branches_are_alive_together_until_they_join() -> None:
    branches = [node("a", "Conv2D"), node("b", "Conv2D", "a"), node("c", "Conv2D", "a"),
                node("d", "AddN", "b", "c")]  # fmt: skip
    assert lifetimes(*branches).peak() == 3 * KIB.bytes


def test_what_nobody_needs_is_freed_at_once() -> None:
    assert lifetimes(node("a", "Conv2D"), node("b", "Conv2D", after="a")).peak() == KIB.bytes


def test_two_workers_hold_the_tensors_of_two_operations() -> None:
    independent = [node("a", "Conv2D"), node("b", "Conv2D")]
    assert lifetimes(*independent).peak() == KIB.bytes
    assert lifetimes(*independent, workers=2).peak() == 2 * KIB.bytes


def order(*nodes: GraphNode, workers: int = 1) -> str:
    held = lifetimes(*nodes, workers=workers)
    return " ".join(event.buffer.node.name for event in held.events if event.is_made)


def test_a_thread_goes_on_with_the_last_operation_that_it_made_ready() -> None:
    fork = [node("a", "Conv2D"), node("b", "Conv2D", "a"), node("c", "Conv2D", "a"),
            node("d", "Conv2D", "c")]  # fmt: skip
    assert order(*fork) == "a c d b"


def test_a_thread_runs_cheap_operations_before_all_others() -> None:
    fork = [node("a", "Conv2D"), node("b", "Reshape", "a"), node("c", "Conv2D", "a"),
            node("d", "Conv2D", "b")]  # fmt: skip
    assert order(*fork) == "a d c"


def test_a_thread_with_nothing_to_do_takes_what_waits_longest() -> None:
    fork = [node("a", "Conv2D"), node("b", "Conv2D", "a"), node("c", "Conv2D", "a"),
            node("d", "Conv2D", "a")]  # fmt: skip
    assert order(*fork, workers=2) == "a b d c"


def test_constants_are_alive_throughout() -> None:
    held = lifetimes(node("a", "Const"), node("b", "Conv2D", "a"), node("c", "Conv2D", "b"))
    assert held.peak() == 3 * KIB.bytes
    assert [each.node.name for each in held.alive_at_peak()] == ["a", "b", "c"]


def test_all_that_was_made_is_freed_or_alive_at_the_end() -> None:
    held = traced(lambda x: tf.reduce_sum(tf.nn.relu(x) * tf.exp(x)), (64, 64))
    alive = 0
    for buffer, is_made in held.events:
        alive += buffer.bytes if is_made else -buffer.bytes
        assert alive >= 0


def test_functions_inside_functions_count_as_if_written_out() -> None:
    inner = tf.function(lambda x: tf.linalg.matmul(x, x))

    def nested(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(inner(inner(x)))

    def flat(x: tf.Tensor) -> tf.Tensor:
        squared = tf.linalg.matmul(x, x)
        return tf.reduce_sum(tf.linalg.matmul(squared, squared))

    assert traced(nested, (64, 64)).peak() == traced(flat, (64, 64)).peak() >= 2 * 64 * 64 * 4


def test_a_loop_needs_what_one_round_needs() -> None:
    def loop(count: int) -> Lifetimes:
        def body(index: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return index + 1, tf.linalg.matmul(x, tf.linalg.matmul(x, x))

        return traced(
            lambda x: tf.while_loop(lambda index, _: index < count, body, (0, x))[1], (64, 64)
        )

    matrix = 64 * 64 * 4
    assert 2 * matrix <= loop(3).peak() < 3 * matrix
    assert loop(3).peak() == loop(300).peak()


def test_recomputed_blocks_are_not_kept() -> None:
    def loss(again: bool) -> Callable[[tf.Tensor], tf.Tensor]:
        def block(x: tf.Tensor) -> tf.Tensor:
            for _ in range(4):
                x = tf.nn.softplus(tf.linalg.matmul(x, x))
            return x

        def gradient(x: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in range(4):
                    y = recomputed(block, y, []) if again else block(y)
                total = tf.reduce_sum(y)
            return tape.gradient(total, x)

        return gradient

    assert traced(loss(True), (128, 128)).peak() < 0.6 * traced(loss(False), (128, 128)).peak()
