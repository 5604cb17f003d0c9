"""The function of an image that becomes a TFLite file, by the forms of the OD API's exporters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.data.sample import Tensor
from holdfast.geometry.boxes import to_center_form
from holdfast.geometry.coding import FasterRcnnCoder
from holdfast.models.backbones.normalization import Normalization
from holdfast.models.detectors.center_net.center_net_detector import CenterNetDetector
from holdfast.models.detectors.center_net.peak_detections import peak_detections
from holdfast.models.detectors.center_net.prepared import CenterNetPredictions
from holdfast.models.detectors.interface import Detector
from holdfast.models.detectors.single_stage.detector import SingleStageDetector
from holdfast.models.inference.detections import Suppression
from holdfast.runtimes.litert_model import POST_PROCESS
from holdfast.runtimes.tflite_metadata import PIXELS, ImageInput

# A anchors, C class columns, N detections

BOXES, CLASSES, SCORES, COUNT = "boxes", "classes", "scores", "count"
KEYPOINTS, KEYPOINT_SCORES = "keypoints", "keypoint_scores"
MapsFunction = Callable[..., dict[str, Tensor]]
_APART = 1e-3  # of the logits of neighboring cells
OUTPUTS = (BOXES, CLASSES, SCORES, COUNT, KEYPOINTS, KEYPOINT_SCORES)  # in this order


def image_input(detector: Detector, *, takes_pixels: bool) -> ImageInput:
    """Say how a client normalizes an image: not at all where the file takes pixels."""
    if takes_pixels:
        return PIXELS
    by = normalization_of(detector)
    turn = slice(None, None, -1 if by.is_reversed else 1)
    return ImageInput(
        mean=tuple(-offset / scale for offset, scale in zip(by.offset, by.scale, strict=True))[
            turn
        ],
        deviation=tuple(1.0 / scale for scale in by.scale)[turn],
    )


def client_image(
    detector: Detector, image: NDArray[np.uint8], wanted: ImageInput
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Give what a client sends of an image (h, w, 3): (H, W, 3), and its size before the padding.

    It is made of the network's own input, so that margins are what the network knows.
    """
    inputs, sizes = detector.preprocess(tf.constant(image)[tf.newaxis])
    by = normalization_of(detector)
    values = inputs.numpy()[0]
    if wanted == PIXELS:
        values = (values - np.array(by.offset, np.float32)) / np.array(by.scale, np.float32)
    turned = values[..., ::-1] if by.is_reversed else values
    return np.ascontiguousarray(turned, np.float32), sizes.numpy()[0]


def normalization_of(detector: Detector) -> Normalization:
    """Give how a detector that has a TFLite form normalizes its images."""
    assert isinstance(detector, SingleStageDetector | CenterNetDetector)
    return detector.settings.preprocessing.normalization


def tflite_function(
    detector: Detector, shape: tuple[int, int], *, takes_pixels: bool
) -> Callable[[Tensor], dict[str, Tensor]]:
    """Give the function of an image (1, H, W, 3), normalized or in pixels, in RGB."""
    by = normalization_of(detector)

    def detect(image: Tensor) -> dict[str, Tensor]:
        if takes_pixels:
            inputs = _normalized(image, by, rounds=is_rounded(detector))
        else:
            inputs = image[..., ::-1] if by.is_reversed else image
        if isinstance(detector, CenterNetDetector):
            return _centers(detector, inputs, shape)
        assert isinstance(detector, SingleStageDetector)
        return _suppressed(detector, inputs, shape)

    return detect


def is_rounded(detector: Detector) -> bool:
    """Tell whether a detector was trained quantized, and is exported so."""
    return detector.clock is not None and detector.clock.settled is True


def _normalized(image: Tensor, by: Normalization, *, rounds: bool) -> Tensor:
    """Normalize pixels by one convolution, which 8 bits compute with a single rounding.

    rounds: say so to the converter, which sees no images.
    """
    kernel = np.diag(np.array(by.scale, np.float32))
    if by.is_reversed:
        kernel = kernel[::-1]  # channel 2 goes to place 0
    kernel = kernel[np.newaxis, np.newaxis]
    if rounds:
        most = np.abs(kernel).max(axis=(0, 1, 2))
        image = tf.quantization.fake_quant_with_min_max_args(image, 0.0, 255.0)
        kernel = tf.quantization.fake_quant_with_min_max_vars_per_channel(
            kernel, -most, most, narrow_range=True
        )
    convolved = tf.nn.conv2d(image, kernel, 1, "VALID")
    return tf.nn.bias_add(convolved, np.array(by.offset, np.float32))


def _suppressed(
    detector: SingleStageDetector, inputs: Tensor, shape: tuple[int, int]
) -> dict[str, Tensor]:
    settings = detector.settings
    predictions = detector(inputs, training=False)
    logits = predictions.class_predictions_with_background
    anchors = np.stack(
        [np.asarray(each) for each in to_center_form(np.asarray(detector.anchors(*shape)))], axis=-1
    )  # (A, 4) center y, x, height, width
    coder = settings.assigner.coder
    assert isinstance(coder, FasterRcnnCoder)
    implements = _implements(settings.suppression, coder, settings.num_classes)

    @tf.function(experimental_implements=implements, autograph=False)  # type: ignore[untyped-decorator]
    def post_process(encodings: Tensor, scores: Tensor, anchors: Tensor) -> tuple[Tensor, ...]:
        """Stand for the operation: the converter puts it in the place of this function."""
        return tuple(tf.zeros([]) for _ in range(4))

    found = post_process(
        predictions.box_encodings, settings.score_converter.scores(logits), tf.constant(anchors)
    )
    return dict(zip((BOXES, CLASSES, SCORES, COUNT), found, strict=True))


def _implements(suppression: Suppression, coder: FasterRcnnCoder, num_classes: int) -> str:
    """Name the operation, with its settings."""
    values: dict[str, Any] = {
        "max_detections": suppression.max_total_detections,
        "max_classes_per_detection": 1,
        "detections_per_class": suppression.max_detections_per_class,
        "use_regular_nms": not suppression.use_class_agnostic_nms,
        "nms_score_threshold": float(suppression.score_threshold),
        "nms_iou_threshold": float(suppression.iou_threshold),
        "y_scale": float(coder.y_scale),
        "x_scale": float(coder.x_scale),
        "h_scale": float(coder.height_scale),
        "w_scale": float(coder.width_scale),
        "num_classes": num_classes,
    }

    def attribute(name: str, value: Any) -> str:
        kind = {bool: "b", int: "i", float: "f"}[type(value)]
        return f'attr {{ key: "{name}" value {{ {kind}: {str(value).lower()} }} }}'

    return " ".join([f'name: "{POST_PROCESS}"', *(attribute(*each) for each in values.items())])


def _centers(
    detector: CenterNetDetector, inputs: Tensor, shape: tuple[int, int]
) -> dict[str, Tensor]:
    """Find peaks in the graph; masks have no place in this form."""
    sizes = tf.constant([[*shape, 3]], tf.int32)
    return _peaks(detector, detector(inputs, sizes=sizes, training=False), shape)


def center_maps(detector: CenterNetDetector, shape: tuple[int, int]) -> MapsFunction:
    """Give the function of pixels (1, H, W, 3) whose results are the maps that peaks are found in.

    It is all that 8 bits can compute: boxes need more.
    """

    def predict(image: Tensor) -> dict[str, Tensor]:
        inputs = _normalized(image, normalization_of(detector), rounds=False)
        sizes = tf.constant([[*shape, 3]], tf.int32)
        maps = tf.nest.flatten(_last_maps(detector(inputs, sizes=sizes, training=False)))
        return {f"map_{number}": each for number, each in enumerate(maps)}

    return predict


def center_peaks(
    detector: CenterNetDetector, shape: tuple[int, int]
) -> tuple[MapsFunction, list[tf.TensorSpec]]:
    """Give the function of those maps that finds detections, and what it takes."""
    blank, sizes = tf.zeros([1, *shape, 3]), tf.constant([[*shape, 3]], tf.int32)
    like = _last_maps(detector(blank, sizes=sizes, training=False))
    taken = [
        tf.TensorSpec(each.shape, tf.float32, name=f"map_{number}")
        for number, each in enumerate(tf.nest.flatten(like))
    ]

    def find(*maps: Tensor) -> dict[str, Tensor]:
        predictions = tf.nest.pack_sequence_as(like, list(maps))
        (centers,) = predictions.object_center
        _, height, width, _ = centers.shape
        # Rounded cells are often equal to their neighbors: each would be a peak.
        cells = np.arange(height)[:, None] % 3 * 3 + np.arange(width)[None, :] % 3
        apart = (centers + _APART * cells.astype(np.float32)[None, :, :, None],)
        return _peaks(detector, predictions._replace(object_center=apart), shape)

    return find, taken


def _last_maps(predictions: CenterNetPredictions) -> CenterNetPredictions:
    """Give what the last stage says; nothing that detections do not need."""
    last = CenterNetPredictions(*(() for _ in CenterNetPredictions._fields))
    return last._replace(
        object_center=predictions.object_center[-1:],
        box_scale=predictions.box_scale[-1:],
        box_offset=predictions.box_offset[-1:],
        keypoints=tuple(
            type(maps)(*(each[-1:] for each in maps)) for maps in predictions.keypoints
        ),
    )


def _peaks(
    detector: CenterNetDetector, predictions: CenterNetPredictions, shape: tuple[int, int]
) -> dict[str, Tensor]:
    settings, sizes = detector.settings, tf.constant([[*shape, 3]], tf.int32)
    tasks = replace(settings.tasks, mask=None)
    found = peak_detections(tasks, predictions, sizes, settings.suppression)
    outputs = {
        BOXES: found.boxes,
        CLASSES: tf.cast(found.classes, tf.float32),
        SCORES: found.scores,
        COUNT: tf.cast(found.count, tf.float32),
    }
    if found.keypoints is not None:
        outputs |= {KEYPOINTS: found.keypoints, KEYPOINT_SCORES: found.keypoint_scores}
    return outputs
