"""Which feature maps of a single-stage detector have anchors that boxes of the data match."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from holdfast.config.facts.feature_maps import feature_maps
from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.schema.model import DetectionModel
from holdfast.data.survey.anchor_coverage import AnchorLayout, best_ious
from holdfast.data.survey.observe import Observation
from holdfast.models.detectors.build_layout import anchor_layout


class MapUse(NamedTuple):
    """A feature map, its anchors, and the boxes that one of these overlaps enough."""

    height: int
    width: int
    anchors: int
    boxes: int


class AnchorUse(NamedTuple):
    """What each feature map is good for, finest first."""

    maps: tuple[MapUse, ...]
    boxes: int  # looked at


def anchor_use(model: DetectionModel, observations: Iterable[Observation]) -> AnchorUse | None:
    """Count the boxes that each map covers; None where there is no single-stage detector."""
    layout, shape = anchor_layout(model), input_shape(model)
    if layout is None or shape is None:
        return None
    maps = feature_maps(model, shape)
    counts = np.zeros(len(maps), np.int64)
    total = 0
    for seen in observations:
        if len(seen.boxes):
            counts += _covered(layout, seen)
            total += len(seen.boxes)
    return AnchorUse(
        tuple(
            MapUse(each.height, each.width, each.anchors, int(count))
            for each, count in zip(maps, counts, strict=True)
        ),
        total,
    )


def _covered(layout: AnchorLayout, seen: Observation) -> np.ndarray:
    """Count the boxes of an image that each map has an anchor for."""
    frame = layout.frame(seen.height, seen.width)
    image = np.array([frame.height, frame.width] * 2, np.float32)
    padded = np.array([frame.input_height, frame.input_width] * 2, np.float32)
    boxes = seen.boxes * (image / padded)
    laid_out = layout.anchors(frame.input_height, frame.input_width)
    return np.array(
        [(best_ious(boxes, [anchors]) >= layout.iou_threshold).sum() for anchors in laid_out]
    )
