"""What an image shows by the account of a teacher: what it found, and the labels that it missed."""

from __future__ import annotations

from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.geometry.boxes import true_image_windows
from holdfast.geometry.overlap import iou, pairwise
from holdfast.geometry.tensor import Tensor
from holdfast.models.inference.detections import Detections

CONFIDENT = 0.5  # score from which a detection of the teacher is believed
MOST_FOUND = 64  # detections an image: the best ones
_SAME_PLACE = 0.5  # IoU from which a detection and a label are about the same object

# B images, G labels (padded with weight 0), N detections


def soft_truth(
    truth: GroundTruth, found: Detections, sizes: Tensor, shape: tuple[Tensor, Tensor]
) -> GroundTruth:
    """Join labels and the teacher's detections to B x (G + N) boxes of different weight.

    A confident detection weighs its score. It takes the place of labels of its class that it
    overlaps, which keeps an object from being learned twice; where it overlaps only labels of other
    classes, the label counts and not the teacher. All else has weight 0. shape: height and width of
    the student's input, sizes: of the image in it.
    """
    found = found._replace(
        boxes=found.boxes[:, :MOST_FOUND],
        scores=found.scores[:, :MOST_FOUND],
        classes=found.classes[:, :MOST_FOUND],
    )
    windows = true_image_windows(sizes, *shape)  # (B, 4)
    frames = ops.concatenate([windows[:, 2:], windows[:, 2:]], axis=-1)[:, None, :]
    boxes = found.boxes * frames  # (B, N, 4) normalized to the padded input
    is_label = truth.weights > 0.0  # (B, G)
    meets = pairwise(iou, boxes, truth.boxes) >= _SAME_PLACE  # (B, N, G)
    meets = ops.logical_and(meets, is_label[:, None, :])
    is_same_class = found.classes[:, :, None] == truth.classes[:, None, :]
    agrees = ops.logical_and(meets, is_same_class)
    is_contradicted = ops.logical_and(ops.any(meets, axis=-1), ~ops.any(agrees, axis=-1))
    is_real = ops.arange(ops.shape(found.scores)[1])[None, :] < found.count[:, None]
    is_believed = ops.logical_and(found.scores >= CONFIDENT, is_real)
    is_believed = ops.logical_and(is_believed, ~is_contradicted)  # (B, N)
    is_found = ops.any(ops.logical_and(agrees, is_believed[:, :, None]), axis=1)  # (B, G)
    weights = ops.concatenate(
        [
            ops.where(is_found, 0.0, truth.weights),
            ops.where(is_believed, found.scores, 0.0),
        ],
        axis=1,
    )
    every_box = ops.concatenate([truth.boxes, boxes], axis=1)
    return GroundTruth(
        boxes=ops.where(weights[..., None] > 0.0, every_box, 0.0),
        classes=ops.concatenate([truth.classes, found.classes], axis=1),
        weights=weights,
    )
