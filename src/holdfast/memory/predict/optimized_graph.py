"""The graph as TensorFlow will run it: functions inlined, loops lowered, constants folded.

TensorFlow's own optimizer does it, on the graph alone: nothing is run and no variable is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
from tensorflow.python.grappler import item as grappler_item
from tensorflow.python.grappler import tf_optimizer

from holdfast.memory.predict.graph_shapes import inputs_of, read_shapes, whole_number
from holdfast.memory.predict.step_graph import NUMBER, GraphNode, StepGraph, TensorShape
from holdfast.memory.predict.tensor_lists import list_lengths

_KEPT_SETTINGS = ("frame_name", "is_constant", "padding", "num_args", "transpose_a", "transpose_b")
_KEPT_LISTS = ("strides", "dilations", "fused_ops")


def optimized_graph(graph: Any, largest: Mapping[str, Sequence[int]] | None = None) -> StepGraph:
    """Turn the FuncGraph of a traced function into the graph that runs.

    largest: the largest shape of each input that was traced with sides left open, by its name.
    """
    traced = _with_sources(graph, largest or {})
    fetched = _fetched(graph)
    optimized = tf_optimizer.OptimizeGraph(_options(), _meta_graph(traced, fetched))
    item = grappler_item.Item(_meta_graph(optimized, fetched), ignore_colocation=True)
    shapes = read_shapes({each.name: each for each in optimized.node}, item.GetOpProperties())
    nodes = tuple(_node(each, shapes.outputs[each.name]) for each in optimized.node)
    lengths = list_lengths({node.name: node for node in nodes})
    return StepGraph(
        nodes=nodes,
        traced_nodes=_node_count(traced),
        unknown=shapes.unknown + tuple(name for name, length in lengths.items() if length is None),
        unknown_share=shapes.unknown_share,
        list_lengths={name: length for name, length in lengths.items() if length is not None},
    )


def _with_sources(graph: Any, largest: Mapping[str, Sequence[int]]) -> Any:
    """Write the graph down with sources that tell their shape, which placeholders do not do."""
    definition = graph.as_graph_def()
    captured = {inner.op.name: outer for outer, inner in graph.captures}
    for node in definition.node:
        if node.op == "Placeholder":
            _make_source(node, captured.get(node.name), largest.get(node.name))
    return definition


def _make_source(node: Any, captured: Any, largest: Sequence[int] | None) -> None:
    handle = getattr(captured, "_handle_data", None)
    known = node.attr["shape"].shape if largest is None else largest
    kind, shape = node.attr["dtype"].type, tf.TensorShape(known).as_proto()
    is_variable = handle is not None and handle.is_set
    if handle is not None and handle.is_set:
        kind, shape = handle.shape_and_type[0].dtype, handle.shape_and_type[0].shape
    node.op = "VarHandleOp" if is_variable else "ImmutableConst"
    node.attr.clear()
    node.attr["dtype"].type = kind
    node.attr["shape"].shape.CopyFrom(shape)
    # Sources of the same type and shape must not be taken for one.
    node.attr["shared_name" if is_variable else "memory_region_name"].s = node.name.encode()


def _fetched(graph: Any) -> list[str]:
    """Name what must not be optimized away: results, and what is done to variables."""
    outputs = [tensor.op.name for tensor in graph.outputs]
    return list(dict.fromkeys(outputs + [each.name for each in graph.control_outputs]))


def _meta_graph(definition: Any, fetched: list[str]) -> Any:
    meta_graph = meta_graph_pb2.MetaGraphDef()
    meta_graph.graph_def.CopyFrom(definition)
    meta_graph.collection_def["train_op"].node_list.value.extend(fetched)
    return meta_graph


def _options() -> Any:
    options = config_pb2.ConfigProto()
    rewrite = options.graph_options.rewrite_options
    rewrite.meta_optimizer_iterations = rewriter_config_pb2.RewriterConfig.TWO
    return options


def _node(definition: Any, outputs: tuple[TensorShape, ...]) -> GraphNode:
    return GraphNode(
        name=definition.name,
        operation=definition.op,
        inputs=inputs_of(definition),
        waits_for=tuple(text[1:] for text in definition.input if text.startswith("^")),
        outputs=outputs,
        settings=dict(_settings(definition)),
    )


def _settings(definition: Any) -> Iterator[tuple[str, object]]:
    attributes = definition.attr
    number = whole_number(definition)
    if number is not None:
        yield NUMBER, number
    for name in _KEPT_SETTINGS:
        if name in attributes:
            value = attributes[name]
            kind = value.WhichOneof("value")
            yield name, value.s.decode() if kind == "s" else getattr(value, kind)
    for name in _KEPT_LISTS:
        if name in attributes:
            values = attributes[name].list
            yield name, tuple(values.i) or tuple(each.decode() for each in values.s)


def _node_count(definition: Any) -> int:
    inner = sum(len(function.node_def) for function in definition.library.function)
    return len(definition.node) + inner
