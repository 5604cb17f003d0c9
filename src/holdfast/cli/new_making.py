"""The steps of `holdfast new`, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.cli.new_data import Prepared, SplitOptions, open_dataset, prepare
from holdfast.cli.new_folder import NewFolder
from holdfast.config.check import CheckReport, check_config
from holdfast.config.label_map import largest_id
from holdfast.config.paths import is_remote
from holdfast.config.recipes.box_sides import MedianSizes, Sides, judge_box_sides
from holdfast.config.recipes.fill import Filling, Start, fill
from holdfast.config.recipes.recipe import Recipe
from holdfast.config.recipes.schedule import plan_schedule
from holdfast.data.split import TRAIN
from holdfast.data.statistics import Statistics
from holdfast.errors import HoldfastError, Problem


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What the user asks for."""

    data: str
    out: Path
    format_name: str | None
    label_map: str | None
    checkpoint: str | None
    batch_size: int | None
    epochs: int
    split: SplitOptions


@dataclass(frozen=True, kw_only=True)
class Made:
    """What came of it."""

    recipe: Recipe
    folder: NewFolder
    prepared: Prepared
    filling: Filling
    sizes: MedianSizes | None  # of the training data
    check: CheckReport
    warnings: tuple[Problem, ...]


def make(recipe: Recipe, wishes: Wishes) -> Made:
    """Open the data, convert it, fill the recipe in, write it and check it."""
    split = wishes.split
    data = open_dataset(
        wishes.data, format_name=wishes.format_name, label_map=wishes.label_map, seed=split.seed
    )
    num_classes = largest_id(data.label_map)
    if num_classes < 1:
        raise HoldfastError(f"{wishes.data} has no class: nothing in it is labelled.")
    start = _start(wishes, recipe, num_classes)
    folder, origin = NewFolder(wishes.out), _origin(recipe, wishes)
    folder.claim(origin)
    prepared = prepare(data, folder, split)
    filling = _filling(recipe, wishes, num_classes, prepared, start)
    folder.write_config(fill(recipe, filling), origin)
    check = check_config(folder.config)
    sizes = _median_sizes(prepared.statistics[TRAIN])
    return Made(
        recipe=recipe,
        folder=folder,
        prepared=prepared,
        filling=filling,
        sizes=sizes,
        check=check,
        warnings=(*_warnings(recipe, sizes, prepared.eval_split), *check.warnings),
    )


def _start(wishes: Wishes, recipe: Recipe, num_classes: int) -> Start | None:
    if wishes.checkpoint is None:
        return None
    from holdfast.cli.new_checkpoint import choose_start  # it loads Keras

    return choose_start(wishes.checkpoint, recipe, num_classes, wishes.out)


def _origin(recipe: Recipe, wishes: Wishes) -> dict[str, Any]:
    """Say what the folder is made from; the other options may differ from call to call."""
    is_place = wishes.format_name != "synthetic" and not is_remote(wishes.data)
    return {
        "recipe": recipe.name,
        "data": os.path.realpath(os.path.expanduser(wishes.data)) if is_place else wishes.data,
        "format": wishes.format_name,
        "val": wishes.split.val,
        "resplit": wishes.split.resplit,
        "shards": wishes.split.shards,
        "seed": wishes.split.seed,
    }


def _filling(
    recipe: Recipe, wishes: Wishes, num_classes: int, prepared: Prepared, start: Start | None
) -> Filling:
    readers, eval_split = prepared.readers, prepared.eval_split
    num_images = prepared.statistics[TRAIN].images
    crowds = [each.boxes_per_image for each in prepared.statistics.values()]
    return Filling(
        num_classes=num_classes,
        num_images=num_images,
        most_boxes=max(each.maximum for each in crowds if each),
        schedule=plan_schedule(
            recipe, num_images, batch_size=wishes.batch_size, epochs=wishes.epochs
        ),
        train_reader=readers[TRAIN],
        eval_reader=readers[eval_split] if eval_split else None,
        start=start,
    )


def _median_sizes(train: Statistics) -> MedianSizes | None:
    images, boxes = train.image_sizes, train.box_sizes
    if images is None or boxes is None:
        return None
    return MedianSizes(
        image=Sides(images.height.median, images.width.median),
        box=Sides(boxes.height_pixels.median, boxes.width_pixels.median),
    )


def _warnings(
    recipe: Recipe, sizes: MedianSizes | None, eval_split: str | None
) -> Iterator[Problem]:
    if sizes is not None and (small := judge_box_sides(recipe, sizes)):
        yield small
    if eval_split is None:
        yield Problem(
            severity="warning",
            message="no image is held out: nothing will tell how well it learns",
            fix="give --val a share such as 0.2",
        )
