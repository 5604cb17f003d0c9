"""What a CenterNet predicts, and what it has to learn of a batch."""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from holdfast.data.sample import GroundTruth
from holdfast.geometry import center_targets
from holdfast.geometry.center_targets import BoxTargets, KeypointTargets, LabeledKeypoints
from holdfast.geometry.class_masks import united_masks
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.center_net.tasks import KeypointTask, Tasks
from holdfast.models.detectors.input_sides import divided

# B images, G boxes, C classes; maps of h x w cells, of stride 4

STRIDE = 4
Maps = tuple[Tensor, ...]  # one of each of the network's outputs, the last is the best


class KeypointMaps(NamedTuple):
    """What is predicted for one task of K keypoints."""

    heatmap: Maps  # float32 (B, h, w, K) logits
    offset: Maps  # float32 (B, h, w, 2) or (B, h, w, 2 x K)
    regression: Maps  # float32 (B, h, w, 2 x K)


class CenterNetPredictions(NamedTuple):
    """What the network says about every cell; () where there is no such task."""

    object_center: Maps  # float32 (B, h, w, C) logits
    box_scale: Maps  # float32 (B, h, w, 2)  height, width in cells
    box_offset: Maps  # float32 (B, h, w, 2)  y, x in cells
    keypoints: tuple[KeypointMaps, ...]  # of each task
    segmentation_heatmap: Maps  # float32 (B, h, w, C) logits
    extracted_features: Maps  # (B, h, w, channels)
    preprocessed_inputs: Tensor  # float32 (B, H, W, 3)


class CenterNetTargets(NamedTuple):
    """What there is to learn."""

    centers: Tensor  # float32 (B, h, w, C)
    cell_weights: Tensor  # float32 (B, h, w)  0 beyond the image
    box_weights: Tensor  # float32 (B, G)
    boxes: BoxTargets
    keypoints: tuple[KeypointTargets, ...]  # of each task
    masks: tuple[Tensor, ...]  # float32 (B, h, w, C), if there is such a task


def map_shape(shape: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Give the cells of an input's height and width."""
    height, width = (divided(side, STRIDE) for side in shape)
    return height, width


def center_net_targets(
    tasks: Tasks, truth: GroundTruth, sizes: Tensor, shape: tuple[Tensor, Tensor]
) -> CenterNetTargets:
    """Say what there is to learn from images on inputs of a shape (height, width)."""
    cells = map_shape(shape)
    scale = ops.stack([ops.cast(side, "float32") / STRIDE for side in shape])  # (2,)
    boxes = truth.boxes * ops.concatenate([scale, scale])
    classes, weights = truth.classes, truth.weights
    keypoints = [_keypoints(task, truth, scale) for task in tasks.keypoints]
    return CenterNetTargets(
        centers=_centers(tasks, boxes, classes, weights, keypoints, cells),
        cell_weights=_inside_image(sizes, cells),
        box_weights=weights,
        boxes=center_targets.box_targets(boxes, cells),
        keypoints=tuple(
            center_targets.keypoint_targets(
                labeled,
                boxes,
                cells,
                deviations=task.deviations,
                radius=task.offset_radius,
                is_offset_per_keypoint=task.is_offset_per_keypoint,
            )
            for task, labeled in zip(tasks.keypoints, keypoints, strict=True)
        ),
        masks=() if tasks.mask is None else (_masks(tasks, truth, shape, cells),),
    )


def _centers(
    tasks: Tasks,
    boxes: Tensor,
    classes: Tensor,
    weights: Tensor,
    keypoints: list[LabeledKeypoints],
    cells: tuple[Tensor, Tensor],
) -> Tensor:
    task = tasks.center
    if not task.keypoint_weights:
        return center_targets.center_maps(
            boxes,
            classes,
            weights,
            cells,
            num_classes=tasks.num_classes,
            min_overlap=task.min_overlap,
        )
    return center_targets.center_maps_of_keypoints(
        keypoints[0],
        classes,
        weights,
        cells,
        num_classes=tasks.num_classes,
        min_overlap=task.min_overlap,
        keypoint_weights=task.keypoint_weights,
    )


def _keypoints(task: KeypointTask, truth: GroundTruth, scale: Tensor) -> LabeledKeypoints:
    return center_targets.labeled_keypoints(
        truth.keypoints,
        truth.classes,
        truth.weights,
        scale=scale,
        class_index=task.class_index,
        chosen=task.chosen,
    )


def _masks(
    tasks: Tasks,
    truth: GroundTruth,
    shape: tuple[Tensor, Tensor],
    cells: tuple[Tensor, Tensor],
) -> Tensor:
    is_packed = truth.masks is None
    return united_masks(
        truth.mask_bits if is_packed else truth.masks,
        truth.classes,
        truth.weights,
        cells,
        num_classes=tasks.num_classes,
        width=shape[1] if is_packed else None,
    )


def _inside_image(sizes: Tensor, cells: tuple[Tensor, Tensor]) -> Tensor:
    """Give 1 in the cells (B, h, w) that hold a pixel of the image."""
    used = -(-sizes[:, :2] // STRIDE)
    rows, columns = (
        ops.cast(ops.arange(side)[None, :] < used[:, axis, None], "float32")
        for axis, side in enumerate(cells)
    )
    return rows[:, :, None] * columns[:, None, :]
