"""What a single-stage detector minimizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from keras import ops

from holdfast.geometry.coding import Coder
from holdfast.geometry.targets import ConfidenceTargets, Targets, target_columns
from holdfast.geometry.tensor import Tensor
from holdfast.losses.mining import HardMiner

# B images, A anchors, C class columns, D numbers in a box code
AnchorLoss = Callable[[Tensor, Tensor, Tensor], Tensor]  # predictions, targets, weights -> (B, A)

LOCALIZATION = "Loss/localization_loss"
CLASSIFICATION = "Loss/classification_loss"


@dataclass(frozen=True, kw_only=True)
class SingleStageLoss:
    """Sums of the anchors' losses, divided by the number of matched anchors."""

    classification: AnchorLoss
    localization: AnchorLoss
    coder: Coder
    has_background_column: bool
    background_as_zeros: bool
    compares_boxes: bool = False  # localization takes decoded boxes instead of codes
    classification_weight: float = 1.0
    localization_weight: float = 1.0
    miner: HardMiner | None = None
    normalizes_by_matches: bool = True
    normalizes_by_code_size: bool = False

    def normalizers(self, targets: Targets | ConfidenceTargets) -> dict[str, Tensor]:
        """Count the matched anchors that each sum of a batch is divided by; 0: by nothing."""
        count = ops.sum(targets.box_weights) if self.normalizes_by_matches else ops.zeros(())
        return {LOCALIZATION: count, CLASSIFICATION: count}

    def terms(
        self,
        codes: Tensor,
        logits: Tensor,
        anchors: Tensor,
        targets: Targets | ConfidenceTargets,
        normalizers: Mapping[str, Tensor],
    ) -> dict[str, Tensor]:
        """Give the loss terms of codes (B, A, D) and logits (B, A, C) by the OD API's names.

        normalizers: of the whole batch, of which these may be a part.
        """
        weighed = self._weighed(codes, logits, anchors, targets, normalizers)
        return {name: factor * ops.sum(losses) for name, (factor, losses) in weighed.items()}

    def by_anchor(
        self,
        codes: Tensor,
        logits: Tensor,
        anchors: Tensor,
        targets: Targets | ConfidenceTargets,
        normalizers: Mapping[str, Tensor],
    ) -> dict[str, Tensor]:
        """Give what each anchor adds to the loss terms, (B, A)."""
        weighed = self._weighed(codes, logits, anchors, targets, normalizers)
        return {name: factor * losses for name, (factor, losses) in weighed.items()}

    def _weighed(
        self,
        codes: Tensor,
        logits: Tensor,
        anchors: Tensor,
        targets: Targets | ConfidenceTargets,
        normalizers: Mapping[str, Tensor],
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """Give the losses of the anchors (B, A), and the factor of each term."""
        classification = self.classification(
            logits, self._class_targets(targets), targets.class_weights
        )
        localization = self._localization(codes, anchors, targets)
        if self.miner is not None:
            boxes = ops.stop_gradient(self.coder.decode(codes, anchors))[..., :4]
            is_mined = self.miner.select(
                ops.stop_gradient(classification),
                ops.stop_gradient(localization),
                boxes,
                targets.matches.state,
            )
            classification, localization = classification * is_mined, localization * is_mined
        per_code = self.coder.code_size if self.normalizes_by_code_size else 1
        weighed = {
            LOCALIZATION: (self.localization_weight, per_code, localization),
            CLASSIFICATION: (self.classification_weight, 1, classification),
        }
        return {
            name: (weight / (ops.maximum(normalizers[name], 1.0) * size), losses)
            for name, (weight, size, losses) in weighed.items()
        }

    def _class_targets(self, targets: Targets | ConfidenceTargets) -> Tensor:
        if isinstance(targets, ConfidenceTargets):
            return targets.class_targets
        return target_columns(
            targets.classes,
            has_background_column=self.has_background_column,
            background_as_zeros=self.background_as_zeros,
        )

    def _localization(
        self, codes: Tensor, anchors: Tensor, targets: Targets | ConfidenceTargets
    ) -> Tensor:
        if not self.compares_boxes:
            return self.localization(codes, targets.box_targets, targets.box_weights)
        boxes, true_boxes = (
            self.coder.decode(each, anchors) for each in (codes, targets.box_targets)
        )
        return self.localization(boxes, true_boxes, targets.box_weights)
