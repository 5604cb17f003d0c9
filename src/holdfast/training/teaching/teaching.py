"""Loss terms by which a student comes to say what its teacher says.

For any two detectors, the teacher's detections are soft ground truth (arXiv 2106.09018 weighs them
by their scores, as here): the student's own loss is taken of them once more. Where both have the
same anchors, each anchor of the student also learns the classes of the teacher's, softened
(arXiv 1503.02531), and its box (as in Chen et al., NeurIPS 2017).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import tensorflow as tf
from keras import ops

from holdfast.data.sample import Batch, GroundTruth
from holdfast.geometry.tensor import Tensor
from holdfast.losses.distillation import softened_divergence
from holdfast.losses.localization import giou_loss
from holdfast.models.detectors.interface import Detector, Predictions, Prepared
from holdfast.models.detectors.single_stage.detector import SingleStageDetector
from holdfast.models.detectors.two_stage.mask_stage import MASK
from holdfast.training.teaching.soft_truth import soft_truth
from holdfast.training.teaching.teacher import Teacher

CLASSES = "Loss/distillation_classes"
BOXES = "Loss/distillation_boxes"
# Of the terms, beside the student's own: soft truth repeats most of what the labels say.
SOFT_TRUTH_WEIGHT = 0.5
CLASSES_WEIGHT = 1.0
BOXES_WEIGHT = 1.0


class AnchorLesson(NamedTuple):
    """What the teacher says at each anchor; B images, A anchors, C class columns."""

    logits: Tensor  # float32 (B, A, C)
    boxes: Tensor  # float32 (B, A, 4) normalized to the input
    scores: Tensor  # float32 (B, A)  of the best class


class Lesson(NamedTuple):
    """What a student learns from a piece of a batch, beside the ground truth."""

    truth: GroundTruth
    prepared: Prepared  # by the student
    anchors: AnchorLesson | None  # None: the two have no anchors in common


class Teaching:
    """A teacher and its student.

    anchor_teacher: the teacher's detector, where its anchors are the student's.
    """

    def __init__(
        self,
        student: Detector,
        teacher: Teacher,
        *,
        anchor_teacher: SingleStageDetector | None = None,
    ) -> None:
        self.teacher = teacher
        self._student = student
        self._anchor_teacher = anchor_teacher

    def normalizers(self, batch: Batch, own: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Give what each term is divided by: known before the teacher has looked at the batch.

        own: the student's. What is compared by anchors is averaged over images.
        """
        counts = {distilled(name): count for name, count in own.items() if name != MASK}
        if self._anchor_teacher is not None:
            images = tf.cast(tf.shape(batch.images)[0], tf.float32)
            counts |= {CLASSES: images, BOXES: images}
        return counts

    def lesson(self, batch: Batch, shape: tuple[Tensor, Tensor], seeds: Tensor) -> Lesson:
        """Let the teacher look at the images of inputs of a shape (height, width).

        Call it before gradients are recorded: nothing of it is to be learned by the teacher.
        """
        opinion = self.teacher.look(batch)
        truth = soft_truth(batch.truth, opinion.detections, batch.sizes, shape)
        if self._student.truth_fields & {"confidences"}:
            truth = truth._replace(confidences=ops.ones_like(truth.weights))
        prepared = self._student.prepare(truth, batch.sizes, shape, seeds)
        return Lesson(truth, prepared, self._anchors(opinion.predictions))

    def terms(
        self, predictions: Predictions, lesson: Lesson, normalizers: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Give the loss terms, one for each normalizer; the terms of a batch's parts add up."""
        seen = self._student.learning_from(predictions, lesson.truth)
        own = self._student.terms(seen, lesson.prepared, normalizers)
        terms = {distilled(name): SOFT_TRUTH_WEIGHT * each for name, each in own.items()}
        if lesson.anchors is not None:
            terms |= self._anchor_terms(predictions, lesson.anchors, normalizers)
        return terms

    def _anchors(self, predictions: Any) -> AnchorLesson | None:
        teacher = self._anchor_teacher
        if teacher is None:
            return None
        return AnchorLesson(
            logits=predictions.class_predictions_with_background,
            boxes=teacher.boxes(predictions),
            scores=ops.max(teacher.scores(predictions), axis=-1),
        )

    def _anchor_terms(
        self, predictions: Any, wanted: AnchorLesson, normalizers: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        student: Any = self._student
        divergence = softened_divergence(
            predictions.class_predictions_with_background,
            wanted.logits,
            is_softmax=student.settings.score_converter.conversion == "SOFTMAX",
        )  # (B, A)
        # Anchors that both take for background say nothing, and they are nearly all.
        own_scores = ops.stop_gradient(ops.max(student.scores(predictions), axis=-1))
        classes = divergence * ops.maximum(wanted.scores, own_scores)
        boxes = giou_loss(student.boxes(predictions), wanted.boxes, wanted.scores)
        objects = ops.maximum(ops.sum(wanted.scores, axis=-1), 1.0)  # (B,)
        weighed = {CLASSES: CLASSES_WEIGHT * classes, BOXES: BOXES_WEIGHT * boxes}
        return {
            name: ops.sum(ops.sum(losses, axis=-1) / objects) / ops.maximum(normalizers[name], 1.0)
            for name, losses in weighed.items()
        }


def distilled(name: str) -> str:
    """Name the term that a student's own one becomes with soft ground truth.

    >>> distilled("Loss/localization_loss")
    'Loss/distillation_localization_loss'
    """
    return f"Loss/distillation_{name.removeprefix('Loss/')}"
