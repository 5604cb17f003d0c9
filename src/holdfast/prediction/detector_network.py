"""Detection with a detector that was built and filled here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.facts.networks import detector_of
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.input.build_input import build_resizer
from holdfast.data.sample import Tensor
from holdfast.errors import HoldfastError
from holdfast.models.detectors.interface import Detector
from holdfast.models.inference.detections import Detections


class ReadyImage(NamedTuple):
    """An image as large as the network wants it."""

    pixels: NDArray[np.float32]  # (h, w, channels)
    size: NDArray[np.int32]  # (3,) height, width, channels before the padding


class DetectorNetwork:
    """Resizes images one by one, as an evaluation does, and detects in batches of them.

    Where the resizer leaves images unequal, each is a batch of its own: what a network sees beyond
    the border of an image would otherwise depend on the images beside it.
    """

    def __init__(self, detector: Detector, config: TrainEvalPipelineConfig) -> None:
        self._detector = detector
        described = detector_of(config.model) if config.model else None
        if config.model is None or described is None or described.image_resizer is None:
            raise HoldfastError(
                "The config has no detector with an image_resizer.",
                fix="Write model { ssd { num_classes: … image_resizer { … } … } }.",
            )
        shape = input_shape(config.model)
        self._is_fixed = shape is not None and shape.fixed
        self._resize = build_resizer(described.image_resizer)
        self._run_resize = tf.function(
            self._resized,
            input_signature=[tf.TensorSpec([None, None, 3], tf.uint8)],
            autograph=False,
        )
        self._run = tf.function(self._detect, autograph=False, reduce_retracing=True)

    @property
    def batches(self) -> bool:
        """Whether images of any size can be detected in together."""
        return self._is_fixed

    def ready(self, image: NDArray[np.uint8]) -> ReadyImage:
        """Resize an image."""
        pixels, size = self._run_resize(image)
        return ReadyImage(pixels.numpy(), size.numpy())

    def detect(self, images: Sequence[ReadyImage]) -> Detections:
        """Detect in images of one size."""
        pixels = np.stack([image.pixels for image in images])
        found = self._run(pixels, np.stack([image.size for image in images]))
        return Detections(*(None if each is None else each.numpy() for each in found))

    def _resized(self, image: Tensor) -> tuple[Tensor, Tensor]:
        resized = self._resize(image, None)
        return tf.cast(resized.image, tf.float32), tf.cast(resized.size, tf.int32)

    def _detect(self, pixels: Tensor, sizes: Tensor) -> Detections:
        inputs = self._detector.normalize(pixels, sizes)
        predictions = self._detector(inputs, sizes=sizes, training=False)
        return self._detector.detections(predictions, sizes)
