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


def run_tflite(
    job: ExportJob, path: Path, images: Sequence[NDArray[np.uint8]]
) -> list[dict[str, NDArray[Any]]]:
    """Give the outputs of each image, by their names."""
    model = LitertModel(path, gives_raw_scores=True)
    wanted = image_input(job.detector, takes_pixels=takes_pixels(job))
    found = []
    for image in images:
        values, size = client_image(job.detector, image, wanted)
        found.append(_named(model(values).in_image(size, model.size)))
    return found


def _named(found: LitertOutputs) -> dict[str, NDArray[Any]]:
    named: dict[str, NDArray[Any]] = {
        "detection_boxes": found.boxes,
        "detection_scores": found.scores,
        "detection_classes": found.classes + FIRST_ID,
        "num_detections": np.array(found.count, np.float32),
    }
    more = {
        "detection_keypoints": found.keypoints,
        "detection_keypoint_scores": found.keypoint_scores,
        "raw_detection_scores": found.raw_scores,
    }
    return named | {name: value for name, value in more.items() if value is not None}
