"""What training, evaluation, memory and checkpoints know of a detector, whatever its family.

A step goes through these in order: `prepare` what needs no network, sum the `normalizers` over all
parts of the batch, call the network, give the `terms` of the loss. `targets` and `loss_terms` are
the same for programs that have one whole batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import keras

from holdfast.data.sample import GroundTruth
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.learning_signs import LearningSigns
from holdfast.models.detectors.place_losses import PlaceLosses
from holdfast.models.inference.detections import Detections
from holdfast.models.layers.quantization_clock import QuantizationClock
from holdfast.models.part_names import LegacyNames

# What `prepare` and a call return is the family's own: nested tuples of tensors.
Prepared = Any
Predictions = Any


class Detector(Protocol):
    """A built keras.Model that detects; B images, G ground-truth boxes."""

    name: str

    @property
    def num_classes(self) -> int:
        """Classes, without background."""

    @property
    def truth_fields(self) -> frozenset[str]:
        """The fields of GroundTruth beyond boxes, classes and weights that it learns from."""

    @property
    def legacy(self) -> LegacyNames:
        """What the OD API called the parts."""

    @property
    def clock(self) -> QuantizationClock | None:
        """What counts the steps of a network that is trained quantized; None: it is not."""

    @property
    def variables(self) -> list[keras.Variable]:
        """All variables."""

    @property
    def weights(self) -> list[keras.Variable]:
        """Those that hold what was learned: weights and statistics."""

    @property
    def trainable_variables(self) -> list[keras.Variable]:
        """Those that gradients can change."""

    def parts(self) -> Mapping[str, keras.layers.Layer]:
        """Give the parts by name, in the order in which an image passes them."""

    def preprocess(self, images: Tensor | Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Turn uint8 images into the network's inputs, and their sizes before the padding."""

    def normalize(self, images: Tensor, sizes: Tensor) -> Tensor:
        """Turn the images of a Batch, which are resized and padded, into the network's inputs."""

    def prepare(
        self,
        truth: GroundTruth,
        sizes: Tensor,
        shape: tuple[Tensor, Tensor],
        seeds: Tensor | None = None,
    ) -> Prepared:
        """Make all targets that need no network, for inputs of a shape (height, width).

        seeds (B, 2): what the images draw by, where targets are sampled; None draws the same in
        every batch.
        """

    def normalizers(self, prepared: Prepared) -> dict[str, Tensor]:
        """Give what each loss term is divided by, named by the term; it adds up over batches."""

    def __call__(
        self,
        inputs: Tensor,
        *,
        sizes: Tensor | None = None,
        truth: GroundTruth | None = None,
        prepared: Prepared | None = None,
        training: bool = False,
    ) -> Predictions:
        """Predict; with truth, the targets of a second stage are made on the way."""

    def terms(
        self, predictions: Predictions, prepared: Prepared, normalizers: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Give the loss terms, one for each normalizer; the terms of a batch's parts add up."""

    def learning_from(self, predictions: Predictions, truth: GroundTruth) -> Predictions:
        """Let predictions made in training carry what places learn from another ground truth."""

    def signs(
        self, predictions: Predictions, prepared: Prepared, truth: GroundTruth
    ) -> LearningSigns:
        """Give what its places say beside what they learn, of predictions made in training."""

    def place_losses(
        self, predictions: Predictions, prepared: Prepared, normalizers: Mapping[str, Tensor]
    ) -> dict[str, PlaceLosses]:
        """Give the loss terms by place, for those terms that are made of places."""

    def targets(self, truth: GroundTruth, sizes: Tensor, predictions: Predictions) -> Prepared:
        """Say what there is to learn from a whole batch."""

    def loss_terms(self, predictions: Predictions, targets: Prepared) -> dict[str, Tensor]:
        """Give the loss terms of a whole batch, without regularization."""

    def regularization_loss(self) -> Tensor:
        """Sum the penalties on the weights."""

    def detections(self, predictions: Predictions, sizes: Tensor) -> Detections:
        """Choose the detections; boxes are normalized to the true image."""
