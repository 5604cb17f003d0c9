"""Regions cut out of feature maps, in the operators of ONNX.

tf2onnx writes TensorFlow's CropAndResize as a loop with a resize for each region, whose points fall
beyond the border of a map where TensorFlow's still lie on it. RoiAlign takes all regions at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto

# R regions of n x m points, cut out of maps (B, h, w, C)

_TO_CHANNELS_FIRST, _TO_CHANNELS_LAST = (0, 3, 1, 2), (0, 2, 3, 1)


class _Points(NamedTuple):
    """The points of all regions along one axis, as names of tensors."""

    is_inside: str  # bool (R, n)
    start: str  # (R, 1) where RoiAlign has to begin
    end: str  # (R, 1)


def convert_crops(graph: Any, node: Any, name: str, arguments: Any) -> None:
    """Replace a CropAndResize of tf2onnx's graph; its size of crops has to be constant."""
    maps, boxes, images, _ = node.input
    height, width = (int(side) for side in node.inputs[3].get_tensor_value())
    outside = node.get_attr_value("extrapolation_value", 0.0)
    outputs, shape = node.output, graph.get_shape(node.output[0])
    kind = graph.get_dtype(node.output[0])
    graph.remove_node(name)
    write = _Writer(graph, name)
    rows = _points(write, maps, boxes, axis=0, count=height)
    columns = _points(write, maps, boxes, axis=1, count=width)
    regions = write("Concat", columns.start, rows.start, columns.end, rows.end, axis=1)
    crops = write(
        "RoiAlign",
        write("Transpose", maps, perm=_TO_CHANNELS_FIRST),
        regions,
        write("Cast", images, to=TensorProto.INT64),
        output_height=height,
        output_width=width,
        sampling_ratio=1,
        spatial_scale=1.0,
        coordinate_transformation_mode="half_pixel",
    )  # (R, C, n, m)
    is_inside = write(
        "And",
        write("Unsqueeze", rows.is_inside, write.constant([1, 3])),
        write("Unsqueeze", columns.is_inside, write.constant([1, 2])),
    )  # (R, 1, n, m)
    kept = write("Where", is_inside, crops, write.constant(np.float32(outside)))
    graph.make_node(
        "Transpose",
        [kept],
        attr={"perm": _TO_CHANNELS_LAST},
        name=name,
        outputs=outputs,
        shapes=[shape],
        dtypes=[kind],
    )


class _Writer:
    """Adds nodes with one output to a graph, and gives the names of what they compute."""

    def __init__(self, graph: Any, name: str) -> None:
        self._graph, self._name, self._count = graph, name, 0

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        made = self._graph.make_node(
            operator, list(inputs), attr=attributes, name=self._next(operator)
        )
        return str(made.output[0])

    def constant(self, value: Any) -> str:
        """Add a constant; whole numbers are int64."""
        return str(self._graph.make_const(self._next("constant"), np.asarray(value)).output[0])

    def _next(self, operator: str) -> str:
        self._count += 1
        return f"{self._name}/{operator}_{self._count}"


def _points(write: _Writer, maps: str, boxes: str, *, axis: int, count: int) -> _Points:
    """Lay out the points of one axis, as TensorFlow does.

    Point i of `count` lies at first * (side - 1) + i * step, with step = (last - first) *
    (side - 1) / (count - 1); a single one lies in the middle. RoiAlign looks at the middle of
    equal parts, and moves all by half a cell.
    """
    shape = write("Shape", maps)
    side = write("Gather", shape, write.constant([axis + 1]))
    most = write("Sub", write("Cast", side, to=TensorProto.FLOAT), write.constant(np.float32(1)))
    first = write("Gather", boxes, write.constant([axis]), axis=1)  # (R, 1)
    last = write("Gather", boxes, write.constant([axis + 2]), axis=1)
    half = write.constant(np.float32(0.5))
    if count > 1:
        start = write("Mul", first, most)
        length = write("Mul", write("Sub", last, first), most)
        step = write("Div", length, write.constant(np.float32(count - 1)))
    else:
        start = write("Mul", write("Mul", write("Add", first, last), half), most)
        step = write("Sub", start, start)
    steps = write("Mul", write.constant(np.arange(count, dtype=np.float32)[None]), step)
    points = write("Add", start, steps)  # (R, count)
    is_inside = write(
        "And",
        write("GreaterOrEqual", points, write.constant(np.float32(0))),
        write("LessOrEqual", points, most),
    )
    moved = write("Add", write("Sub", start, write("Mul", step, half)), half)
    end = write("Add", moved, write("Mul", step, write.constant(np.float32(count))))
    return _Points(is_inside, moved, end)
