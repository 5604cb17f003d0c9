"""The steps of `holdfast new`, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.config.check_config import CheckReport, check_config
from holdfast.config.facts.learned_fields import learned_fields
from holdfast.config.facts.networks import detector_of
from holdfast.config.label_map import largest_id
from holdfast.config.paths import is_remote
from holdfast.config.recipes.box_sides import MedianSizes, Sides, judge_box_sides
from holdfast.config.recipes.fill import Filling, Start, fill, recipe_model, trained_by
from holdfast.config.recipes.recipe import Recipe
from holdfast.config.recipes.schedule import WantedPace, plan_schedule
from holdfast.data.conversion.open_sources import DataOptions
from holdfast.data.input.build_input import open_reader
from holdfast.data.splitting.split_names import TRAIN
from holdfast.data.survey.statistics import Statistics
from holdfast.errors import HoldfastError, Problem
from holdfast.progress import Watch, unwatched
from holdfast.projects.project_data import Prepared, SplitOptions, open_dataset, prepare
from holdfast.projects.project_folder import NewFolder

if TYPE_CHECKING:
    from holdfast.projects.fit_boxes import NetworkFit


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What the user asks for."""

    data: tuple[str, ...]
    reading: DataOptions
    out: Path
    shown_out: Path | None = None  # where the user will find it, if not there
    checkpoint: str | None
    pretrained: bool = False  # published weights, in place of a checkpoint
    mirror: str | None = None  # where these are, if not where they were published
    input_size: int | None
    pace: WantedPace
    split: SplitOptions


@dataclass(frozen=True, kw_only=True)
class Made:
    """What came of it."""

    recipe: Recipe
    folder: NewFolder
    is_copied: bool  # whether the records are in the folder, not used in place
    prepared: Prepared
    filling: Filling
    sizes: MedianSizes | None  # of the training data
    check: CheckReport
    notes: tuple[str, ...]
    warnings: tuple[Problem, ...]


def make(recipe: Recipe, wishes: Wishes, watch: Watch = unwatched) -> Made:
    """Open the data, convert it, fill the recipe in, write it and check it."""
    network = detector_of(recipe_model(recipe, num_classes=1))
    learned = learned_fields(network) if network is not None else frozenset[str]()
    data = open_dataset(wishes.data, wishes.reading, watch, learned)
    num_classes = largest_id(data.label_map)
    if num_classes < 1:
        raise HoldfastError(f"{' and '.join(wishes.data)} has no class: nothing in it is labeled.")
    start = _start(wishes, recipe, num_classes, watch)
    folder, origin = NewFolder(wishes.out, wishes.shown_out), _origin(recipe, wishes)
    folder.claim(origin)
    prepared = prepare(data, folder, wishes.split, watch, learned)
    fit = _fit(recipe, wishes, num_classes, prepared)
    recipe = fit.recipe
    filling = _filling(fit, wishes, num_classes, prepared, start)
    folder.write_config(fill(recipe, filling), origin)
    check = check_config(folder.config)
    sizes = _median_sizes(prepared.statistics[TRAIN])
    return Made(
        recipe=recipe,
        folder=folder,
        is_copied=folder.records.exists(),
        prepared=prepared,
        filling=filling,
        sizes=sizes,
        check=check,
        notes=(*prepared.notes, *_weights_notes(recipe, wishes)),
        warnings=(
            *prepared.doubts,
            *_warnings(recipe, sizes, prepared.eval_split),
            *check.warnings,
        ),
    )


def _start(wishes: Wishes, recipe: Recipe, num_classes: int, watch: Watch) -> Start | None:
    if wishes.checkpoint is None and not wishes.pretrained:
        return None
    from holdfast.projects.start_weights import choose_start  # it loads Keras

    checkpoint = wishes.checkpoint
    if checkpoint is None:
        from holdfast.projects.pretrained_weights import pretrained_checkpoint

        checkpoint = pretrained_checkpoint(recipe, wishes.mirror, watch)
    return choose_start(checkpoint, recipe, num_classes, wishes.out)


def _weights_notes(recipe: Recipe, wishes: Wishes) -> Iterator[str]:
    if wishes.pretrained and not recipe.zoo:
        yield (
            "the zoo has no detector of this network: a classifier that Keras trained on ImageNet "
            "fills the backbone, and the rest starts from random weights"
        )


def _origin(recipe: Recipe, wishes: Wishes) -> dict[str, Any]:
    """Say what the folder is made from; the other options may differ from call to call."""
    reading = wishes.reading
    places = [_place(location, reading.format_name) for location in wishes.data]
    return {
        "recipe": recipe.name,
        "data": places[0] if len(places) == 1 else places,
        "format": reading.format_name,
        "images": reading.images,
        "classes": str(reading.choice) or None,
        "val": wishes.split.val,
        "resplit": wishes.split.resplit,
        "shards": wishes.split.shards,
        "seed": wishes.split.seed,
    }


def _place(location: str, format_name: str | None) -> str:
    is_place = format_name != "synthetic" and not is_remote(location)
    return os.path.realpath(os.path.expanduser(location)) if is_place else location


def _fit(recipe: Recipe, wishes: Wishes, num_classes: int, prepared: Prepared) -> NetworkFit:
    from holdfast.projects.fit_boxes import fit_network  # it loads Keras

    return fit_network(
        recipe,
        num_classes,
        open_reader(prepared.readers[TRAIN], wishes.out, name=TRAIN),
        prepared.statistics[TRAIN],
        input_size=wishes.input_size,
    )


def _filling(
    fit: NetworkFit, wishes: Wishes, num_classes: int, prepared: Prepared, start: Start | None
) -> Filling:
    readers, eval_split = prepared.readers, prepared.eval_split
    num_images = prepared.statistics[TRAIN].images
    crowds = [each.boxes_per_image for each in prepared.statistics.values()]
    return Filling(
        num_classes=num_classes,
        num_images=num_images,
        most_boxes=max(each.maximum for each in crowds if each),
        schedule=plan_schedule(fit.recipe, num_images, wishes.pace, trained=trained_by(start)),
        train_reader=readers[TRAIN],
        eval_reader=readers[eval_split] if eval_split else None,
        start=start,
        input_reason=fit.input_reason,
        anchors=fit.anchors,
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
            message="no image is held out: nothing will show how well it learns",
            fix="give --val a share such as 0.2",
        )
