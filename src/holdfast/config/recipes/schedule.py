"""How long to train, in which batches, at which learning rate: decided by the number of images."""

from __future__ import annotations

import math
from dataclasses import dataclass

from holdfast.config.recipes.recipe import Recipe
from holdfast.errors import HoldfastError

EPOCHS = 80
# Fewer steps leave batch-norm statistics and the head half learnt, whatever the number of images;
# more than this is a decision of the user.
FEWEST_STEPS, MOST_STEPS = 1000, 100_000
_WARMUP_SHARE = 20  # one step of so many
_WARMUP_START = 10  # the learning rate starts at one part of so many


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The length and pace of a training."""

    batch_size: int
    num_steps: int
    epochs: float  # that the steps come to
    learning_rate: float
    warmup_learning_rate: float
    warmup_steps: int

    @property
    def epochs_text(self) -> str:
        """The epochs, in as many digits as matter."""
        return f"{self.epochs:.0f}" if self.epochs >= 10 else f"{self.epochs:.1f}"


def plan_schedule(
    recipe: Recipe, num_images: int, *, batch_size: int | None = None, epochs: int = EPOCHS
) -> Schedule:
    """Fit the recipe's training to a number of images.

    The learning rate follows the batch size in proportion, from the published pair.

    >>> from holdfast.config.recipes.recipe import find_recipe
    >>> plan = plan_schedule(find_recipe("fpnlite_320"), 1000)
    >>> plan.batch_size, plan.num_steps, plan.learning_rate, plan.warmup_steps
    (16, 5000, 0.01, 250)
    """
    batch_size = _batch_size(recipe, num_images, batch_size)
    if epochs < 1:
        raise HoldfastError(f"{epochs} epochs train nothing; the least is 1.")
    wanted = math.ceil(num_images * epochs / batch_size / 100) * 100
    num_steps = min(max(wanted, FEWEST_STEPS), MOST_STEPS)
    published = recipe.published
    learning_rate = published.learning_rate * batch_size / published.batch_size
    return Schedule(
        batch_size=batch_size,
        num_steps=num_steps,
        epochs=num_steps * batch_size / num_images,
        learning_rate=learning_rate,
        warmup_learning_rate=learning_rate / _WARMUP_START,
        warmup_steps=num_steps // _WARMUP_SHARE,
    )


def _batch_size(recipe: Recipe, num_images: int, wanted: int | None) -> int:
    if num_images < 1:
        raise HoldfastError("There is no image to train on.", fix="Look at what was left out.")
    if wanted is None:
        return min(recipe.batch_size, num_images)
    if not 1 <= wanted <= num_images:
        fix = f"Choose from 1 to {num_images}."
        raise HoldfastError(
            f"A batch of {wanted} cannot be taken from {num_images} training images.", fix=fix
        )
    return wanted
