"""How large a data set's boxes are at a network's input, and whether that is enough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.config.recipes.recipe import Recipe
from holdfast.config.recipes.recipe_table import RECIPES
from holdfast.errors import Problem

# A box of 8 pixels is a single cell of the finest feature map of most networks.
SMALLEST_SIDE = 8


class Sides(NamedTuple):
    """Height and width, in pixels."""

    height: float
    width: float

    @property
    def mean(self) -> float:
        """The side of a square of the same area."""
        return math.sqrt(self.height * self.width)


@dataclass(frozen=True, kw_only=True)
class MedianSizes:
    """The median image and the median box of a data set, each side on its own, in pixels."""

    image: Sides
    box: Sides


def box_at_input(recipe: Recipe, sizes: MedianSizes) -> Sides:
    """Give the median box after the recipe's resizing.

    >>> from holdfast.config.recipes.recipe_table import find_recipe
    >>> sizes = MedianSizes(image=Sides(500, 1000), box=Sides(50, 100))
    >>> box_at_input(find_recipe("fpnlite_320"), sizes)
    Sides(height=32.0, width=32.0)
    >>> box_at_input(find_recipe("efficientdet_d0"), sizes)
    Sides(height=25.6, width=51.2)
    """
    image, box = sizes.image, sizes.box
    if recipe.keeps_aspect_ratio:
        scale = min(recipe.input_size / max(image), recipe.shorter_pixels / min(image))
        return Sides(box.height * scale, box.width * scale)
    return Sides(
        box.height * recipe.input_size / image.height, box.width * recipe.input_size / image.width
    )


def judge_box_sides(recipe: Recipe, sizes: MedianSizes) -> Problem | None:
    """Warn if half of the boxes are too small for the recipe's input, and name a better one."""
    seen = box_at_input(recipe, sizes)
    if seen.mean >= SMALLEST_SIDE:
        return None
    better = _better(recipe, sizes)
    message = (
        f"half of the boxes are smaller than {_text(seen)} pixels at this network's input of "
        f"{recipe.input_size} x {recipe.input_size}: it will miss many of them"
    )
    tiles = "cut the images into tiles"
    if better is None:
        fix = f"{tiles}; no recipe has a larger input"
    else:
        fix = f"{better.name} sees them at {_text(box_at_input(better, sizes))}"
        if box_at_input(better, sizes).mean < SMALLEST_SIDE:
            fix += f", which is still small: {tiles} as well"
    return Problem(severity="warning", message=message, fix=fix)


def _better(recipe: Recipe, sizes: MedianSizes) -> Recipe | None:
    """Choose the smallest sufficient recipe, if possible of the same kind; else the largest."""
    alike = [each for each in RECIPES.values() if each.stages == recipe.stages]
    larger = [each for each in alike if each.input_size > recipe.input_size]
    larger.sort(key=lambda each: (each.template != recipe.template, each.input_size))
    for each in larger:
        if box_at_input(each, sizes).mean >= SMALLEST_SIDE:
            return each
    return max(larger, key=lambda each: box_at_input(each, sizes).mean, default=None)


def _text(sides: Sides) -> str:
    return f"{sides.width:.2g} x {sides.height:.2g}"
