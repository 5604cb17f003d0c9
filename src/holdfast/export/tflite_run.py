"""Run a TFLite file as a client would, and give its outputs by the OD API's names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.export.detection_outputs import FIRST_ID
from holdfast.export.export_format import ExportJob
from holdfast.export.tflite_file import takes_pixels
from holdfast.export.tflite_graph import client_image, image_input
from holdfast.runtimes.litert_model import LitertModel, LitertOutputs
from holdfast.runtimes.true_frame import boxes_in_image, points_in_image


def run_tflite(
    job: ExportJob, path: Path, images: Sequence[NDArray[np.uint8]]
) -> list[dict[str, NDArray[Any]]]:
    """Give the outputs of each image, by their names."""
    model = LitertModel(path, gives_raw_scores=True)
    wanted = image_input(job.detector, takes_pixels=takes_pixels(job))
    found = []
    for image in images:
        values, size = client_image(job.detector, image, wanted)
        found.append(_named(model(values), size, model.size))
    return found


def _named(
    outputs: LitertOutputs, size: NDArray[np.int32], sides: tuple[int, int]
) -> dict[str, NDArray[Any]]:
    boxes = boxes_in_image(outputs.boxes, size, sides)
    is_found = np.arange(len(boxes)) < outputs.count
    # The operation neither clips boxes nor leaves out those outside of the image; a detector does.
    is_empty = is_found & ((boxes[:, 2:] - boxes[:, :2]).min(axis=1) <= 0.0)
    rows = ~is_empty
    named = {
        "detection_boxes": boxes[rows],
        "detection_scores": np.where(is_found, outputs.scores, 0.0)[rows],
        "detection_classes": outputs.classes[rows] + FIRST_ID,
        "num_detections": np.float32(np.count_nonzero(is_found & rows)),
    }
    if outputs.keypoints is not None and outputs.keypoint_scores is not None:
        named["detection_keypoints"] = points_in_image(outputs.keypoints, size, sides)[rows]
        named["detection_keypoint_scores"] = outputs.keypoint_scores[rows]
    if outputs.raw_scores is not None:
        named["raw_detection_scores"] = outputs.raw_scores
    return named
