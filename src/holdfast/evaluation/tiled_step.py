"""An evaluation step that detects in tiles of each image instead of in the whole image."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.data.input.evaluation_input import EvaluationBatch
from holdfast.data.sample import Tensor
from holdfast.evaluation.evaluation_step import EvaluatedBatch
from holdfast.geometry.image_tiles import Tiling
from holdfast.models.detectors.interface import Detector
from holdfast.models.inference.detections import Detections
from holdfast.models.inference.tiled_detection import detect_in_tiles


class TiledEvaluationStep:
    """Takes batches of one image each, as large as it is stored; gives no losses."""

    def __init__(self, detector: Detector, tiling: Tiling, *, tiles_at_once: int = 1) -> None:
        self._detector, self._tiling = detector, tiling
        self._tiles_at_once = tiles_at_once
        self._run = tf.function(self._detect, autograph=False, reduce_retracing=True)

    def __call__(self, batch: EvaluationBatch) -> EvaluatedBatch:
        """Give the detections of the batch's image."""
        (image,) = np.asarray(batch.images)
        found = detect_in_tiles(_bytes(image), self._run, self._tiling, at_once=self._tiles_at_once)
        return EvaluatedBatch(found, {})

    def _detect(self, tiles: Tensor) -> Detections:
        inputs, sizes = self._detector.preprocess(tiles)
        return self._detector.detections(self._detector(inputs, sizes=sizes, training=False), sizes)


def _bytes(image: NDArray[np.generic]) -> NDArray[np.uint8]:
    return np.asarray(image, np.uint8)
