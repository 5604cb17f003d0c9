"""What else there is for large images: networks with a pyramid, and tiles, side by side."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from holdfast.config.facts.input_sizes import InputShape, input_shape
from holdfast.config.facts.networks import network_of
from holdfast.config.facts.published_accuracy import published_accuracy
from holdfast.config.recipes.fill import recipe_model
from holdfast.config.recipes.recipe_table import RECIPES
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.survey.observe import Observation
from holdfast.data.survey.pooled_boxes import PoolCoverage
from holdfast.geometry.image_tiles import (
    LARGEST_OVERLAP,
    SMALLEST_TILE,
    Tiling,
    boxes_in_tile,
    tiles_of,
)
from holdfast.projects.adapting.refit_anchors import refit_anchors

# Recipes with a pyramid that stand near to a network without one.
_SIBLINGS = {
    "inception_v2": ("retinanet_50_640", "fpnlite_640"),
    "mobilenet_v1": ("fpnlite_640",),
    "mobilenet_v2": ("fpnlite_640",),
    "mobilenet_v3_large": ("fpnlite_640",),
    "mobilenet_v3_small": ("fpnlite_640",),
}
_HIGH = 2.0  # times the pixels that a network was published with: others are offered from here on
_MULTIPLE = 32  # of the input's sides: pyramids add their maps
_SHARE = 0.5  # of a box's area in a tile, from which it is labeled there
_USUAL_OVERLAP = 0.2

# Bytes that a training with a config needs at most; None: it cannot be predicted.
PredictPeak = Callable[[TrainEvalPipelineConfig], int | None]


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """A way to detect at a resolution, and what it costs and brings."""

    name: str
    input: str  # height x width of the network's input
    coverage: PoolCoverage | None  # of anchors that are refit to the data
    predicted_peak_bytes: int | None  # at the same batch size
    coco_map: float | None  # as published, in per cent
    published_side: int | None  # input at which that was measured
    command: str  # that leads to it


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a config is adapted to."""

    config: TrainEvalPipelineConfig  # adapted
    before: TrainEvalPipelineConfig  # at the old resolution, with the new data
    seen: Sequence[Observation]
    data: str | None  # what --data names
    source: str  # the config's file


def offers_others(config: TrainEvalPipelineConfig) -> bool:
    """Tell whether a single-stage detector without a pyramid sees more than it was made for."""
    network = network_of(config.model) if config.model else None
    if network is None or config.model is None or network.known.neck != "ssd_layers":
        return False
    here, published = input_shape(config.model), published_accuracy(config.model)
    side = published.side if published is not None else 300
    is_high = here is not None and here.height * here.width >= _HIGH * side * side
    return is_high or network.known.backbone == "inception_v2"


def siblings(asked: Asked, predict: PredictPeak) -> Iterator[Alternative]:
    """Give the networks with a pyramid that are nearest, at the same resolution and batch."""
    model = asked.config.model
    network, here = network_of(model) if model else None, input_shape(model) if model else None
    if network is None or here is None:
        return
    size = math.ceil(max(here.height, here.width) / _MULTIPLE) * _MULTIPLE
    for name in _SIBLINGS.get(network.known.backbone, ()):
        recipe = replace(RECIPES[name], input_size=size)
        sibling = recipe_model(recipe, network.detector.num_classes)
        options = ["--data", asked.data] if asked.data else []
        command = ["holdfast", "new", name, *options, "--input-size", str(size)]
        yield _alternative(
            recipe.title, asked.config.replace(model=sibling), asked.seen, predict, command
        )


def tiled(asked: Asked, predict: PredictPeak) -> Alternative | None:
    """Give the network at its old resolution, on tiles that show objects as large as asked for."""
    before, after = (
        input_shape(each.model) if each.model else None for each in (asked.before, asked.config)
    )
    if before is None or after is None or before.height >= after.height or not asked.seen:
        return None
    tiling = _tiling(asked.seen, before, after)
    seen = [part for each in asked.seen for part in cut_observation(each, tiling)]
    tile = ["--tile", str(tiling.size), "--overlap", f"{tiling.overlap:g}"]
    command = ["holdfast", "convert", asked.data or "DATA", "tiles", *tile]
    return _alternative(
        f"tiles of {tiling.size} pixels, overlap {tiling.overlap:g}",
        asked.before,
        seen,
        predict,
        command,
    )


def cut_observation(seen: Observation, tiling: Tiling) -> Iterator[Observation]:
    """Give what the tiles of an image show of its boxes, as `holdfast convert --tile` cuts them."""
    for tile in tiles_of(seen.height, seen.width, tiling):
        found = boxes_in_tile(seen.boxes, seen.height, seen.width, tile)
        found = found.chosen(found.shares >= _SHARE)
        names = tuple(seen.class_names[row] for row in found.rows)
        yield seen._replace(
            boxes=found.boxes, class_names=names, height=tile.height, width=tile.width
        )


def described(
    name: str,
    config: TrainEvalPipelineConfig,
    coverage: PoolCoverage | None,
    predict: PredictPeak,
    command: Sequence[str],
) -> Alternative:
    """Set a config beside others."""
    assert config.model is not None
    accuracy, shape = published_accuracy(config.model), input_shape(config.model)
    return Alternative(
        name=name,
        input=f"{shape.height} x {shape.width}" if shape else "any",
        coverage=coverage,
        predicted_peak_bytes=predict(config),
        coco_map=accuracy.coco_map if accuracy else None,
        published_side=accuracy.side if accuracy else None,
        command=shlex.join(command),
    )


def _alternative(
    name: str,
    config: TrainEvalPipelineConfig,
    seen: Sequence[Observation],
    predict: PredictPeak,
    command: Sequence[str],
) -> Alternative:
    model: DetectionModel | None = config.model
    refit = refit_anchors(model, seen) if model is not None and seen else None
    return described(name, config, refit.after if refit else None, predict, command)


def _tiling(seen: Sequence[Observation], before: InputShape, after: InputShape) -> Tiling:
    """Choose tiles that fill the old input at the scale of the new one, and hold most boxes."""
    images = np.array([[each.height, each.width] for each in seen], np.float64)
    scales = [before.height / after.height, before.width / after.width]
    size = max(SMALLEST_TILE, round(float((np.median(images, axis=0) * scales).max())))
    sides = [
        ((each.boxes[:, 2:] - each.boxes[:, :2]) * [each.height, each.width]).max(axis=1)
        for each in seen
        if len(each.boxes)
    ]
    usual = float(np.quantile(np.concatenate(sides), 0.9)) if sides else 0.0
    overlap = min(max(usual / size, _USUAL_OVERLAP), min(LARGEST_OVERLAP, 0.5))
    return Tiling(size=size, overlap=math.ceil(overlap * 20) / 20)
