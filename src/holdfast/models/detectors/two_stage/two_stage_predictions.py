"""What a two-stage detector predicts, by the names of the OD API."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.geometry.anchors import Side
from holdfast.geometry.targets import Targets
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.input_sides import sides
from holdfast.models.detectors.two_stage.mask_stage import MaskTargets
from holdfast.models.detectors.two_stage.second_stage import Regions
from holdfast.models.inference.detections import Detections

# B images, A anchors, P regions an image, R = B * P, C classes, (h, w) cells of a mask


class TwoStagePredictions(NamedTuple):
    """What the network says about every anchor, and about every region that it looked at.

    None stands for what a detector of fewer stages has not. In training, masks are those of the
    regions; else those of the detections, which are chosen on the way.
    """

    rpn_box_encodings: Tensor  # float32 (B, A, 4)
    rpn_objectness_predictions_with_background: Tensor  # float32 (B, A, 2) logits
    anchors: Tensor  # float32 (A, 4) in pixels
    rpn_box_predictor_features: tuple[Tensor, ...]  # (B, h, w, depth), finest first
    rpn_features_to_crop: tuple[Tensor, ...]  # (B, h, w, channels), finest first
    feature_maps: tuple[Tensor, ...]  # the same
    preprocessed_inputs: Tensor  # float32 (B, H, W, 3)
    image_shape: Tensor  # int32 (4,)  of the inputs
    refined_box_encodings: Tensor = None  # float32 (R, C or 1, 4)
    class_predictions_with_background: Tensor = None  # float32 (R, C + 1) logits
    num_proposals: Tensor = None  # int32 (B,)
    proposal_boxes: Tensor = None  # float32 (B, P, 4) in pixels
    proposal_boxes_normalized: Tensor = None  # float32 (B, P, 4) normalized to the input
    final_anchors: Tensor = None  # the same
    box_classifier_features: Tensor = None  # (R, h, w, channels); None for regions in chunks
    mask_predictions: Tensor = None  # float32 (R, C or 1, h, w) logits
    detections: Detections | None = None
    targets: Targets | None = None  # what the regions learn, where there is truth
    mask_targets: MaskTargets | None = None

    @property
    def sides(self) -> tuple[Side, Side]:
        """Height and width of the inputs."""
        return sides(self.preprocessed_inputs)

    @property
    def regions(self) -> Regions:
        """The regions that the second stage looked at."""
        return Regions(self.proposal_boxes, self.num_proposals, self.targets)
