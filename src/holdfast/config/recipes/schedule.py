"""How long to train, in which batches, at which learning rate: decided by images and weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

from holdfast.config.recipes.recipe import Recipe, Trained
from holdfast.errors import HoldfastError

# From a detector's weights half as many epochs suffice as from none.
EPOCHS, FINE_TUNING_EPOCHS = 80, 40
# Fewer steps leave the head half learned, whatever the number of images, and from fresh weights all
# the rest, too; more than the most is a decision of the user.
FEWEST_STEPS, FEWEST_FINE_TUNING_STEPS, MOST_STEPS = 1000, 500, 100_000
_FINE_TUNING_BATCH = (
    8  # small data is seen in more steps; batch norm, which is frozen, does not matter
)
_WARMUP_SHARE = 10  # one step of so many
_WARMUP_START = 10  # the learning rate starts at one part of so many
_AVERAGED_SHARE = 10  # the weights of the last so-manieth of the steps are averaged
_MOST_AVERAGED_STEPS = 1000


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The length and pace of a training."""

    batch_size: int
    num_steps: int
    epochs: float  # that the steps come to
    learning_rate: float
    warmup_learning_rate: float
    warmup_steps: int
    averaged_steps: int  # whose weights the moving average is about

    @property
    def epochs_text(self) -> str:
        """The epochs, in as many digits as matter."""
        return f"{self.epochs:.0f}" if self.epochs >= 10 else f"{self.epochs:.1f}"


@dataclass(frozen=True, kw_only=True)
class WantedPace:
    """What the user asks for; None: what suits the data."""

    batch_size: int | None = None
    epochs: int | None = None
    steps: int | None = None


def plan_schedule(
    recipe: Recipe,
    num_images: int,
    pace: WantedPace = WantedPace(),
    *,
    trained: Trained = Trained.NOTHING,
) -> Schedule:
    """Fit the recipe's training to a number of images.

    The learning rate follows the batch size, in proportion or for Adam by the root: from the
    published pair, or from the one found for weights that are trained already.

    Args:
        recipe: The network.
        num_images: To train on.
        pace: What the user asks for.
        trained: What of the network is trained already.

    Returns:
        Steps, batch size and learning rate.

    >>> from holdfast.config.recipes.recipe_table import find_recipe
    >>> plan = plan_schedule(find_recipe("fpnlite_320"), 1000)
    >>> plan.batch_size, plan.num_steps, plan.learning_rate, plan.warmup_steps
    (16, 5000, 0.01, 500)
    """
    fine_tunes = trained is Trained.DETECTOR
    batch_size = _batch_size(recipe, num_images, pace.batch_size, fine_tunes)
    num_steps = _num_steps(num_images, batch_size, pace, fine_tunes)
    learning_rate = recipe.rate(trained).rate.scaled(batch_size)
    return Schedule(
        batch_size=batch_size,
        num_steps=num_steps,
        epochs=num_steps * batch_size / num_images,
        learning_rate=learning_rate,
        warmup_learning_rate=learning_rate / _WARMUP_START,
        warmup_steps=num_steps // _WARMUP_SHARE,
        averaged_steps=min(max(num_steps // _AVERAGED_SHARE, 1), _MOST_AVERAGED_STEPS),
    )


def _num_steps(num_images: int, batch_size: int, pace: WantedPace, fine_tunes: bool) -> int:
    if pace.steps is not None:
        return pace.steps
    epochs = pace.epochs or (FINE_TUNING_EPOCHS if fine_tunes else EPOCHS)
    wanted = math.ceil(num_images * epochs / batch_size / 100) * 100
    return min(max(wanted, FEWEST_FINE_TUNING_STEPS if fine_tunes else FEWEST_STEPS), MOST_STEPS)


def _batch_size(recipe: Recipe, num_images: int, wanted: int | None, fine_tunes: bool) -> int:
    if num_images < 1:
        raise HoldfastError("There is no image to train on.", fix="Look at what was left out.")
    if wanted is None:
        most = min(recipe.batch_size, _FINE_TUNING_BATCH) if fine_tunes else recipe.batch_size
        return min(most, num_images)
    if not 1 <= wanted <= num_images:
        fix = f"Choose from 1 to {num_images}."
        raise HoldfastError(
            f"A batch of {wanted} cannot be taken from {num_images} training images.", fix=fix
        )
    return wanted
