"""Two-stage detectors: Faster R-CNN and Mask R-CNN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras
from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.errors import HoldfastError
from holdfast.geometry.anchors import Side
from holdfast.geometry.boxes import from_pixels, to_pixels, true_image_windows
from holdfast.geometry.chance import image_seeds, seeds_at
from holdfast.geometry.regions import crop_regions, pool_regions
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.input_sides import divided, pad_to_multiple, sides
from holdfast.models.detectors.two_stage import first_stage, mask_stage, second_stage
from holdfast.models.detectors.two_stage.first_stage import (
    FirstStage,
    LaidAnchors,
    Proposals,
    ProposalTargets,
)
from holdfast.models.detectors.two_stage.mask_stage import MaskStage, MaskTargets, has_masks
from holdfast.models.detectors.two_stage.second_stage import Regions, SecondStage, of_class
from holdfast.models.detectors.two_stage.two_stage_network import TwoStageNetwork
from holdfast.models.detectors.two_stage.two_stage_predictions import TwoStagePredictions
from holdfast.models.inference.detections import Detections
from holdfast.models.inference.preprocessing import Preprocessing
from holdfast.models.layers.randomness import current_seeds
from holdfast.models.part_names import LegacyNames

# B images, A anchors, P regions an image, R = B * P, G ground-truth boxes (padded with weight 0)


@dataclass(frozen=True, kw_only=True)
class TwoStageSettings:
    """How proposals, regions, masks and detections of a two-stage detector are made."""

    num_classes: int
    preprocessing: Preprocessing
    first: FirstStage
    second: SecondStage | None  # None: proposals are all there is
    masks: MaskStage | None = None
    crop_size: int = 14
    pool_kernel_size: int = 2
    pool_stride: int = 2
    pad_to_multiple: int = 1  # the network pads its input at the bottom and right


class TwoStageDetector(keras.Model):
    """Proposals on a grid of anchors, then classes, boxes and masks of the regions proposed."""

    def __init__(
        self, network: TwoStageNetwork, settings: TwoStageSettings, **keywords: Any
    ) -> None:
        # Boxes of the ground truth must not become float16 on the way in.
        super().__init__(autocast=False, **keywords)
        self.backbone = network.backbone
        self.proposal_head = network.proposal_head
        self.region_extractor = network.region_extractor
        self.box_head = network.box_head
        self.mask_head: Any = network.mask_head  # None without masks
        self.settings = settings
        self._legacy = network.legacy

    # Without it Keras traces the call once more before the first one.
    def build(self, input_shape: Any) -> None:
        pass

    def build_parts(self, height: int, width: int) -> None:
        """Make the weights, for an input of a size."""
        inputs = keras.KerasTensor((1, height, width, 3), "float32")
        maps = self.backbone(pad_to_multiple(inputs, self.settings.pad_to_multiple))
        self.proposal_head(maps)
        if self.settings.second is None:
            return
        size = self.settings.crop_size
        crops = keras.KerasTensor((1, size, size, maps[0].shape[-1]), maps[0].dtype)
        features = self.region_extractor(self._pooled(crops))
        self.box_head(features)
        if self.settings.masks is not None:
            self.mask_head(features)

    @property
    def num_classes(self) -> int:
        """Classes, without background."""
        return self.settings.num_classes

    @property
    def truth_fields(self) -> frozenset[str]:
        """The fields of GroundTruth beyond boxes, classes and weights that it learns from."""
        return frozenset({"masks"} if self.settings.masks is not None else ())

    def parts(self) -> Mapping[str, keras.layers.Layer]:
        """Give the parts by name, in the order in which an image passes them."""
        named: dict[str, keras.layers.Layer]
        named = {"backbone": self.backbone, "proposal_head": self.proposal_head}
        if self.settings.second is not None:
            named |= {"region_extractor": self.region_extractor, "box_head": self.box_head}
        if self.settings.masks is not None:
            named |= {"mask_head": self.mask_head}
        return named

    @property
    def legacy(self) -> LegacyNames:
        """What the OD API called the parts."""
        return self._legacy

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
        prepared: ProposalTargets | None = None,
        training: bool = False,
    ) -> TwoStagePredictions:
        """Predict; with truth, what the regions have to learn travels along.

        In training, the second stage looks at a sample of the proposals, which needs the truth.
        sizes None: all of the input is image.
        """
        settings = self.settings
        padded = pad_to_multiple(inputs, settings.pad_to_multiple)
        maps = tuple(self.backbone(padded, training=training))
        proposed = self.proposal_head(maps, training=training)
        laid = self.anchors(*sides(inputs), training=training)
        predictions = TwoStagePredictions(
            rpn_box_encodings=_kept(proposed.box_encodings, laid),
            rpn_objectness_predictions_with_background=_kept(proposed.objectness_logits, laid),
            anchors=ops.convert_to_tensor(laid.boxes),
            rpn_box_predictor_features=tuple(proposed.features),
            rpn_features_to_crop=maps,
            feature_maps=maps,
            preprocessed_inputs=inputs,
            image_shape=ops.convert_to_tensor(ops.shape(inputs), "int32"),
        )
        if settings.second is None:
            return predictions
        windows = _windows(inputs, sizes)
        proposals = self._proposals(predictions, windows)
        regions = self._regions(proposals, truth, sides(inputs), training=training)
        predictions = self._second_stage(predictions, regions, training=training)
        if settings.masks is None:
            return predictions
        if training:
            return self._masks_of_regions(predictions, truth)
        return self._masks_of_detections(predictions, truth, windows)

    def _proposals(self, predictions: TwoStagePredictions, windows: Tensor) -> Proposals:
        return self.settings.first.propose(
            predictions.rpn_box_encodings,
            predictions.rpn_objectness_predictions_with_background,
            predictions.anchors,
            windows,
        )

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
        found = self._found(predictions, windows)
        # A detection is normalized to the true image, a feature map shows the padded one.
        pixels = found.boxes * _frames(windows)
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
        crops = crop_regions(
            predictions.rpn_features_to_crop,
            boxes,
            size=self.settings.crop_size,
            height=height,
            width=width,
        )
        return self.region_extractor(self._pooled(crops), training=training)

    def _pooled(self, crops: Tensor) -> Tensor:
        settings = self.settings
        return pool_regions(
            crops, kernel_size=settings.pool_kernel_size, stride=settings.pool_stride
        )

    def prepare(
        self,
        truth: GroundTruth,
        sizes: Tensor,
        shape: tuple[Tensor, Tensor],
        seeds: Tensor | None = None,
    ) -> ProposalTargets:
        """Say what each anchor on inputs of a shape (height, width) has to learn in training."""
        laid = self.anchors(*shape, training=True)
        return self._proposal_targets(laid.boxes, truth, shape, seeds)

    def targets(
        self, truth: GroundTruth, sizes: Tensor, predictions: TwoStagePredictions
    ) -> ProposalTargets:
        """Say what each anchor has to learn; what regions learn is in the predictions."""
        return self._proposal_targets(predictions.anchors, truth, predictions.sides, None)

    def _proposal_targets(
        self,
        anchors: Tensor,
        truth: GroundTruth,
        shape: tuple[Tensor, Tensor],
        seeds: Tensor | None,
    ) -> ProposalTargets:
        if seeds is None:
            seeds = image_seeds(0, ops.arange(ops.shape(truth.weights)[0]))
        true_boxes = to_pixels(truth.boxes, *shape)
        return self.settings.first.targets(anchors, truth, true_boxes, seeds_at(seeds, "anchors"))

    def normalizers(self, prepared: ProposalTargets) -> dict[str, Tensor]:
        """Count the images that each loss term is averaged over; it adds up over batches."""
        names = [first_stage.LOCALIZATION, first_stage.OBJECTNESS]
        if self.settings.second is not None:
            names += [second_stage.LOCALIZATION, second_stage.CLASSIFICATION]
        counts = dict.fromkeys(names, ops.sum(prepared.image_weights))
        if self.settings.masks is not None:
            counts[mask_stage.MASK] = ops.sum(prepared.object_weights)
        return counts

    def terms(
        self,
        predictions: TwoStagePredictions,
        prepared: ProposalTargets,
        normalizers: Mapping[str, Tensor],
    ) -> dict[str, Tensor]:
        """Give the loss terms, one for each normalizer; the terms of a batch's parts add up."""
        settings, image_weights = self.settings, prepared.image_weights
        terms = settings.first.terms(
            predictions.rpn_box_encodings,
            predictions.rpn_objectness_predictions_with_background,
            prepared,
            normalizers,
        )
        if settings.second is not None:
            terms |= settings.second.terms(
                predictions.refined_box_encodings,
                predictions.class_predictions_with_background,
                predictions.regions,
                image_weights,
                normalizers,
            )
        if settings.masks is not None and predictions.mask_targets is not None:
            terms |= settings.masks.terms(
                predictions.mask_predictions, predictions.mask_targets, image_weights, normalizers
            )
        return terms

    def loss_terms(
        self, predictions: TwoStagePredictions, targets: ProposalTargets
    ) -> dict[str, Tensor]:
        """Give the loss terms of a whole batch, without regularization."""
        return self.terms(predictions, targets, self.normalizers(targets))

    def regularization_loss(self) -> Tensor:
        """Sum the penalties on kernels."""
        return sum(self.losses, start=ops.zeros(()))

    def detections(self, predictions: TwoStagePredictions, sizes: Tensor) -> Detections:
        """Choose the detections; boxes are normalized to the true image."""
        if predictions.detections is not None:
            return predictions.detections
        windows = _windows(predictions.preprocessed_inputs, sizes)
        if self.settings.second is not None:
            return self._found(predictions, windows)
        proposals = self._proposals(predictions, windows)
        classes = ops.zeros_like(proposals.scores, dtype="int32")
        boxes = proposals.boxes / _frames(windows)
        return Detections(boxes, proposals.scores, classes, proposals.count)

    def _found(self, predictions: TwoStagePredictions, windows: Tensor) -> Detections:
        return self._second.detections(
            predictions.refined_box_encodings,
            predictions.class_predictions_with_background,
            predictions.regions,
            windows,
        )

    def anchors(self, height: Side, width: Side, *, training: bool) -> LaidAnchors:
        """Lay the anchors on an input of a size, in its pixels.

        They need no network: the maps of its features have the input's size over their strides.
        """
        multiple = self.settings.pad_to_multiple
        padded = [divided(side, multiple) * multiple for side in (height, width)]
        shapes = [
            (divided(padded[0], feature.stride), divided(padded[1], feature.stride))
            for feature in self.backbone.features
        ]
        return self.settings.first.lay_anchors(shapes, height, width, training=training)

    @property
    def _second(self) -> SecondStage:
        if self.settings.second is None:
            raise HoldfastError(
                "The detector has one stage: it has proposals, and no classes.",
                fix="Set number_of_stages: 2.",
            )
        return self.settings.second


def _kept(rows: Tensor, laid: LaidAnchors) -> Tensor:
    """Leave out what was predicted for anchors that take no part."""
    rows = ops.cast(rows, "float32")
    return rows if laid.kept is None else ops.take(rows, laid.kept, axis=1)


def _windows(inputs: Tensor, sizes: Tensor | None) -> Tensor:
    """Give the part of the inputs that is image, float32 (B, 4) in pixels."""
    if sizes is None:
        sizes = ops.tile(ops.stack(ops.shape(inputs)[1:])[None, :], (ops.shape(inputs)[0], 1))
    return true_image_windows(sizes, 1, 1)


def _frames(windows: Tensor) -> Tensor:
    """Give what boxes normalized to the windows (B, 4) are multiplied with, (B, 1, 4)."""
    return ops.concatenate([windows[:, 2:], windows[:, 2:]], axis=-1)[:, None, :]
