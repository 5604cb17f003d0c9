"""The first stage: anchors, what they learn, and the proposals that become of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.geometry.anchors import AnchorLayer, Shape, Side
from holdfast.geometry.boxes import clip_to_window, corners
from holdfast.geometry.matching import MatchState
from holdfast.geometry.sampling import SeededSampler
from holdfast.geometry.targets import BACKGROUND, AnchorAssigner
from holdfast.geometry.tensor import Tensor
from holdfast.losses.classification import softmax
from holdfast.losses.localization import smooth_l1
from holdfast.models.detectors.learning_signs import LearningSigns
from holdfast.models.inference.detections import Suppression

# B images, A anchors, P proposals an image; boxes are in pixels of the padded input

LOCALIZATION = "Loss/RPNLoss/localization_loss"
OBJECTNESS = "Loss/RPNLoss/objectness_loss"


class ProposalTargets(NamedTuple):
    """What the sampled anchors learn."""

    is_object: Tensor  # int32 (B, A)  1 where an object is, else 0: the column of the logits
    objectness_weights: Tensor  # float32 (B, A)  1 where sampled, else 0
    box_targets: Tensor  # float32 (B, A, 4)
    box_weights: Tensor  # float32 (B, A)  0 where not sampled
    image_weights: Tensor  # float32 (B,)  1 for an image that counts, in all stages
    object_weights: Tensor  # float32 (B,)  1 for an image that counts and has objects


class Proposals(NamedTuple):
    """Where objects may be, by falling score; zeros behind the last."""

    boxes: Tensor  # float32 (B, P, 4)
    scores: Tensor  # float32 (B, P)
    count: Tensor  # int32 (B,)


class LaidAnchors(NamedTuple):
    """The anchors that take part, and which of all they are."""

    boxes: Tensor  # float32 (A, 4)
    kept: Tensor | None  # int32 (A,)  None: all do


@dataclass(frozen=True, kw_only=True)
class FirstStage:
    """How anchors are laid, taught and turned into proposals.

    suppression: in pixels, so without a change of frame. clips_anchors: anchors that cross the
    border are clipped in training, too; otherwise they take no part in it.
    """

    anchor_generator: AnchorLayer
    assigner: AnchorAssigner
    suppression: Suppression
    sampler: SeededSampler
    minibatch_size: int = 256
    clips_anchors: bool = False
    localization_weight: float = 1.0
    objectness_weight: float = 1.0

    def lay_anchors(
        self, shapes: Sequence[Shape], height: Side, width: Side, *, training: bool
    ) -> LaidAnchors:
        """Lay anchors on feature maps of these shapes, for an input of this height and width."""
        # Anchors in pixels know no image: an image of one pixel stands for that.
        laid = self.anchor_generator.anchors(shapes, 1, 1)
        library = ops if ops.is_tensor(laid[0]) else np
        boxes = library.concatenate(laid)
        window = ops.cast(ops.stack([0, 0, height, width]), "float32")
        if training and not self.clips_anchors:
            y_min, x_min, y_max, x_max = corners(boxes)
            bottom, right = (window[2], window[3]) if library is ops else (height, width)
            is_inside = (y_min >= 0) & (x_min >= 0) & (y_max <= bottom) & (x_max <= right)
            (kept,) = library.nonzero(is_inside)
            return LaidAnchors(library.take(boxes, kept, axis=0), kept)
        return LaidAnchors(clip_to_window(ops.convert_to_tensor(boxes), window), None)

    def targets(
        self, anchors: Tensor, truth: GroundTruth, true_boxes: Tensor, seeds: Tensor
    ) -> ProposalTargets:
        """Sample anchors (A, 4) and say what they learn; true_boxes are the truth's, in pixels."""
        classes = ops.zeros_like(truth.classes)  # an object is an object
        assigned = self.assigner.assign(anchors, true_boxes, classes, truth.weights)
        is_positive = assigned.matches.state == int(MatchState.POSITIVE)
        is_drawn = self.sampler(seeds)(
            assigned.class_weights > 0.0, is_positive, self.minibatch_size
        )
        drawn = ops.reshape(ops.cast(is_drawn, "float32"), ops.shape(is_positive))
        return ProposalTargets(
            is_object=ops.cast(is_positive, "int32"),
            objectness_weights=drawn,
            box_targets=assigned.box_targets,
            box_weights=assigned.box_weights * drawn,
            image_weights=ops.ones((ops.shape(truth.weights)[0],)),
            object_weights=ops.cast(ops.any(truth.weights > 0.0, axis=1), "float32"),
        )

    def propose(self, codes: Tensor, logits: Tensor, anchors: Tensor, windows: Tensor) -> Proposals:
        """Choose among the boxes of codes (B, A, 4) by logits (B, A, 2).

        windows (B, 4): the true images, in pixels. No gradient passes.
        """
        boxes = ops.stop_gradient(self.assigner.coder.decode(codes, anchors))
        scores = ops.stop_gradient(ops.softmax(logits, axis=-1))[..., 1:]  # (B, A, 1)
        chosen = self.suppression.select(boxes, scores, windows)
        # Among anchors whose number is open, suppression forgets how many images there are.
        images, places = ops.shape(windows)[0], ops.shape(chosen.boxes)[1]
        return Proposals(
            boxes=ops.reshape(chosen.boxes, (images, places, 4)),
            scores=ops.reshape(chosen.scores, (images, places)),
            count=ops.reshape(chosen.count, (images,)),
        )

    def terms(
        self,
        codes: Tensor,
        logits: Tensor,
        targets: ProposalTargets,
        normalizers: Mapping[str, Tensor],
    ) -> dict[str, Tensor]:
        """Average each image's losses over its sample, and these over the images."""
        weighed, share = self._weighed(codes, logits, targets)
        return {
            name: ops.sum(ops.sum(losses, axis=1) * share) / ops.maximum(normalizers[name], 1.0)
            for name, losses in weighed.items()
        }

    def by_anchor(
        self,
        codes: Tensor,
        logits: Tensor,
        targets: ProposalTargets,
        normalizers: Mapping[str, Tensor],
    ) -> dict[str, Tensor]:
        """Give what each anchor adds to the loss terms, (B, A)."""
        weighed, share = self._weighed(codes, logits, targets)
        return {
            name: losses * share[:, None] / ops.maximum(normalizers[name], 1.0)
            for name, losses in weighed.items()
        }

    def _weighed(
        self, codes: Tensor, logits: Tensor, targets: ProposalTargets
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Give the losses of the anchors (B, A), and the share that one has in its image (B,)."""
        localization = smooth_l1(codes, targets.box_targets, targets.box_weights)
        objectness = softmax(logits, targets.is_object, targets.objectness_weights)
        sampled = ops.sum(targets.objectness_weights, axis=1)
        share = targets.image_weights / ops.maximum(sampled, 1.0)  # (B,)
        weighed = {
            LOCALIZATION: self.localization_weight * localization,
            OBJECTNESS: self.objectness_weight * objectness,
        }
        return weighed, share

    def signs(self, logits: Tensor, targets: ProposalTargets) -> LearningSigns:
        """Give what the sampled anchors say beside what they learn: an object is a class."""
        is_sampled = targets.objectness_weights > 0.0
        learned = ops.cast(targets.is_object, "float32") * targets.objectness_weights
        sampled = ops.sum(targets.objectness_weights, axis=1)
        return LearningSigns(
            scores=ops.softmax(logits, axis=-1)[..., 1:],
            classes=ops.where(targets.is_object > 0, 0, BACKGROUND),
            counts=is_sampled,
            box_index=None,
            proposal_share=ops.sum(learned, axis=1) / ops.maximum(sampled, 1.0),
        )
