"""Write a detector as a TFLite file: converted, its outputs in order, with metadata."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import tensorflow as tf
from flatbuffers import flexbuffers
from numpy.typing import NDArray

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.records.build_label_map import names_by_id
from holdfast.errors import HoldfastError
from holdfast.export.detection_outputs import FIRST_ID
from holdfast.export.export_choices import ExportPrecision
from holdfast.export.export_format import ExportJob
from holdfast.export.sample_images import TRAINING, images_of_reader
from holdfast.export.tflite_graph import (
    OUTPUTS,
    center_maps,
    center_peaks,
    client_image,
    image_input,
    is_rounded,
    tflite_function,
)
from holdfast.export.tflite_joining import joined_models, named_places
from holdfast.files import write_bytes
from holdfast.models.detectors.center_net.center_net_detector import CenterNetDetector
from holdfast.models.detectors.single_stage.detector import SingleStageDetector
from holdfast.runtimes.litert_model import POST_PROCESS
from holdfast.runtimes.tflite_metadata import (
    LABELS_NAME,
    METADATA_NAME,
    PIXELS,
    UNUSED_LABEL,
    ImageInput,
    metadata_tables,
)

CALIBRATION_IMAGES = 100  # by which ranges of int8 are chosen
_MEANINGS = ("location", "category", "score", "number of detections", "keypoint", "keypoint score")


def write_tflite(job: ExportJob, path: Path) -> None:
    """Write the file; of int8, ranges are those of its training, or of images of its data."""
    pixels = takes_pixels(job)
    wanted = image_input(job.detector, takes_pixels=pixels)
    blank = np.zeros((64, 64, 3), np.uint8)
    shape = client_image(job.detector, blank, wanted)[0].shape
    model = _converted(job, (shape[0], shape[1]), pixels)
    if isinstance(job.detector, SingleStageDetector):
        _limit_classes(model, job.detector.settings.suppression.max_detections_per_class)
    labels = label_lines(job.label_map, job.detector.num_classes)
    write_bytes(path, _described(model, wanted, labels))


def _converted(job: ExportJob, shape: tuple[int, int], pixels: bool) -> Any:
    """Give the model with its outputs in order."""
    detector = job.detector
    image = tf.TensorSpec([1, *shape, 3], tf.float32, name="image")
    if isinstance(detector, CenterNetDetector) and job.settings.precision is ExportPrecision.INT8:
        maps = _model(job, center_maps(detector, shape), [image])
        find, taken = center_peaks(detector, shape)
        return _ordered(joined_models(maps, _model(job, find, taken, in_floats=True)))
    return _ordered(_model(job, tflite_function(detector, shape, takes_pixels=pixels), [image]))


def _model(
    job: ExportJob,
    compute: Callable[..., Any],
    taken: Sequence[tf.TensorSpec],
    *,
    in_floats: bool = False,
) -> Any:
    """Convert a function; in_floats: whatever the precision of the file."""
    from ai_edge_litert import schema_py_generated as schema

    module: Any = tf.Module()
    module.kept = [variable.value for variable in job.detector.variables]
    concrete = tf.function(compute, input_signature=taken, autograph=False).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], module)
    converter.allow_custom_ops = True
    if not in_floats:
        _set_precision(converter, job)
    return schema.ModelT.InitFromPackedBuf(converter.convert(), 0)


def takes_pixels(job: ExportJob) -> bool:
    """Tell whether clients send pixels as they are.

    So they do of int8, where 8 bits hold a pixel; and of a CenterNet, whose form in the OD API
    normalizes in the graph.
    """
    is_int8 = job.settings.precision is ExportPrecision.INT8
    return is_int8 or isinstance(job.detector, CenterNetDetector)


def label_lines(label_map: StringIntLabelMap | None, num_classes: int) -> list[str]:
    """Name the classes from 0; numbers that no class has, such as COCO's gaps, have a filler."""
    names = names_by_id(label_map)
    numbers = range(FIRST_ID, FIRST_ID + num_classes)
    return [names.get(number, UNUSED_LABEL if names else str(number)) for number in numbers]


def _set_precision(converter: Any, job: ExportJob) -> None:
    match job.settings.precision:
        case ExportPrecision.FLOAT32:
            return
        case ExportPrecision.FLOAT16:
            converter.target_spec.supported_types = [tf.float16]
        case ExportPrecision.INT8 if is_rounded(job.detector):
            job.tell("ranges are those that the training observed")
            converter.inference_input_type = tf.uint8
        case ExportPrecision.INT8:
            images = _calibration_images(job)
            converter.representative_dataset = lambda: _as_batches(images)
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
            converter.inference_input_type = tf.uint8
    converter.optimizations = [tf.lite.Optimize.DEFAULT]


def _calibration_images(job: ExportJob) -> list[NDArray[np.uint8]]:
    """Take images of the training data, in the network's size."""
    found = islice(images_of_reader(job.config, job.folder, TRAINING), CALIBRATION_IMAGES)
    images = []
    for image, _ in found:
        values, _ = client_image(job.detector, image, PIXELS)
        images.append(np.clip(np.round(values), 0, 255).astype(np.uint8))
    if not images:
        raise HoldfastError(
            "int8 needs images to choose its ranges by, and train_input_reader has none that can "
            "be read.",
            fix="Give the training data with --set train_input_reader.tf_record_input_reader."
            "input_path=FILES, or choose --precision dynamic, which needs none.",
        )
    job.tell(f"choosing ranges by {len(images)} images of {TRAINING}")
    return images


def _as_batches(images: Sequence[NDArray[np.uint8]]) -> Iterator[list[NDArray[np.float32]]]:
    """Give each image; the first has black and white, so that a step of the input is a pixel's."""
    for index, image in enumerate(images):
        batch = image[np.newaxis].astype(np.float32)
        if not index:
            batch[0, 0, 0], batch[0, -1, -1] = 0.0, 255.0
        yield [batch]


def _ordered(model: Any) -> Any:
    """Put the outputs of a model in the order that clients of the OD API know."""
    places = named_places(model).outputs
    model.subgraphs[0].outputs = [places[name] for name in OUTPUTS if name in places]
    return model


def _limit_classes(model: Any, limit: int) -> None:
    """Give the operation its limit of detections of a class, which the converter leaves out."""
    codes = [each.customCode for each in model.operatorCodes]
    (place,) = (
        each
        for each in model.subgraphs[0].operators
        if codes[each.opcodeIndex] == POST_PROCESS.encode()
    )
    options = flexbuffers.Loads(bytearray(place.customOptions))
    packed = flexbuffers.Dumps(options | {"detections_per_class": limit})
    place.customOptions = np.frombuffer(packed, np.uint8)


def _described(model: Any, image: ImageInput, labels: Sequence[str]) -> bytes:
    """Pack a model with its metadata, and the names of classes behind it."""
    from ai_edge_litert import schema_py_generated as schema

    meanings = _MEANINGS[: len(model.subgraphs[0].outputs)]
    tables = metadata_tables("Holdfast detector", image, meanings)
    model.buffers.append(schema.BufferT(data=np.frombuffer(tables, np.uint8)))
    entry = schema.MetadataT(name=METADATA_NAME, buffer=len(model.buffers) - 1)
    model.metadata = [*(model.metadata or ()), entry]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    stream = io.BytesIO()
    stream.write(builder.Output())
    with zipfile.ZipFile(stream, "a") as archive:
        # A fixed date: the same detector gives the same file.
        archive.writestr(zipfile.ZipInfo(LABELS_NAME), "\n".join(labels) + "\n")
    return stream.getvalue()
