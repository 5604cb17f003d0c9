"""Two-stage detectors: Faster R-CNN and Mask R-CNN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.geometry.anchors import Side
from holdfast.geometry.boxes import to_pixels, true_image_windows
from holdfast.geometry.chance import image_seeds, seeds_at
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.detector_model import DetectorModel
from holdfast.models.detectors.input_sides import divided, pad_to_multiple, sides
from holdfast.models.detectors.learning_signs import LearningSigns
from holdfast.models.detectors.place_losses import PlaceLosses
from holdfast.models.detectors.two_stage import first_stage, mask_stage, second_stage
from holdfast.models.detectors.two_stage.first_stage import (
    LaidAnchors,
    Proposals,
    ProposalTargets,
)
from holdfast.models.detectors.two_stage.later_stages import LaterStages, frames_of
from holdfast.models.detectors.two_stage.two_stage_network import TwoStageNetwork
from holdfast.models.detectors.two_stage.two_stage_predictions import TwoStagePredictions
from holdfast.models.detectors.two_stage.two_stage_settings import TwoStageSettings
from holdfast.models.inference.detections import Detections

# B images, A anchors, P regions an image, R = B * P, G ground-truth boxes (padded with weight 0)


class TwoStageDetector(DetectorModel):
    """Proposals on a grid of anchors, then classes, boxes and masks of the regions proposed."""

    def __init__(
        self, network: TwoStageNetwork, settings: TwoStageSettings, **keywords: Any
    ) -> None:
        super().__init__(
            num_classes=settings.num_classes,
            preprocessing=settings.preprocessing,
            legacy=network.legacy,
            **keywords,
        )
        self.backbone = network.backbone
        self.proposal_head = network.proposal_head
        self.region_extractor = network.region_extractor
        self.box_head = network.box_head
        self.mask_head: Any = network.mask_head  # None without masks
        self.settings = settings
        self._later = LaterStages(
            settings=settings,
            region_extractor=network.region_extractor,
            box_head=network.box_head,
            mask_head=network.mask_head,
        )

    # Without it Keras traces the call once more before the first one.
    def build(self, input_shape: Any) -> None:
        pass

    def build_parts(self, height: int, width: int) -> None:
        """Make the weights, for an input of a size."""
        # Under the detector's name, as a call would make them.
        with keras.name_scope(self.name, caller=self):
            inputs = keras.KerasTensor((1, height, width, 3), "float32")
            maps = self.backbone(pad_to_multiple(inputs, self.settings.pad_to_multiple))
            self.proposal_head(maps)
            if self.settings.second is None:
                return
            size = self.settings.crop_size
            crops = keras.KerasTensor((1, size, size, maps[0].shape[-1]), maps[0].dtype)
            features = self._later.look_closer(crops, training=False)
            self.box_head(features)
            if self.settings.masks is not None:
                self.mask_head(features)

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
    def region_chunks(self) -> int:
        """In how many chunks the later stages look at the regions, one after the other."""
        return self._later.chunks

    @region_chunks.setter
    def region_chunks(self, count: int) -> None:
        self._later.chunks = count

    @property
    def most_region_chunks(self) -> int:
        """In how many chunks they can do so without a change of the numbers."""
        return self._later.most_chunks

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
        return self._later.predict(predictions, proposals, truth, windows, training=training)

    def _proposals(self, predictions: TwoStagePredictions, windows: Tensor) -> Proposals:
        return self.settings.first.propose(
            predictions.rpn_box_encodings,
            predictions.rpn_objectness_predictions_with_background,
            predictions.anchors,
            windows,
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

    def learning_from(
        self, predictions: TwoStagePredictions, truth: GroundTruth
    ) -> TwoStagePredictions:
        """Let the same regions learn from another ground truth, which has no masks."""
        second = self.settings.second
        if second is None:
            return predictions
        true_boxes = to_pixels(truth.boxes, *predictions.sides)
        targets = second.assign(predictions.regions.boxes, truth, true_boxes)
        return predictions._replace(targets=targets, mask_targets=None)

    def signs(
        self, predictions: TwoStagePredictions, prepared: ProposalTargets, truth: GroundTruth
    ) -> LearningSigns:
        """Give what the regions say beside what they learn; of one stage, what the anchors do."""
        first = self.settings.first.signs(
            predictions.rpn_objectness_predictions_with_background, prepared
        )
        if self.settings.second is None:
            return first
        second = self.settings.second.signs(
            predictions.class_predictions_with_background, predictions.regions
        )
        return second._replace(proposal_share=first.proposal_share)

    def place_losses(
        self,
        predictions: TwoStagePredictions,
        prepared: ProposalTargets,
        normalizers: Mapping[str, Tensor],
    ) -> dict[str, PlaceLosses]:
        """Give what each anchor and each region adds to the loss terms, except to masks'."""
        height, width = predictions.sides
        sizes = ops.cast(ops.stack([height, width, height, width]), "float32")
        by_anchor = self.settings.first.by_anchor(
            predictions.rpn_box_encodings,
            predictions.rpn_objectness_predictions_with_background,
            prepared,
            normalizers,
        )
        anchors = predictions.anchors / sizes
        places = {name: PlaceLosses(each, anchors) for name, each in by_anchor.items()}
        if self.settings.second is None:
            return places
        by_region = self.settings.second.by_region(
            predictions.refined_box_encodings,
            predictions.class_predictions_with_background,
            predictions.regions,
            prepared.image_weights,
            normalizers,
        )
        boxes = predictions.regions.boxes / sizes
        return places | {name: PlaceLosses(each, boxes) for name, each in by_region.items()}

    def detections(self, predictions: TwoStagePredictions, sizes: Tensor) -> Detections:
        """Choose the detections; boxes are normalized to the true image."""
        if predictions.detections is not None:
            return predictions.detections
        windows = _windows(predictions.preprocessed_inputs, sizes)
        if self.settings.second is not None:
            return self._later.detections(predictions, windows)
        proposals = self._proposals(predictions, windows)
        classes = ops.zeros_like(proposals.scores, dtype="int32")
        boxes = proposals.boxes / frames_of(windows)
        return Detections(boxes, proposals.scores, classes, proposals.count)

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


def _kept(rows: Tensor, laid: LaidAnchors) -> Tensor:
    """Leave out what was predicted for anchors that take no part."""
    rows = ops.cast(rows, "float32")
    return rows if laid.kept is None else ops.take(rows, laid.kept, axis=1)


def _windows(inputs: Tensor, sizes: Tensor | None) -> Tensor:
    """Give the part of the inputs that is image, float32 (B, 4) in pixels."""
    if sizes is None:
        sizes = ops.tile(ops.stack(ops.shape(inputs)[1:])[None, :], (ops.shape(inputs)[0], 1))
    return true_image_windows(sizes, 1, 1)
