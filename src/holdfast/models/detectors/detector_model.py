"""What the detectors of all families do alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.interface import Predictions, Prepared
from holdfast.models.inference.preprocessing import Preprocessing
from holdfast.models.layers.fake_quantization import known_range
from holdfast.models.layers.quantization_clock import quantization
from holdfast.models.part_names import LegacyNames


class DetectorModel(keras.Model):
    """A keras.Model with those parts of the Detector interface that no family has to itself.

    num_classes: without background. legacy: what the OD API called the parts.
    """

    def __init__(
        self,
        *,
        num_classes: int,
        preprocessing: Preprocessing,
        legacy: LegacyNames,
        **keywords: Any,
    ) -> None:
        # Boxes of the ground truth must not become float16 on the way in.
        super().__init__(autocast=False, **keywords)
        self.num_classes = num_classes
        self.legacy = legacy
        self._preprocessing = preprocessing
        self._quantization = quantization()
        self.clock = None if self._quantization is None else self._quantization.clock

    def preprocess(self, images: Tensor | Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Turn uint8 images into the network's inputs, and their sizes before the padding."""
        return self._preprocessing.prepare(images)

    def normalize(self, images: Tensor, sizes: Tensor) -> Tensor:
        """Turn the images of a Batch, which are resized and padded, into the network's inputs."""
        return self._preprocessing.normalize(images, sizes)

    def learning_from(self, predictions: Predictions, truth: GroundTruth) -> Predictions:
        """Give the predictions: what places learn does not travel in them."""
        return predictions

    def _rounded(self, inputs: Tensor) -> Tensor:
        """Give inputs as integers of few bits say them, in a quantized network: pixels are that."""
        if self._quantization is None:
            return inputs
        return known_range(inputs, *self._preprocessing.input_range, self._quantization)

    def loss_terms(self, predictions: Predictions, targets: Prepared) -> dict[str, Tensor]:
        """Give the loss terms of a whole batch, without regularization."""
        terms: dict[str, Tensor] = self.terms(predictions, targets, self.normalizers(targets))
        return terms

    def regularization_loss(self) -> Tensor:
        """Sum the penalties on kernels: 0 where there are none."""
        return sum(self.losses, start=ops.zeros(()))
