"""The stages that look at regions: the second, and the third, for masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.errors import HoldfastError
from holdfast.geometry.anchors import Side
from holdfast.geometry.boxes import from_pixels, to_pixels
from holdfast.geometry.chance import seeds_at
from holdfast.geometry.regions import crop_regions, pool_regions
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.two_stage.first_stage import Proposals
from holdfast.models.detectors.two_stage.mask_stage import MaskTargets, has_masks
from holdfast.models.detectors.two_stage.second_stage import Regions, SecondStage, of_class
from holdfast.models.detectors.two_stage.two_stage_predictions import TwoStagePredictions
from holdfast.models.detectors.two_stage.two_stage_settings import TwoStageSettings
from holdfast.models.inference.detections import Detections
from holdfast.models.layers.randomness import current_seeds

# B images, P regions an image, R = B * P

_SCOPE = "regions"  # what is cut out is among the largest tensors: a plan names it


@dataclass(frozen=True, kw_only=True)
class LaterStages:
    """The parts that see regions, and what is done with them."""

    settings: TwoStageSettings
    region_extractor: Any
    box_head: Any
    mask_head: Any  # None without masks

    def predict(
        self,
        predictions: TwoStagePredictions,
        proposals: Proposals,
        truth: GroundTruth | None,
        windows: Tensor,
        *,
        training: bool,
    ) -> TwoStagePredictions:
        """Add to the predictions of the first stage those of the others.

        windows (B, 4): the true images, in pixels.
        """
        regions = self._regions(proposals, truth, predictions.sides, training=training)
        predictions = self._second_stage(predictions, regions, training=training)
        if self.settings.masks is None:
            return predictions
        if training:
            return self._masks_of_regions(predictions, truth)
        return self._masks_of_detections(predictions, truth, windows)

    def _regions(
        self,
        proposals: Proposals,
        truth: GroundTruth | None,
        shape: tuple[Side, Side],
        *,
        training: bool,
    ) -> Regions:
        if truth is None and training and self._second.sampler is not None:
            raise HoldfastError(
                "A two-stage detector samples its regions by the ground truth to train.",
                fix="Call it with truth=..., or with training=False.",
            )
        if truth is None:
            return Regions(proposals.boxes, proposals.count, None)
        true_boxes = to_pixels(truth.boxes, *shape)
        if not training:
            targets = self._second.assign(proposals.boxes, truth, true_boxes)
            return Regions(proposals.boxes, proposals.count, targets)
        seeds = seeds_at(current_seeds(ops.shape(proposals.boxes)[0]), "regions")
        return self._second.sample(proposals, truth, true_boxes, seeds)

    def _second_stage(
        self, predictions: TwoStagePredictions, regions: Regions, *, training: bool
    ) -> TwoStagePredictions:
        boxes = from_pixels(regions.boxes, *predictions.sides)
        features = self._region_features(predictions, boxes, training=training)
        output = self.box_head(features, training=training)
        return predictions._replace(
            refined_box_encodings=ops.cast(output.box_encodings, "float32"),
            class_predictions_with_background=ops.cast(output.class_logits, "float32"),
            num_proposals=regions.count,
            proposal_boxes=to_pixels(boxes, *predictions.sides),
            proposal_boxes_normalized=boxes,
            final_anchors=boxes,
            box_classifier_features=features,
            targets=regions.targets,
        )

    def _masks_of_regions(
        self, predictions: TwoStagePredictions, truth: GroundTruth | None
    ) -> TwoStagePredictions:
        logits = self.mask_head(predictions.box_classifier_features, training=True)
        return predictions._replace(
            mask_predictions=ops.cast(logits, "float32"),
            mask_targets=self._mask_targets(predictions, predictions.regions, truth),
        )

    def _masks_of_detections(
        self, predictions: TwoStagePredictions, truth: GroundTruth | None, windows: Tensor
    ) -> TwoStagePredictions:
        found = self.detections(predictions, windows)
        # A detection is normalized to the true image, a feature map shows the padded one.
        pixels = found.boxes * frames_of(windows)
        boxes = from_pixels(pixels, *predictions.sides)
        features = self._region_features(predictions, boxes, training=False)
        logits = ops.cast(self.mask_head(features, training=False), "float32")
        shape = (*ops.shape(found.classes), *logits.shape[2:])
        masks = ops.sigmoid(ops.reshape(of_class(logits, found.classes), shape))
        regions = Regions(pixels, found.count, None)
        if truth is not None and has_masks(truth):
            true_boxes = to_pixels(truth.boxes, *predictions.sides)
            regions = regions._replace(targets=self._second.assign(pixels, truth, true_boxes))
        return predictions._replace(
            mask_predictions=logits,
            detections=found._replace(masks=masks),
            mask_targets=self._mask_targets(predictions, regions, truth),
        )

    def _mask_targets(
        self, predictions: TwoStagePredictions, regions: Regions, truth: GroundTruth | None
    ) -> MaskTargets | None:
        masks = self.settings.masks
        if masks is None or truth is None or regions.targets is None:
            return None
        height, width = predictions.sides
        boxes = from_pixels(regions.boxes, height, width)
        return masks.targets(boxes, regions.targets, regions.is_region, truth, width)

    def _region_features(
        self, predictions: TwoStagePredictions, boxes: Tensor, *, training: bool
    ) -> Tensor:
        """Cut normalized boxes (B, P, 4) out of the maps, and look closer: (R, h, w, channels)."""
        height, width = predictions.sides
        with keras.name_scope(_SCOPE):
            crops = crop_regions(
                predictions.rpn_features_to_crop,
                boxes,
                size=self.settings.crop_size,
                height=height,
                width=width,
            )
        return self.look_closer(crops, training=training)

    def look_closer(self, crops: Tensor, *, training: bool) -> Tensor:
        """Pool crops (R, size, size, C), and run the second part of the network on them."""
        settings = self.settings
        with keras.name_scope(_SCOPE):
            pooled = pool_regions(
                crops, kernel_size=settings.pool_kernel_size, stride=settings.pool_stride
            )
        return self.region_extractor(pooled, training=training)

    def detections(self, predictions: TwoStagePredictions, windows: Tensor) -> Detections:
        """Choose the detections among the regions; windows (B, 4): the true images, in pixels."""
        return self._second.detections(
            predictions.refined_box_encodings,
            predictions.class_predictions_with_background,
            predictions.regions,
            windows,
        )

    @property
    def _second(self) -> SecondStage:
        if self.settings.second is None:
            raise HoldfastError(
                "The detector has one stage: it has proposals, and no classes.",
                fix="Set number_of_stages: 2.",
            )
        return self.settings.second


def frames_of(windows: Tensor) -> Tensor:
    """Give what boxes normalized to the windows (B, 4) are multiplied with, (B, 1, 4)."""
    return ops.concatenate([windows[:, 2:], windows[:, 2:]], axis=-1)[:, None, :]
