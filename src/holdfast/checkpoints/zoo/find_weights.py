"""Which published weights a user or a config means."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from holdfast.checkpoints.zoo.detection_zoo import zoo_archives
from holdfast.checkpoints.zoo.imagenet_files import imagenet_files
from holdfast.checkpoints.zoo.published_weights import PublishedWeights
from holdfast.config.facts.networks import detector_of, extractor_of
from holdfast.config.recipes.recipe_table import RECIPES
from holdfast.config.schema.model import DetectionModel
from holdfast.errors import HoldfastError, nearest

IMAGENET = "imagenet"  # as a name: the classifier of a config's own backbone


@cache
def all_weights() -> Mapping[str, PublishedWeights]:
    """Give all that is known, by name: both zoos, then Keras' classifiers."""
    known = (*zoo_archives(), *imagenet_files().values())
    return {each.name: each for each in known}


def is_known(name: str) -> bool:
    """Tell whether there are published weights of that name, or a recipe."""
    return name in RECIPES or name in all_weights()


def find_weights(name: str) -> PublishedWeights:
    """Give the weights of a name, which may be a recipe's; HoldfastError names the nearest.

    >>> find_weights("fpnlite_320").name
    'ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8'
    """
    known = all_weights()
    name = RECIPES[name].zoo if name in RECIPES else name
    if name in known:
        return known[name]
    similar = nearest(name.lower(), [*known, *RECIPES], 3)
    fix = f"Did you mean {' or '.join(similar)}?" if similar else ""
    raise HoldfastError(
        f"There are no published weights {name!r}.",
        fix=fix or "`holdfast weights list` shows all.",
    )


def recipes_of(weights: PublishedWeights) -> tuple[str, ...]:
    """Name the recipes whose network the weights fill."""
    return tuple(recipe.name for recipe in RECIPES.values() if recipe.zoo == weights.name)


def imagenet_weights(model: DetectionModel | None) -> PublishedWeights:
    """Give the classifier that fills the backbone of a network; HoldfastError if there is none."""
    detector = detector_of(model) if model is not None else None
    known = extractor_of(detector)
    if detector is None or known is None:
        raise HoldfastError(
            "The config has no known feature extractor, so no weights are known for it.",
            fix="Set feature_extractor.type.",
        )
    width = float(getattr(detector.feature_extractor, "depth_multiplier", 1.0))
    files = imagenet_files()
    if (known.backbone, width) in files:
        return files[known.backbone, width]
    widths = sorted(multiplier for name, multiplier in files if name == known.backbone)
    raise HoldfastError(
        f"Keras has no ImageNet weights of {known.backbone} with depth_multiplier {width:g}.",
        fix=f"It has those with {', '.join(f'{each:g}' for each in widths)}."
        if widths
        else "Start from an archive of the zoo: `holdfast weights list`.",
    )
