"""The second stage: the regions that are looked at, what they learn, and the detections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.geometry.gather import rows_at
from holdfast.geometry.matching import Matches
from holdfast.geometry.sampling import SeededSampler, drawn_places
from holdfast.geometry.targets import BACKGROUND, AnchorAssigner, Targets, target_columns
from holdfast.geometry.tensor import Tensor
from holdfast.losses.localization import smooth_l1
from holdfast.losses.mining import HardMiner
from holdfast.models.detectors.learning_signs import LearningSigns
from holdfast.models.detectors.two_stage.first_stage import Proposals
from holdfast.models.inference.detections import Detections, Suppression
from holdfast.models.inference.scores import ScoreConversion

# B images, P regions an image, R = B * P, C classes; boxes are in pixels of the padded input
RegionLoss = Callable[[Tensor, Tensor, Tensor], Tensor]  # predictions, targets, weights -> (B, P)

LOCALIZATION = "Loss/BoxClassifierLoss/localization_loss"
CLASSIFICATION = "Loss/BoxClassifierLoss/classification_loss"


class Regions(NamedTuple):
    """What the second stage looks at; zeros behind the last of an image."""

    boxes: Tensor  # float32 (B, P, 4)
    count: Tensor  # int32 (B,)
    targets: Targets | None  # of each region; None where there is nothing to learn

    @property
    def is_region(self) -> Tensor:
        """Tell regions from the empty places behind them, bool (B, P)."""
        places = ops.arange(ops.shape(self.boxes)[1], dtype="int32")
        return places < self.count[:, None]


@dataclass(frozen=True, kw_only=True)
class SecondStage:
    """How proposals are sampled, taught and turned into detections.

    sampler: None where all proposals are trained and the miner chooses among them. keeps_size: an
    image with too few proposals repeats its first until there are batch_size, as the OD API does
    with static shapes; otherwise the places stay empty.
    """

    assigner: AnchorAssigner
    classification: RegionLoss
    score_converter: ScoreConversion
    suppression: Suppression
    sampler: SeededSampler | None
    batch_size: int = 64
    keeps_size: bool = False
    localization_weight: float = 1.0
    classification_weight: float = 1.0
    miner: HardMiner | None = None

    def assign(self, boxes: Tensor, truth: GroundTruth, true_boxes: Tensor) -> Targets:
        """Say what regions (B, P, 4) learn; true_boxes are the truth's, in pixels."""
        return self.assigner.assign(boxes, true_boxes, truth.classes, truth.weights)

    def sample(
        self, proposals: Proposals, truth: GroundTruth, true_boxes: Tensor, seeds: Tensor
    ) -> Regions:
        """Choose the proposals to train on, with what they learn."""
        targets = self.assign(proposals.boxes, truth, true_boxes)
        every = Regions(proposals.boxes, proposals.count, targets)
        if self.sampler is None:
            return every
        candidates = ops.logical_and(every.is_region, targets.class_weights > 0.0)
        is_positive = targets.classes != BACKGROUND
        is_drawn = self.sampler(seeds)(candidates, is_positive, self.batch_size)
        is_drawn = ops.reshape(ops.cast(is_drawn, "bool"), ops.shape(candidates))
        places, count = drawn_places(is_drawn, self.batch_size)
        if self.keeps_size:
            count = ops.full_like(count, self.batch_size)
        boxes = rows_at(proposals.boxes, places)
        sampled = Regions(boxes, count, _targets_at(targets, places))
        return sampled._replace(boxes=ops.where(sampled.is_region[..., None], boxes, 0.0))

    def terms(
        self,
        codes: Tensor,
        logits: Tensor,
        regions: Regions,
        image_weights: Tensor,
        normalizers: Mapping[str, Tensor],
    ) -> dict[str, Tensor]:
        """Average each image's losses over its regions, and these over the images.

        codes (R, C or 1, 4), logits (R, C + 1); image_weights (B,).
        """
        weighed = self._weighed(codes, logits, regions, image_weights)
        return {
            name: weight * ops.sum(losses) / ops.maximum(normalizers[name], 1.0)
            for name, (weight, losses) in weighed.items()
        }

    def by_region(
        self,
        codes: Tensor,
        logits: Tensor,
        regions: Regions,
        image_weights: Tensor,
        normalizers: Mapping[str, Tensor],
    ) -> dict[str, Tensor]:
        """Give what each region adds to the loss terms, (B, P)."""
        weighed = self._weighed(codes, logits, regions, image_weights)
        return {
            name: weight * losses / ops.maximum(normalizers[name], 1.0)
            for name, (weight, losses) in weighed.items()
        }

    def _weighed(
        self, codes: Tensor, logits: Tensor, regions: Regions, image_weights: Tensor
    ) -> dict[str, tuple[float, Tensor]]:
        """Give the losses of the regions (B, P), and the weight of each term."""
        targets = regions.targets
        assert targets is not None
        shape = ops.shape(targets.classes)
        columns = target_columns(
            targets.classes, has_background_column=True, background_as_zeros=False
        )
        logits = ops.reshape(logits, (*shape, logits.shape[-1]))
        classification = self.classification(logits, columns, targets.class_weights)
        own_codes = ops.reshape(of_class(codes, targets.classes), (*shape, 4))
        localization = smooth_l1(own_codes, targets.box_targets, targets.box_weights)
        counted = ops.cast(ops.maximum(regions.count, 1), "float32")
        share = ops.cast(regions.is_region, "float32") * (image_weights / counted)[:, None]
        classification, localization = classification * share, localization * share  # (B, P)
        if self.miner is not None:
            is_mined = self.miner.select(
                ops.stop_gradient(classification),
                ops.stop_gradient(localization),
                regions.boxes,
                targets.matches.state,
            )
            classification, localization = classification * is_mined, localization * is_mined
        return {
            LOCALIZATION: (self.localization_weight, localization),
            CLASSIFICATION: (self.classification_weight, classification),
        }

    def signs(self, logits: Tensor, regions: Regions) -> LearningSigns:
        """Give what the regions, logits (R, C + 1), say beside what they learn."""
        targets = regions.targets
        assert targets is not None
        logits = ops.reshape(logits, (*ops.shape(targets.classes), logits.shape[-1]))
        learns = targets.classes != BACKGROUND
        return LearningSigns(
            scores=self.score_converter.scores(logits)[..., 1:],
            classes=targets.classes,
            counts=ops.logical_and(regions.is_region, targets.class_weights > 0.0),
            box_index=ops.where(learns, targets.matches.box_index, 0),
        )

    def detections(
        self, codes: Tensor, logits: Tensor, regions: Regions, windows: Tensor
    ) -> Detections:
        """Choose the detections; windows (B, 4): the true images, in pixels."""
        batch, places = ops.shape(regions.boxes)[:2]
        codes = ops.reshape(codes, (batch, places, codes.shape[1], 4))
        boxes = self.assigner.coder.decode(codes, regions.boxes[:, :, None, :])
        logits = ops.reshape(logits, (batch, places, logits.shape[-1]))
        scores = self.score_converter.scores(logits)[..., 1:]  # (B, P, C)
        scores = ops.where(regions.is_region[..., None], scores, -float("inf"))
        return self.suppression.detections(boxes, scores, windows)


def of_class(values: Tensor, classes: Tensor) -> Tensor:
    """Pick the entry of each region's class out of values (R, C, ...), (R, ...).

    Where all classes share one, (R, 1, ...), it is that; background has the first: it counts not.
    """
    if values.shape[1] == 1:
        return values[:, 0]
    index = ops.maximum(ops.reshape(classes, (-1, 1)), 0)
    return rows_at(values, index)[:, 0]


def _targets_at(targets: Targets, places: Tensor) -> Targets:
    matches = Matches(*(rows_at(each, places) for each in targets.matches))
    rest = {
        name: rows_at(getattr(targets, name), places)
        for name in Targets._fields
        if name != "matches"
    }
    return Targets(matches=matches, **rest)
