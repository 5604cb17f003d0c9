"""The stages that look at regions: the second, and the third, for masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import keras
from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.errors import HoldfastError
from holdfast.geometry.anchors import Side
from holdfast.geometry.boxes import from_pixels, to_pixels
from holdfast.geometry.chance import seeds_at
from holdfast.geometry.regions import crop_regions, inside_border, pool_regions
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.two_stage.first_stage import Proposals
from holdfast.models.detectors.two_stage.mask_stage import MaskTargets, has_masks
from holdfast.models.detectors.two_stage.second_stage import Regions, SecondStage, of_class
from holdfast.models.detectors.two_stage.two_stage_predictions import TwoStagePredictions
from holdfast.models.detectors.two_stage.two_stage_settings import TwoStageSettings
from holdfast.models.inference.detections import Detections
from holdfast.models.layers.batch_norm import trains_batch_norm
from holdfast.models.layers.chunks import even_chunks, in_chunks, recomputed_in_chunks
from holdfast.models.layers.randomness import RegionChunk, current_seeds

# B images, P regions an image, R = B * P

_SCOPE = "regions"  # what is cut out is among the largest tensors: a plan names it


@dataclass(kw_only=True)
class LaterStages:
    """The parts that see regions, and what is done with them."""

    settings: TwoStageSettings
    region_extractor: Any
    box_head: Any
    mask_head: Any  # None without masks
    chunks: int = 1  # of the regions, one after the other; 1: all at once

    @property
    def most_chunks(self) -> int:
        """In how many chunks the regions can be looked at while the numbers stay the same.

        1 where batch norm sees the regions it trains on: it would see one chunk at a time.
        """
        second = self.settings.second
        parts = [self.region_extractor, self.box_head, self.mask_head]
        if second is None or any(part and trains_batch_norm(part) for part in parts):
            return 1
        every = self.settings.first.suppression.max_total_detections
        return every if second.sampler is None else second.batch_size

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
        # In training, masks are those of the same regions.
        heads = [self.box_head, *([self.mask_head] if training and self.settings.masks else [])]
        features, (output, *masks) = self._look(predictions, boxes, heads, training=training)
        return predictions._replace(
            refined_box_encodings=ops.cast(output.box_encodings, "float32"),
            class_predictions_with_background=ops.cast(output.class_logits, "float32"),
            num_proposals=regions.count,
            proposal_boxes=to_pixels(boxes, *predictions.sides),
            proposal_boxes_normalized=boxes,
            final_anchors=boxes,
            box_classifier_features=features,
            mask_predictions=ops.cast(masks[0], "float32") if masks else None,
            targets=regions.targets,
        )

    def _masks_of_regions(
        self, predictions: TwoStagePredictions, truth: GroundTruth | None
    ) -> TwoStagePredictions:
        targets = self._mask_targets(predictions, predictions.regions, truth)
        return predictions._replace(mask_targets=targets)

    def _masks_of_detections(
        self, predictions: TwoStagePredictions, truth: GroundTruth | None, windows: Tensor
    ) -> TwoStagePredictions:
        found = self.detections(predictions, windows)
        # A detection is normalized to the true image, a feature map shows the padded one.
        pixels = found.boxes * frames_of(windows)
        boxes = from_pixels(pixels, *predictions.sides)
        _, (logits,) = self._look(predictions, boxes, [self.mask_head], training=False)
        logits = ops.cast(logits, "float32")
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

    def _look(
        self,
        predictions: TwoStagePredictions,
        boxes: Tensor,
        heads: Sequence[Any],
        *,
        training: bool,
    ) -> tuple[Tensor | None, Sequence[Any]]:
        """Look at normalized boxes (B, P, 4): their features, and what heads say of them.

        The features of regions in chunks are None: nothing holds all of them.
        """
        maps, shape = predictions.rpn_features_to_crop, predictions.sides
        chunks = even_chunks(boxes.shape[1], self.chunks)
        if len(chunks) == 1:
            features = self._features(maps, boxes, shape, training=training)
            return features, [head(features, training=training) for head in heads]

        def look(seen: Sequence[Tensor], chunk: RegionChunk) -> list[Any]:
            own = ops.stop_gradient(boxes[:, chunk.start : chunk.end])
            features = self._features(seen, own, shape, training=training)
            return [head(features, training=training) for head in heads]

        if not training:
            return None, in_chunks(look, maps, chunks)
        variables = [
            variable.value
            for part in (self.region_extractor, *heads)
            for variable in part.trainable_variables
        ]
        return None, recomputed_in_chunks(look, maps, chunks, variables)

    def _features(
        self, maps: Sequence[Tensor], boxes: Tensor, shape: tuple[Side, Side], *, training: bool
    ) -> Tensor:
        """Cut normalized boxes (B, P, 4) out of the maps, and look closer: (R, h, w, channels)."""
        with keras.name_scope(_SCOPE):
            seen = boxes if training else inside_border(boxes)
            crops = crop_regions(
                maps, seen, size=self.settings.crop_size, height=shape[0], width=shape[1]
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
