"""CenterNet: objects are peaks of a heatmap, and what they are is read off at the peak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import keras
from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.geometry.targets import BACKGROUND
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.center_net.center_net_loss import (
    center_losses,
    loss_normalizers,
    loss_terms,
)
from holdfast.models.detectors.center_net.peak_detections import peak_detections
from holdfast.models.detectors.center_net.prepared import (
    CenterNetPredictions,
    CenterNetTargets,
    KeypointMaps,
    Maps,
    center_net_targets,
    map_shape,
)
from holdfast.models.detectors.center_net.tasks import (
    BOX_OFFSET,
    BOX_SCALE,
    CENTER,
    SEGMENTATION,
    Tasks,
)
from holdfast.models.detectors.detector_model import DetectorModel
from holdfast.models.detectors.input_sides import pad_to_multiple, sides
from holdfast.models.detectors.learning_signs import LearningSigns
from holdfast.models.detectors.place_losses import PlaceLosses, cell_boxes
from holdfast.models.inference.detections import Detections, Suppression
from holdfast.models.inference.preprocessing import Preprocessing
from holdfast.models.part_names import LegacyNames

# B images, G ground-truth boxes (padded with weight 0); maps of h x w cells


@dataclass(frozen=True, kw_only=True)
class CenterNetSettings:
    """How inputs, targets, losses and detections of a CenterNet are made."""

    tasks: Tasks
    quantities: tuple[str, ...]  # what the head predicts, in order
    preprocessing: Preprocessing
    legacy: LegacyNames
    input_shape: tuple[int, int]  # height, width; the largest where images differ
    multiple: int  # of pixels: the network pads its input at the bottom and right
    suppression: Suppression | None = None


class CenterNetDetector(DetectorModel):
    """Backbone, neck and heads over one map, or over one of each hourglass."""

    def __init__(
        self,
        backbone: keras.layers.Layer,
        neck: keras.layers.Layer | None,
        head: keras.layers.Layer,
        settings: CenterNetSettings,
        **keywords: Any,
    ) -> None:
        super().__init__(
            num_classes=settings.tasks.num_classes,
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
        return self.settings.tasks.truth_fields

    def parts(self) -> Mapping[str, keras.layers.Layer]:
        """Give the parts by name, in the order in which an image passes them."""
        parts = {"backbone": self.backbone, "neck": self.neck, "head": self.head}
        return {name: part for name, part in parts.items() if part is not None}

    def call(
        self,
        inputs: Tensor,
        sizes: Tensor | None = None,
        truth: GroundTruth | None = None,
        prepared: CenterNetTargets | None = None,
        training: bool = False,
    ) -> CenterNetPredictions:
        """Predict; sizes, truth and what was prepared are for detectors of two stages."""
        features = self.backbone(pad_to_multiple(inputs, self.settings.multiple), training=training)
        if self.neck is not None:
            features = self.neck(features, training=training)
        features = [_cropped(feature, map_shape(sides(inputs))) for feature in features]
        predicted = self.head(features, training=training)
        maps = dict(zip(self.settings.quantities, predicted, strict=True))
        return self._predictions(maps, tuple(features), inputs)

    def prepare(
        self,
        truth: GroundTruth,
        sizes: Tensor,
        shape: tuple[Tensor, Tensor],
        seeds: Tensor | None = None,
    ) -> CenterNetTargets:
        """Draw the heatmaps, and say what their cells have to learn, for inputs of a shape."""
        return center_net_targets(self.settings.tasks, truth, sizes, shape)

    def targets(
        self, truth: GroundTruth, sizes: Tensor, predictions: CenterNetPredictions | None = None
    ) -> CenterNetTargets:
        """Say what there is to learn.

        Of the predictions only the inputs' shape matters; None: that which the config describes.
        """
        if predictions is None:
            return self.prepare(truth, sizes, self.settings.input_shape)
        return self.prepare(truth, sizes, sides(predictions.preprocessed_inputs))

    def normalizers(self, prepared: CenterNetTargets) -> dict[str, Tensor]:
        """Count what each loss term is divided by; it adds up over batches."""
        return loss_normalizers(self.settings.tasks, prepared)

    def terms(
        self,
        predictions: CenterNetPredictions,
        prepared: CenterNetTargets,
        normalizers: Mapping[str, Tensor],
    ) -> dict[str, Tensor]:
        """Give the loss terms, one for each normalizer; the terms of a batch's parts add up."""
        return loss_terms(self.settings.tasks, predictions, prepared, normalizers)

    def signs(
        self, predictions: CenterNetPredictions, prepared: CenterNetTargets, truth: GroundTruth
    ) -> LearningSigns:
        """Give what the cells of the last map say beside what they learn: the peaks of objects."""
        scores = ops.sigmoid(predictions.object_center[-1])
        images, classes = ops.shape(scores)[0], scores.shape[-1]
        peaks = ops.reshape(prepared.centers, (images, -1, classes))
        is_peak = ops.max(peaks, axis=-1) >= 1.0
        return LearningSigns(
            scores=ops.reshape(scores, (images, -1, classes)),
            classes=ops.where(is_peak, ops.cast(ops.argmax(peaks, axis=-1), "int32"), BACKGROUND),
            counts=ops.reshape(prepared.cell_weights, (images, -1)) > 0.0,
            box_index=None,
        )

    def place_losses(
        self,
        predictions: CenterNetPredictions,
        prepared: CenterNetTargets,
        normalizers: Mapping[str, Tensor],
    ) -> dict[str, PlaceLosses]:
        """Give what each cell adds to the loss of the centers; others are not split."""
        by_cell = center_losses(self.settings.tasks, predictions, prepared, normalizers)
        boxes = cell_boxes(*ops.shape(prepared.cell_weights)[1:])
        return {name: PlaceLosses(each, boxes) for name, each in by_cell.items()}

    def detections(self, predictions: CenterNetPredictions, sizes: Tensor) -> Detections:
        """Choose the detections; boxes are normalized to the true image."""
        settings = self.settings
        return peak_detections(settings.tasks, predictions, sizes, settings.suppression)

    def _predictions(
        self, maps: Mapping[str, Maps], features: Maps, inputs: Tensor
    ) -> CenterNetPredictions:
        def of(name: str) -> Maps:
            return tuple(ops.cast(each, "float32") for each in maps.get(name, ()))

        return CenterNetPredictions(
            object_center=of(CENTER),
            box_scale=of(BOX_SCALE),
            box_offset=of(BOX_OFFSET),
            keypoints=tuple(
                KeypointMaps(of(task.heatmap), of(task.offset), of(task.regression))
                for task in self.settings.tasks.keypoints
            ),
            segmentation_heatmap=of(SEGMENTATION),
            extracted_features=features,
            preprocessed_inputs=inputs,
        )


def _cropped(feature: Tensor, shape: tuple[Tensor, Tensor]) -> Tensor:
    """Leave out the cells of the padding."""
    height, width = shape
    if isinstance(height, int) and tuple(feature.shape[1:3]) == shape:
        return feature
    return feature[:, :height, :width, :]
