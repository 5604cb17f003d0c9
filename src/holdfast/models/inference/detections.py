"""From boxes and scores of every anchor to the detections of an image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from keras import ops

from holdfast.errors import HoldfastError
from holdfast.geometry.boxes import clip_to_window
from holdfast.geometry.suppression import (
    Candidates,
    Selection,
    clip_candidates,
    select_best,
    suppress_by_best_class,
    suppress_per_class,
)
from holdfast.geometry.tensor import Tensor

# B images, A anchors or proposals, C classes without background, N = max_total_detections


class Detections(NamedTuple):
    """What was found in each image, by falling score; zeros behind the last."""

    boxes: Tensor  # float32 (B, N, 4)  normalized to the true image
    scores: Tensor  # float32 (B, N)
    classes: Tensor  # int32 (B, N)  0-based
    count: Tensor  # int32 (B,)
    masks: Tensor = None  # float32 (B, N, h, w)  0..1, crops relative to their box
    keypoints: Tensor = None  # float32 (B, N, K, 2)  y, x
    keypoint_scores: Tensor = None  # float32 (B, N, K)


@dataclass(frozen=True, kw_only=True)
class Suppression:
    """Which boxes become detections: the settings of the OD API's batch_non_max_suppression.

    use_class_agnostic_nms suppresses boxes whatever their class, each with its best class;
    max_classes_per_detection belongs to it and can only be 1. use_combined_nms takes the best of
    all classes before boxes are clipped, so that boxes outside the image use up places.
    change_coordinate_frame: false leaves boxes normalized to the padded input.

    use_static_shapes, use_partitioned_nms, use_hard_nms and use_cpu_nms choose between
    implementations of the same thing in the OD API. Here shapes are always fixed, suppression is
    soft exactly if soft_nms_sigma is above 0, and it always runs on the CPU.
    """

    score_threshold: float = 0.0
    iou_threshold: float = 0.6
    max_detections_per_class: int = 100
    max_total_detections: int = 100
    use_static_shapes: bool = False
    use_class_agnostic_nms: bool = False
    max_classes_per_detection: int = 1
    soft_nms_sigma: float = 0.0
    use_partitioned_nms: bool = False
    use_combined_nms: bool = False
    change_coordinate_frame: bool = True
    use_hard_nms: bool = False
    use_cpu_nms: bool = False

    def __post_init__(self) -> None:
        for is_wrong, message, fix in self._mistakes():
            if is_wrong:
                raise HoldfastError(f"batch_non_max_suppression: {message}", fix=fix)

    def select(self, boxes: Tensor, scores: Tensor, windows: Tensor | None = None) -> Selection:
        """Choose detections among boxes (B, A, 4) or (B, A, C, 4) by scores (B, A, C).

        windows (B, 4) hold the true image inside the padded input; None: all of the input is image.
        """
        if windows is None:
            windows = ops.tile(ops.array([[0.0, 0.0, 1.0, 1.0]]), (ops.shape(boxes)[0], 1))
        candidates = self._candidates(boxes, scores)
        if self.use_combined_nms:
            clipped = candidates._replace(boxes=clip_to_window(candidates.boxes, windows))
        else:
            clipped = clip_candidates(
                candidates, windows, change_frame=self.change_coordinate_frame
            )
        return select_best(clipped, self.max_total_detections)

    def detections(
        self, boxes: Tensor, scores: Tensor, windows: Tensor | None = None
    ) -> Detections:
        """Choose as `select` does, without telling which anchors were chosen."""
        chosen = self.select(boxes, scores, windows)
        return Detections(chosen.boxes, chosen.scores, chosen.classes, chosen.count)

    def _candidates(self, boxes: Tensor, scores: Tensor) -> Candidates:
        if self.use_class_agnostic_nms:
            return suppress_by_best_class(
                boxes,
                scores,
                score_threshold=self.score_threshold,
                iou_threshold=self.iou_threshold,
                max_total=self.max_total_detections,
                soft_sigma=self.soft_nms_sigma,
            )
        return suppress_per_class(
            boxes,
            scores,
            score_threshold=self.score_threshold,
            iou_threshold=self.iou_threshold,
            max_per_class=self.max_detections_per_class,
            soft_sigma=self.soft_nms_sigma,
        )

    def _mistakes(self) -> Iterator[tuple[bool, str, str]]:
        yield (
            not 0.0 <= self.iou_threshold <= 1.0,
            f"iou_threshold is {self.iou_threshold:g}.",
            "Set it between 0 and 1.",
        )
        yield (
            self.max_detections_per_class < 1,
            f"max_detections_per_class is {self.max_detections_per_class}.",
            "Set it to 1 or more.",
        )
        yield (
            self.max_detections_per_class > self.max_total_detections,
            f"max_detections_per_class ({self.max_detections_per_class}) is above "
            f"max_total_detections ({self.max_total_detections}).",
            "Set it to at most max_total_detections.",
        )
        yield (
            self.soft_nms_sigma < 0.0,
            f"soft_nms_sigma is {self.soft_nms_sigma:g}.",
            "Set it to 0 for hard suppression, or above.",
        )
        yield (
            self.use_hard_nms and self.soft_nms_sigma > 0.0,
            f"use_hard_nms contradicts soft_nms_sigma: {self.soft_nms_sigma:g}.",
            "Remove one of the two.",
        )
        yield (
            self.use_class_agnostic_nms and self.max_classes_per_detection != 1,
            f"class-agnostic suppression with max_classes_per_detection: "
            f"{self.max_classes_per_detection} is not supported.",
            "Set max_classes_per_detection to 1, or remove use_class_agnostic_nms.",
        )
        yield from self._mistakes_of_combined()

    def _mistakes_of_combined(self) -> Iterator[tuple[bool, str, str]]:
        combined = self.use_combined_nms
        yield (
            combined and self.use_class_agnostic_nms,
            "use_combined_nms suppresses per class, use_class_agnostic_nms does not.",
            "Remove one of the two.",
        )
        yield (
            combined and self.soft_nms_sigma > 0.0,
            "use_combined_nms knows no soft suppression.",
            "Remove use_combined_nms or soft_nms_sigma.",
        )
        yield (
            combined and self.change_coordinate_frame,
            "use_combined_nms cannot change the coordinate frame, which is the default.",
            "Set change_coordinate_frame: false, or remove use_combined_nms.",
        )
