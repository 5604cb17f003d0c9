"""What a detector gives to clients, by the OD API's names."""

from __future__ import annotations

from typing import Any

from keras import ops

from holdfast.data.sample import Tensor
from holdfast.geometry.highest import highest_index
from holdfast.models.detectors.interface import Detector
from holdfast.models.detectors.single_stage.detector import SingleStageDetector
from holdfast.models.detectors.two_stage.two_stage_detector import TwoStageDetector

# B images, N detections, A anchors or regions, C classes

FIRST_ID = 1  # of the label map; classes count from 0 inside


def detection_outputs(detector: Detector, inputs: Tensor, sizes: Tensor) -> dict[str, Tensor]:
    """Detect in preprocessed inputs; all outputs are float32.

    detection_boxes (B, N, 4) are normalized to the image, detection_classes (B, N) are label-map
    ids, num_detections (B,). raw_detection_boxes (B, A, 4), normalized to the padded input, and
    raw_detection_scores (B, A, C + 1), with background, are what suppression chose from.
    """
    predictions = detector(inputs, sizes=sizes, training=False)
    found = detector.detections(predictions, sizes)
    outputs = {
        "detection_boxes": found.boxes,
        "detection_scores": found.scores,
        "detection_classes": ops.cast(found.classes, "float32") + FIRST_ID,
        "num_detections": ops.cast(found.count, "float32"),
    }
    shapes = {
        "detection_masks": found.masks,
        "detection_keypoints": found.keypoints,
        "detection_keypoint_scores": found.keypoint_scores,
    }
    outputs |= {name: value for name, value in shapes.items() if value is not None}
    return outputs | _raw_outputs(detector, predictions)


def _raw_outputs(detector: Detector, predictions: Any) -> dict[str, Tensor]:
    """Give every box with its scores; a CenterNet has no such boxes, as in the OD API."""
    match detector:
        case SingleStageDetector(settings=settings):
            encodings = predictions.box_encodings
            boxes = settings.assigner.coder.decode(encodings, predictions.anchors)[..., :4]
            logits = predictions.class_predictions_with_background
            scores = settings.score_converter.scores(logits)
        case TwoStageDetector(settings=settings) if settings.second is not None:
            boxes, scores = _raw_regions(settings.second, predictions)
        case _:
            return {}
    return {"raw_detection_boxes": boxes, "raw_detection_scores": scores}


def _raw_regions(second: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    """Give each region's box of its best class, and its scores."""
    regions, codes = predictions.regions, predictions.refined_box_encodings
    places = regions.boxes.shape[1]
    codes = ops.reshape(codes, (-1, places, codes.shape[1], 4))
    boxes = second.assigner.coder.decode(codes, regions.boxes[:, :, None, :])  # (B, P, C or 1, 4)
    logits = predictions.class_predictions_with_background
    scores = second.score_converter.scores(ops.reshape(logits, (-1, places, logits.shape[-1])))
    if boxes.shape[2] == 1:
        boxes = boxes[:, :, 0]
    else:
        best = highest_index(scores[..., 1:])[..., None, None]  # (B, P, 1, 1)
        boxes = ops.take_along_axis(boxes, ops.repeat(best, 4, axis=-1), axis=2)[:, :, 0]
    height, width = (ops.cast(side, "float32") for side in predictions.sides)
    return boxes / ops.stack([height, width, height, width]), scores
