"""What a CenterNet minimizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from keras import ops

from holdfast.geometry.cells import cell_values
from holdfast.geometry.center_targets import KeypointTargets, PointTargets
from holdfast.geometry.gather import rows_at
from holdfast.geometry.tensor import Tensor
from holdfast.models.detectors.center_net.prepared import (
    CenterNetPredictions,
    CenterNetTargets,
    KeypointMaps,
    Maps,
)
from holdfast.models.detectors.center_net.tasks import (
    BOX_OFFSET,
    BOX_SCALE,
    CENTER,
    SEGMENTATION,
    CellLoss,
    KeypointTask,
    Tasks,
)

# B images, G boxes, C channels; maps of h x w cells


class _Sum(NamedTuple):
    """A loss before it is divided."""

    name: str
    weight: float
    total: Tensor  # float32 ()  the mean over the network's outputs


def loss_normalizers(tasks: Tasks, targets: CenterNetTargets) -> dict[str, Tensor]:
    """Count what each loss of a batch is divided by: boxes, keypoints or cells."""
    num_boxes = ops.sum(ops.cast(targets.box_weights != 0.0, "float32"))
    counts = {CENTER: num_boxes}
    if tasks.box is not None:
        counts |= {BOX_SCALE: num_boxes, BOX_OFFSET: num_boxes}
    for task, learned in zip(tasks.keypoints, targets.keypoints, strict=True):
        # The OD API counts whole keypoints of each kind in each image.
        num_keypoints = ops.sum(ops.floor(ops.sum(learned.keypoint_weights, axis=1)))
        counts |= {
            task.heatmap: num_keypoints,
            task.offset: ops.sum(learned.offsets.weights),
            task.regression: ops.sum(learned.regressions.weights),
        }
    if tasks.mask is not None:
        counts[SEGMENTATION] = ops.sum(targets.cell_weights)
    return {loss_name(name): count for name, count in counts.items()}


def loss_terms(
    tasks: Tasks,
    predictions: CenterNetPredictions,
    targets: CenterNetTargets,
    normalizers: Mapping[str, Tensor],
) -> dict[str, Tensor]:
    """Give the loss terms by the OD API's names.

    normalizers: of the whole batch, of which these may be a part.
    """
    sums = {loss_name(each.name): each for each in _sums(tasks, predictions, targets)}
    return {
        name: each.weight * each.total / ops.maximum(normalizers[name], 1.0)
        for name, each in sums.items()
    }


def center_losses(
    tasks: Tasks,
    predictions: CenterNetPredictions,
    targets: CenterNetTargets,
    normalizers: Mapping[str, Tensor],
) -> dict[str, Tensor]:
    """Give what each cell adds to the loss of the centers, (B, h * w)."""
    center, weights = tasks.center, _flat(targets.cell_weights[..., None])[..., 0]
    losses = [
        center.loss(_flat(values), _flat(targets.centers), weights)
        for values in predictions.object_center
    ]
    name = loss_name(CENTER)
    return {name: center.weight * _mean(losses) / ops.maximum(normalizers[name], 1.0)}


def loss_name(quantity: str) -> str:
    """Name the loss of a quantity as the OD API does.

    >>> loss_name("box/scale")
    'Loss/box/scale'
    """
    return f"Loss/{quantity}"


def _sums(
    tasks: Tasks, predictions: CenterNetPredictions, targets: CenterNetTargets
) -> Iterator[_Sum]:
    center, weights = tasks.center, targets.cell_weights[..., None]
    total = _of_maps(center.loss, predictions.object_center, targets.centers, weights)
    yield _Sum(CENTER, center.weight, total)
    if tasks.box is not None:
        cells, sizes, offsets = targets.boxes
        for name, weight, maps, wanted in (
            (BOX_SCALE, tasks.box.scale_weight, predictions.box_scale, sizes),
            (BOX_OFFSET, tasks.box.offset_weight, predictions.box_offset, offsets),
        ):
            losses = [
                ops.sum(tasks.box.loss(cell_values(values, cells), wanted, targets.box_weights))
                for values in maps
            ]
            yield _Sum(name, weight, _mean(losses))
    for task, maps, learned in zip(
        tasks.keypoints, predictions.keypoints, targets.keypoints, strict=True
    ):
        yield from _of_keypoints(task, maps, learned, weights)
    if tasks.mask is not None:
        (masks,) = targets.masks
        total = _of_maps(tasks.mask.loss, predictions.segmentation_heatmap, masks, weights)
        yield _Sum(SEGMENTATION, tasks.mask.weight, total)


def _of_keypoints(
    task: KeypointTask, maps: KeypointMaps, learned: KeypointTargets, cell_weights: Tensor
) -> Iterator[_Sum]:
    entries = cell_weights * ops.cast(learned.heatmap_weights, "float32")  # (B, h, w, K)
    total = _of_maps(task.heatmap_loss, maps.heatmap, learned.heatmaps, entries)
    yield _Sum(task.heatmap, task.weights.heatmap, total)
    offset = [_of_points(task.point_loss, values, learned.offsets) for values in maps.offset]
    yield _Sum(task.offset, task.weights.offset, _mean(offset))
    regression = [
        _of_points(task.point_loss, values, learned.regressions) for values in maps.regression
    ]
    yield _Sum(task.regression, task.weights.regression, _mean(regression))


def _of_maps(loss: CellLoss, maps: Maps, targets: Tensor, weights: Tensor) -> Tensor:
    """Sum the loss of maps (B, h, w, C); weights are (B, h, w, C) or (B, h, w, 1)."""
    flat_targets = _flat(targets)
    flat_weights = _flat(weights)
    if weights.shape[-1] == 1:
        flat_weights = flat_weights[..., 0]
    return _mean([ops.sum(loss(_flat(values), flat_targets, flat_weights)) for values in maps])


def _of_points(loss: CellLoss, values: Tensor, targets: PointTargets) -> Tensor:
    """Sum the loss of offsets (B, h, w, 2 or 2 x K) at the cells that have a target."""
    pairs = ops.reshape(values, (ops.shape(values)[0], -1, 2))
    found = rows_at(pairs, targets.rows)
    losses = loss(found, targets.offsets, ops.ones_like(targets.weights))
    return ops.sum(losses * targets.weights)


def _flat(values: Tensor) -> Tensor:
    batch, height, width, channels = ops.shape(values)
    return ops.reshape(values, (batch, height * width, channels))


def _mean(values: list[Tensor]) -> Tensor:
    return sum(values[1:], start=values[0]) / len(values)
