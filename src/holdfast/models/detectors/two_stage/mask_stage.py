"""The third stage: the masks of regions, and what they learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.errors import HoldfastError
from holdfast.geometry.mask_crops import crop_masks
from holdfast.geometry.matching import MatchState
from holdfast.geometry.targets import Targets
from holdfast.geometry.tensor import Tensor
from holdfast.losses.classification import sigmoid
from holdfast.models.detectors.two_stage.second_stage import of_class

# B images, P regions an image, R = B * P, C classes, (h, w) cells of a mask

MASK = "Loss/BoxClassifierLoss/mask_loss"


class MaskTargets(NamedTuple):
    """What the mask of each region learns."""

    masks: Tensor  # float32 (B, P, h, w)  0..1, in the frame of the region
    classes: Tensor  # int32 (B, P)  whose mask is compared
    weights: Tensor  # float32 (B, P)  0 where there is no object


@dataclass(frozen=True, kw_only=True)
class MaskStage:
    """How the masks of regions are taught."""

    size: tuple[int, int]  # height, width
    weight: float = 1.0

    def targets(
        self,
        boxes: Tensor,
        assigned: Targets,
        is_region: Tensor,
        truth: GroundTruth,
        width: Tensor,
    ) -> MaskTargets:
        """Cut the masks of the objects to the normalized regions (B, P, 4) assigned to them."""
        if not has_masks(truth):
            raise HoldfastError(
                "The ground truth has no masks, and the detector learns them.",
                fix="Set load_instance_masks: true in the input reader, or number_of_stages: 2.",
            )
        stored = truth.masks if truth.mask_bits is None else truth.mask_bits
        is_positive = assigned.matches.state == int(MatchState.POSITIVE)
        index = ops.where(is_positive, assigned.matches.box_index, 0)
        if stored.shape[1] == 0:
            masks = ops.zeros((*ops.shape(index), *self.size))
        else:
            are_bits = truth.mask_bits is not None
            masks = crop_masks(stored, index, boxes, size=self.size, width=width, are_bits=are_bits)
        return MaskTargets(
            masks=ops.stop_gradient(masks),
            classes=assigned.classes,
            weights=assigned.box_weights * ops.cast(is_region, "float32"),
        )

    def terms(
        self,
        logits: Tensor,
        targets: MaskTargets,
        image_weights: Tensor,
        normalizers: Mapping[str, Tensor],
    ) -> dict[str, Tensor]:
        """Average logits (R, C or 1, h, w) over the cells of each image's masks, then over images.

        The OD API averages over the masks of all images at once. How many those are shows only
        when the network has run, too late for a batch that is computed in parts.
        """
        cells = self.size[0] * self.size[1]
        shape = (*ops.shape(targets.classes), cells)
        own = ops.reshape(of_class(logits, targets.classes), shape)
        losses = sigmoid(own, ops.reshape(targets.masks, shape), targets.weights)  # (B, P)
        counted = ops.maximum(ops.sum(targets.weights, axis=1) * cells, 1.0)
        averages = ops.sum(losses, axis=1) / counted * image_weights  # (B,)
        return {MASK: self.weight * ops.sum(averages) / ops.maximum(normalizers[MASK], 1.0)}


def has_masks(truth: GroundTruth) -> bool:
    """Tell whether the objects have masks, in either form."""
    return truth.masks is not None or truth.mask_bits is not None
