"""Write a detector as an ONNX file, with preprocessing and suppression inside."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tensorflow as tf

from holdfast.data.sample import Tensor
from holdfast.errors import HoldfastError
from holdfast.export.detection_outputs import detection_outputs
from holdfast.files import write_bytes
from holdfast.models.detectors.interface import Detector

OPSET = 17  # what onnxruntime reads since 1.12, of 2022
RAW_OUTPUTS = ("raw_detection_boxes", "raw_detection_scores")
_SIDES = ("batch", "height", "width")


def write_onnx(
    detector: Detector, path: Path, *, names: Mapping[int, str], raw: bool = False
) -> None:
    """Write an ONNX file whose input is called input_tensor: uint8 (B, H, W, 3) of any size.

    Its outputs have the OD API's names. raw: only what suppression would choose from. names, the
    label map's, go into the file's metadata as JSON.
    """
    import onnx

    model = _converted(detector, raw)
    (images,) = model.graph.input
    for index, name in enumerate(_SIDES):
        images.type.tensor_type.shape.dim[index].dim_param = name
    for output in model.graph.output:
        output.type.tensor_type.shape.dim[0].dim_param = _SIDES[0]
    model.producer_name, model.producer_version = "holdfast", version("holdfast")
    model.doc_string = "Object detector. input_tensor: uint8 RGB images (batch, height, width, 3)."
    labels = {str(number): name for number, name in sorted(names.items())}
    onnx.helper.set_model_props(
        model,
        {
            "producer": f"holdfast {version('holdfast')}",
            "opset": str(OPSET),
            "labels": json.dumps(labels, ensure_ascii=False),
            "outputs": "raw" if raw else "detections",
        },
    )
    write_bytes(path, model.SerializeToString())


def _converted(detector: Detector, raw: bool) -> Any:
    """Give the model as tf2onnx makes it."""
    import tf2onnx

    from holdfast.export.onnx_crops import convert_crops

    def detect(input_tensor: Tensor) -> dict[str, Tensor]:
        # onnxruntime cannot resize uint8.
        inputs, sizes = detector.preprocess(tf.cast(input_tensor, tf.float32))
        outputs = detection_outputs(detector, inputs, sizes)
        kept = RAW_OUTPUTS if raw else tuple(outputs)
        return {name: tf.identity(outputs[name], name=name) for name in kept}

    images = tf.TensorSpec([None, None, None, 3], tf.uint8, name="input_tensor")
    function = tf.function(detect, input_signature=[images], autograph=False)
    logger = logging.getLogger("tf2onnx")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # what it cannot convert is named below
    try:
        model, _ = tf2onnx.convert.from_function(
            function,
            input_signature=[images],
            opset=OPSET,
            custom_op_handlers={"CropAndResize": (convert_crops, [])},
        )
    finally:
        logger.setLevel(level)
    _refuse_foreign(model)
    return model


def _refuse_foreign(model: Any) -> None:
    """Raise if an operator of TensorFlow was left in the graph."""
    import onnx

    known = {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}
    foreign = sorted(_operators(model.graph) - known)
    if foreign:
        raise HoldfastError(
            f"ONNX has no operator for {', '.join(foreign)}, which this detector needs.",
            fix="Choose --format saved_model.",
        )


def _operators(graph: Any) -> set[str]:
    """Name the operators of a graph, and of those inside its loops and branches."""
    found = {node.op_type for node in graph.node}
    inner = [part.g for node in graph.node for part in node.attribute if part.HasField("g")]
    return found.union(*map(_operators, inner))
