"""CenterNet: objects are peaks of a heatmap, and what they are is read off at the peak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras
from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.center_net.center_net_loss import loss_normalizers, loss_terms
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


class CenterNetDetector(keras.Model):
    """Backbone, neck and heads over one map, or over one of each hourglass."""

    def __init__(
        self,
        backbone: keras.layers.Layer,
        neck: keras.layers.Layer | None,
        head: keras.layers.Layer,
        settings: CenterNetSettings,
        **keywords: Any,
    ) -> None:
        # Boxes of the ground truth must not become float16 on the way in.
        super().__init__(autocast=False, **keywords)
        self.backbone = backbone
        self.neck = neck
        self.head = head
        self.settings = settings

    @property
    def num_classes(self) -> int:
        """Classes; CenterNet has no background."""
        return self.settings.tasks.num_classes

    @property
    def truth_fields(self) -> frozenset[str]:
        """The fields of GroundTruth beyond boxes, classes and weights that it learns from."""
        return self.settings.tasks.truth_fields

    def parts(self) -> Mapping[str, keras.layers.Layer]:
        """Give the parts by name, in the order in which an image passes them."""
        parts = {"backbone": self.backbone, "neck": self.neck, "head": self.head}
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def legacy(self) -> LegacyNames:
        """What the OD API called the parts."""
        return self.settings.legacy

    def preprocess(self, images: Tensor | Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Turn uint8 images into the network's inputs, and their sizes before the padding."""
        return self.settings.preprocessing.prepare(images)

    def normalize(self, images: Tensor, sizes: Tensor) -> Tensor:
        """Turn the images of a Batch, which are resized and padded, into the network's inputs."""
        return self.settings.preprocessing.normalize(images, sizes)

    def call(
        self,
        inputs: Tensor,
        sizes: Tensor | None = None,
        truth: GroundTruth | None = None,
        prepared: CenterNetTargets | None = None,
        training: bool = False,
    ) -> CenterNetPredictions:
        """Predict; sizes, truth and what was prepared are for detectors of two stages."""
        features = self.backbone(self._padded(inputs), training=training)
        if self.neck is not None:
            features = self.neck(features, training=training)
        features = [_cropped(feature, map_shape(_sides(inputs))) for feature in features]
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
        return self.prepare(truth, sizes, _sides(predictions.preprocessed_inputs))

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

    def loss_terms(
        self, predictions: CenterNetPredictions, targets: CenterNetTargets
    ) -> dict[str, Tensor]:
        """Give the loss terms of a whole batch, without regularization."""
        return self.terms(predictions, targets, self.normalizers(targets))

    def regularization_loss(self) -> Tensor:
        """Sum the penalties on kernels: CenterNet has none."""
        return sum(self.losses, start=ops.zeros(()))

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

    def _padded(self, inputs: Tensor) -> Tensor:
        """Pad inputs to a size that is halved without a rest down to the coarsest map."""
        margins = [-side % self.settings.multiple for side in _sides(inputs)]
        if all(isinstance(margin, int) and margin == 0 for margin in margins):
            return inputs
        bottom, right = margins
        return ops.pad(inputs, [(0, 0), (0, bottom), (0, right), (0, 0)])


def _cropped(feature: Tensor, shape: tuple[Tensor, Tensor]) -> Tensor:
    """Leave out the cells of the padding."""
    height, width = shape
    if isinstance(height, int) and tuple(feature.shape[1:3]) == shape:
        return feature
    return feature[:, :height, :width, :]


def _sides(inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Give height and width: tensors where they are known only when the network runs."""
    height, width = inputs.shape[1:3]
    if height is None or width is None:
        height, width = ops.shape(inputs)[1:3]
    return height, width
