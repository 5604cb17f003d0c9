"""Single-stage detectors: SSD, SSDLite, RetinaNet, EfficientDet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from holdfast.data.sample import GroundTruth
from holdfast.errors import HoldfastError
from holdfast.geometry.anchors import AnchorGenerator
from holdfast.geometry.boxes import true_image_windows
from holdfast.geometry.sampling import Sampler
from holdfast.geometry.targets import ConfidenceTargets, TargetAssigner, Targets
from holdfast.geometry.tensor import Tensor
from holdfast.models.backbones.backbone import Backbone
from holdfast.models.detectors.single_stage_loss import (
    CLASSIFICATION,
    LOCALIZATION,
    SingleStageLoss,
)
from holdfast.models.legacy_names import LegacyNames
from holdfast.models.post_processing import Detections, Suppression
from holdfast.models.preprocessing import Preprocessing
from holdfast.models.score_conversion import ScoreConverter

# B images, A anchors, C class columns, G ground-truth boxes (padded with weight 0)


class Predictions(NamedTuple):
    """What the network says about every anchor."""

    box_encodings: Tensor  # float32 (B, A, D)
    class_predictions_with_background: Tensor  # float32 (B, A, C) logits
    anchors: Tensor  # float32 (A, 4) normalised to the input, not clipped
    feature_maps: tuple[Tensor, ...]  # (B, h, w, channels), finest first
    preprocessed_inputs: Tensor  # float32 (B, H, W, 3)


@dataclass(frozen=True, kw_only=True)
class SingleStageSettings:
    """How anchors, targets, losses and detections of a single-stage detector are made."""

    num_classes: int
    preprocessing: Preprocessing
    anchor_generator: AnchorGenerator
    assigner: TargetAssigner
    loss: SingleStageLoss
    score_converter: ScoreConverter
    suppression: Suppression
    legacy: LegacyNames
    input_shape: tuple[int, int]  # height, width; the largest where images differ
    pad_to_multiple: int = 1  # the network pads its input at the bottom and right
    uses_confidences: bool = False
    implicit_class_weight: float = 1.0
    sampler: Sampler | None = None  # trains on a part of the anchors
    sampler_seed: keras.random.SeedGenerator | None = None  # what the sampler draws from


class SingleStageDetector(keras.Model):
    """Backbone, neck and head over a grid of anchors."""

    def __init__(
        self,
        backbone: Backbone,
        neck: keras.layers.Layer,
        head: keras.layers.Layer,
        settings: SingleStageSettings,
        **keywords: Any,
    ) -> None:
        # Boxes of the ground truth must not become float16 on the way in.
        super().__init__(autocast=False, **keywords)
        self.backbone = backbone
        self.neck = neck
        self.head = head
        self.settings = settings
        self.sampler_seed = settings.sampler_seed  # seen by Keras: its state is saved
        self._seen = _SeenShapes()

    loss_names = (LOCALIZATION, CLASSIFICATION)

    @property
    def num_classes(self) -> int:
        """Classes, without background."""
        return self.settings.num_classes

    @property
    def legacy(self) -> LegacyNames:
        """What the OD API called the parts."""
        return self.settings.legacy

    def preprocess(self, images: Tensor | Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Turn uint8 images into the network's inputs, and their sizes before the padding."""
        return self.settings.preprocessing.prepare(images)

    def normalise(self, images: Tensor, sizes: Tensor) -> Tensor:
        """Turn the images of a Batch, which are resized and padded, into the network's inputs."""
        return self.settings.preprocessing.normalise(images, sizes)

    def call(
        self,
        inputs: Tensor,
        sizes: Tensor | None = None,
        truth: GroundTruth | None = None,
        training: bool = False,
    ) -> Predictions:
        """Predict; sizes and truth are for detectors of two stages."""
        padded = _pad_to_multiple(inputs, self.settings.pad_to_multiple)
        features = self.neck(self.backbone(padded, training=training), training=training)
        output = self.head(features, training=training)
        return Predictions(
            box_encodings=ops.cast(output.box_encodings, "float32"),
            class_predictions_with_background=ops.cast(output.class_logits, "float32"),
            anchors=ops.convert_to_tensor(self._laid_out(inputs, features)),
            feature_maps=tuple(features),
            preprocessed_inputs=inputs,
        )

    def targets(
        self, truth: GroundTruth, sizes: Tensor, predictions: Predictions | None = None
    ) -> Targets | ConfidenceTargets:
        """Say what each anchor has to learn.

        Of the predictions only the anchors matter; None: those of the input the config describes.
        """
        if predictions is None:
            return self.targets_of(self.anchors(*self.settings.input_shape), truth)
        return self.targets_of(predictions.anchors, truth)

    def targets_of(self, anchors: Tensor, truth: GroundTruth) -> Targets | ConfidenceTargets:
        """Say what each of these anchors (A, 4) has to learn."""
        settings = self.settings
        boxes, classes, weights = truth.boxes, truth.classes, truth.weights
        if not settings.uses_confidences:
            targets = settings.assigner.assign(anchors, boxes, classes, weights)
            return targets if settings.sampler is None else _sampled(targets, settings.sampler)
        return settings.assigner.assign_confidences(
            anchors,
            boxes,
            classes,
            weights,
            ops.ones_like(weights) if truth.confidences is None else truth.confidences,
            num_classes=settings.num_classes,
            has_background_column=settings.loss.has_background_column,
            implicit_class_weight=settings.implicit_class_weight,
        )

    def match_count(self, targets: Targets | ConfidenceTargets) -> Tensor:
        """Count the matched anchors that loss terms are divided by; it adds up over batches."""
        return self.settings.loss.count(targets)

    def loss_terms(
        self,
        predictions: Predictions,
        targets: Targets | ConfidenceTargets,
        match_count: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Give the loss terms, without regularization.

        match_count: of the whole batch, where this is a part of it; the terms of the parts add up.
        """
        loss = self.settings.loss
        return loss.terms(
            predictions.box_encodings,
            predictions.class_predictions_with_background,
            predictions.anchors,
            targets,
            loss.count(targets) if match_count is None else match_count,
        )

    def regularization_loss(self) -> Tensor:
        """Sum the penalties on kernels."""
        return sum(self.losses, start=ops.zeros(()))

    def detections(self, predictions: Predictions, sizes: Tensor) -> Detections:
        """Choose the detections; boxes are normalised to the true image."""
        settings = self.settings
        boxes = settings.assigner.coder.decode(predictions.box_encodings, predictions.anchors)
        scores = settings.score_converter.scores(predictions.class_predictions_with_background)
        if settings.loss.has_background_column:
            scores = scores[..., 1:]
        height, width = predictions.preprocessed_inputs.shape[1:3]
        windows = true_image_windows(sizes, height, width)
        return settings.suppression.detections(boxes[..., :4], scores, windows)

    def anchors(self, height: int, width: int) -> NDArray[np.float32]:
        """Give the anchors (A, 4) on an input of a size, normalised to it."""
        if (height, width) not in self._seen.maps:
            self(keras.KerasTensor((1, height, width, 3), "float32"))
        shapes = self._seen.maps[height, width]
        return np.concatenate(self.settings.anchor_generator.anchors(shapes, height, width))

    def _laid_out(self, inputs: Tensor, features: Sequence[Tensor]) -> NDArray[np.float32]:
        height, width = inputs.shape[1:3]
        if height is None or width is None:
            raise HoldfastError(
                "Anchors need to know the height and width of the input.",
                fix="Call the detector with inputs of a known shape (None is fine for the batch).",
            )
        # Tuples: a list in the dictionary would keep TensorFlow from saving the detector.
        shapes = tuple((int(each.shape[1]), int(each.shape[2])) for each in features)
        self._seen.maps[int(height), int(width)] = shapes
        return self.anchors(int(height), int(width))


class _SeenShapes:
    """Of each input size seen, the sizes of its feature maps.

    A dict on the model itself would be saved with it, which such keys do not allow.
    """

    def __init__(self) -> None:
        self.maps: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}


def _sampled(targets: Targets, sampler: Sampler) -> Targets:
    """Let only a sample of the anchors count."""
    is_sampled = ops.cast(
        sampler(targets.class_weights > 0.0, targets.classes >= 0, None), "float32"
    )
    return targets._replace(
        class_weights=targets.class_weights * is_sampled,
        box_weights=targets.box_weights * is_sampled,
    )


def _pad_to_multiple(inputs: Tensor, multiple: int) -> Tensor:
    bottom, right = (-int(side) % multiple for side in inputs.shape[1:3])
    if not bottom and not right:
        return inputs
    return ops.pad(inputs, [(0, 0), (0, bottom), (0, right), (0, 0)])
