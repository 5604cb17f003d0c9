"""Single-stage detectors: SSD, SSDLite, RetinaNet, EfficientDet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.geometry.anchors import AnchorLayer, Side
from holdfast.geometry.boxes import true_image_windows
from holdfast.geometry.chance import image_seeds, seeds_at
from holdfast.geometry.gather import rows_at
from holdfast.geometry.matching import MatchState
from holdfast.geometry.sampling import Sampler, SeededSampler
from holdfast.geometry.targets import BACKGROUND, AnchorAssigner, ConfidenceTargets, Targets
from holdfast.geometry.tensor import Tensor
from holdfast.models.backbones.backbone import Backbone
from holdfast.models.detectors.detector_model import DetectorModel
from holdfast.models.detectors.input_sides import divided, pad_to_multiple, sides
from holdfast.models.detectors.learning_signs import LearningSigns
from holdfast.models.detectors.place_losses import PlaceLosses
from holdfast.models.detectors.single_stage.loss_terms import SingleStageLoss
from holdfast.models.inference.detections import Detections, Suppression
from holdfast.models.inference.preprocessing import Preprocessing
from holdfast.models.inference.scores import ScoreConversion
from holdfast.models.part_names import LegacyNames

# B images, A anchors, C class columns, G ground-truth boxes (padded with weight 0)


class Predictions(NamedTuple):
    """What the network says about every anchor."""

    box_encodings: Tensor  # float32 (B, A, D)
    class_predictions_with_background: Tensor  # float32 (B, A, C) logits
    anchors: Tensor  # float32 (A, 4) normalized to the input, not clipped
    feature_maps: tuple[Tensor, ...]  # (B, h, w, channels), finest first
    preprocessed_inputs: Tensor  # float32 (B, H, W, 3)


AnchorTargets = Targets | ConfidenceTargets


@dataclass(frozen=True, kw_only=True)
class SingleStageSettings:
    """How anchors, targets, losses and detections of a single-stage detector are made."""

    num_classes: int
    preprocessing: Preprocessing
    anchor_generator: AnchorLayer
    assigner: AnchorAssigner
    loss: SingleStageLoss
    score_converter: ScoreConversion
    suppression: Suppression
    legacy: LegacyNames
    input_shape: tuple[int, int]  # height, width; the largest where images differ
    pad_to_multiple: int = 1  # the network pads its input at the bottom and right
    uses_confidences: bool = False
    implicit_class_weight: float = 1.0
    sampler: SeededSampler | None = None  # trains on a part of the anchors


class SingleStageDetector(DetectorModel):
    """Backbone, neck and head over a grid of anchors."""

    def __init__(
        self,
        backbone: Backbone,
        neck: keras.layers.Layer,
        head: keras.layers.Layer,
        settings: SingleStageSettings,
        **keywords: Any,
    ) -> None:
        super().__init__(
            num_classes=settings.num_classes,
            preprocessing=settings.preprocessing,
            legacy=settings.legacy,
            **keywords,
        )
        self.backbone = backbone
        self.neck = neck
        self.head = head
        self.settings = settings

    @property
    def truth_fields(self) -> frozenset[str]:
        """The fields of GroundTruth beyond boxes, classes and weights that it learns from."""
        return frozenset({"confidences"} if self.settings.uses_confidences else ())

    def parts(self) -> Mapping[str, keras.layers.Layer]:
        """Give the parts by name, in the order in which an image passes them."""
        parts = {"backbone": self.backbone, "neck": self.neck, "head": self.head}
        return parts if self.clock is None else parts | {"quantization": self.clock}

    def call(
        self,
        inputs: Tensor,
        sizes: Tensor | None = None,
        truth: GroundTruth | None = None,
        prepared: AnchorTargets | None = None,
        training: bool = False,
    ) -> Predictions:
        """Predict; sizes, truth and what was prepared are for detectors of two stages."""
        padded = pad_to_multiple(self._rounded(inputs), self.settings.pad_to_multiple)
        features = self.neck(self.backbone(padded, training=training), training=training)
        output = self.head(features, training=training)
        return Predictions(
            box_encodings=ops.cast(output.box_encodings, "float32"),
            class_predictions_with_background=ops.cast(output.class_logits, "float32"),
            anchors=ops.convert_to_tensor(self.anchors(*sides(inputs))),
            feature_maps=tuple(features),
            preprocessed_inputs=inputs,
        )

    def prepare(
        self,
        truth: GroundTruth,
        sizes: Tensor,
        shape: tuple[Tensor, Tensor],
        seeds: Tensor | None = None,
    ) -> AnchorTargets:
        """Say what each anchor on inputs of a shape (height, width) has to learn.

        seeds (B, 2): by which the images sample their anchors, where they do; None draws the same
        in every batch.
        """
        return self._targets_of(self.anchors(*shape), truth, seeds)

    def targets(
        self, truth: GroundTruth, sizes: Tensor, predictions: Predictions | None = None
    ) -> AnchorTargets:
        """Say what each anchor has to learn.

        Of the predictions only the anchors matter; None: those of the input the config describes.
        """
        if predictions is None:
            return self.prepare(truth, sizes, self.settings.input_shape)
        return self._targets_of(predictions.anchors, truth, None)

    def _targets_of(
        self, anchors: Tensor, truth: GroundTruth, seeds: Tensor | None
    ) -> AnchorTargets:
        settings = self.settings
        boxes, classes, weights = truth.boxes, truth.classes, truth.weights
        if not settings.uses_confidences:
            targets = settings.assigner.assign(anchors, boxes, classes, weights)
            if settings.sampler is None:
                return targets
            if seeds is None:
                seeds = image_seeds(0, ops.arange(ops.shape(weights)[0]))
            return _sampled(targets, settings.sampler(seeds_at(seeds, "anchors")))
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

    def normalizers(self, prepared: AnchorTargets) -> dict[str, Tensor]:
        """Count the matched anchors that each loss term is divided by; it adds up over batches."""
        return self.settings.loss.normalizers(prepared)

    def terms(
        self, predictions: Predictions, prepared: AnchorTargets, normalizers: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Give the loss terms, one for each normalizer; the terms of a batch's parts add up."""
        return self.settings.loss.terms(
            predictions.box_encodings,
            predictions.class_predictions_with_background,
            predictions.anchors,
            prepared,
            normalizers,
        )

    def signs(
        self, predictions: Predictions, prepared: AnchorTargets, truth: GroundTruth
    ) -> LearningSigns:
        """Give what the anchors say beside what they learn."""
        matches = prepared.matches
        is_positive = matches.state == int(MatchState.POSITIVE)
        index = ops.where(is_positive, matches.box_index, 0)
        if isinstance(prepared, ConfidenceTargets):
            classes = ops.where(is_positive, rows_at(truth.classes, index), BACKGROUND)
            counts = ops.any(prepared.class_weights > 0.0, axis=-1)
        else:
            classes, counts = prepared.classes, prepared.class_weights > 0.0
        return LearningSigns(self.scores(predictions), classes, counts, index)

    def place_losses(
        self, predictions: Predictions, prepared: AnchorTargets, normalizers: Mapping[str, Tensor]
    ) -> dict[str, PlaceLosses]:
        """Give what each anchor adds to the loss terms."""
        by_anchor = self.settings.loss.by_anchor(
            predictions.box_encodings,
            predictions.class_predictions_with_background,
            predictions.anchors,
            prepared,
            normalizers,
        )
        return {name: PlaceLosses(each, predictions.anchors) for name, each in by_anchor.items()}

    def detections(self, predictions: Predictions, sizes: Tensor) -> Detections:
        """Choose the detections; boxes are normalized to the true image."""
        settings = self.settings
        height, width = sides(predictions.preprocessed_inputs)
        windows = true_image_windows(sizes, height, width)
        boxes, scores = self.boxes(predictions), self.scores(predictions)
        return settings.suppression.detections(boxes, scores, windows)

    def boxes(self, predictions: Predictions) -> Tensor:
        """Give the box of each anchor (B, A, 4), normalized to the input."""
        coder = self.settings.assigner.coder
        return coder.decode(predictions.box_encodings, predictions.anchors)[..., :4]

    def scores(self, predictions: Predictions) -> Tensor:
        """Give the scores of each anchor's classes (B, A, classes), without background."""
        settings = self.settings
        scores = settings.score_converter.scores(predictions.class_predictions_with_background)
        return scores[..., 1:] if settings.loss.has_background_column else scores

    def anchors(self, height: Side, width: Side) -> Tensor:
        """Give the anchors (A, 4) on an input of a size, normalized to it: NumPy's if it is known.

        They need no network: the maps of its features have the input's size over their strides.
        """
        multiple = self.settings.pad_to_multiple
        padded = [divided(side, multiple) * multiple for side in (height, width)]
        shapes = [
            (divided(padded[0], feature.stride), divided(padded[1], feature.stride))
            for feature in self.neck.features
        ]
        laid_out = self.settings.anchor_generator.anchors(shapes, height, width)
        return (ops if ops.is_tensor(laid_out[0]) else np).concatenate(laid_out)


def _sampled(targets: Targets, sampler: Sampler) -> Targets:
    """Let only a sample of the anchors count."""
    is_sampled = ops.cast(
        sampler(targets.class_weights > 0.0, targets.classes >= 0, None), "float32"
    )
    return targets._replace(
        class_weights=targets.class_weights * is_sampled,
        box_weights=targets.box_weights * is_sampled,
    )
