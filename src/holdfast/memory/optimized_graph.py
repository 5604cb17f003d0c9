"""The graph as TensorFlow will run it: functions inlined, loops lowered, constants folded.

TensorFlow's own optimizer does it, on the graph alone: nothing is run and no variable is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
from tensorflow.python.grappler import item as grappler_item
from tensorflow.python.grappler import tf_optimizer

from holdfast.memory.step_graph import Node, Output, Shape, StepGraph

_KEPT_SETTINGS = ("frame_name", "is_constant", "padding", "num_args", "transpose_a", "transpose_b")
_KEPT_LISTS = ("strides", "dilations", "fused_ops")


def optimized_graph(graph: Any) -> StepGraph:
    """Turn the FuncGraph of a traced function into the graph that runs."""
    traced = _with_sources(graph)
    fetched = _fetched(graph)
    optimized = tf_optimizer.OptimizeGraph(_options(), _meta_graph(traced, fetched))
    item = grappler_item.Item(_meta_graph(optimized, fetched), ignore_colocation=True)
    shapes = item.GetOpProperties()
    nodes = tuple(_node(each, shapes.get(each.name, ())) for each in optimized.node)
    unknown = tuple(
        each.name for each in optimized.node if _is_unknown(each.op, shapes.get(each.name, ()))
    )
    return StepGraph(nodes=nodes, traced_nodes=_node_count(traced), unknown=unknown)


def _with_sources(graph: Any) -> Any:
    """Write the graph down with sources that tell their shape, which placeholders do not do."""
    definition = graph.as_graph_def()
    captured = {inner.op.name: outer for outer, inner in graph.captures}
    for node in definition.node:
        if node.op == "Placeholder":
            _make_source(node, captured.get(node.name))
    return definition


def _make_source(node: Any, captured: Any) -> None:
    handle = getattr(captured, "_handle_data", None)
    kind, shape = node.attr["dtype"].type, tf.TensorShape(node.attr["shape"].shape).as_proto()
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
    """Name what must not be optimised away: results, and what is done to variables."""
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


def _node(definition: Any, properties: Any) -> Node:
    inputs, waits_for = [], []
    for text in definition.input:
        if text.startswith("^"):
            waits_for.append(text[1:])
        else:
            name, _, index = text.partition(":")
            inputs.append(Output(name, int(index or 0)))
    return Node(
        name=definition.name,
        operation=definition.op,
        inputs=tuple(inputs),
        waits_for=tuple(waits_for),
        outputs=tuple(_outputs(definition, properties)),
        settings=dict(_settings(definition.attr)),
    )


# The sixth output of batch norm is the library's own: with cuDNN not known, with oneDNN empty, or
# for the rectified results of a training which of them are positive, a float for eight of them.
_TELLING_OUTPUTS = {"FusedBatchNormV3": 5, "_FusedBatchNormEx": 5}


def _outputs(definition: Any, properties: Any) -> list[Shape]:
    shapes = [_shape(each) for each in properties]
    if definition.op == "_FusedBatchNormEx" and definition.attr["is_training"].b:
        shapes[5] = Shape((shapes[0].numbers // 8,), 4)
    return shapes


def _shape(properties: Any) -> Shape:
    """Read a shape; a side that the graph does not tell counts as 1."""
    kind = tf.as_dtype(properties.dtype)
    sides = tuple(max(1, int(side.size)) for side in properties.shape.dim)
    return Shape(sides, 0 if kind == tf.resource else int(kind.size))


def _is_unknown(operation: str, properties: Any) -> bool:
    return operation not in ("NoOp", "VarHandleOp") and any(
        each.shape.unknown_rank or any(side.size < 0 for side in each.shape.dim)
        for each in properties[: _TELLING_OUTPUTS.get(operation)]
        if each.dtype != tf.resource.as_datatype_enum
    )


def _settings(attributes: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
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
