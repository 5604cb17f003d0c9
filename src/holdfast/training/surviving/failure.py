"""A loss that is not a number: the training stops, and keeps what is needed to find out why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError

if TYPE_CHECKING:  # processes meet before they load TensorFlow
    from holdfast.training.step.training_step import StepOutcome

_NAMED = 8  # images named in the message


class TrainingFailedError(HoldfastError):
    """The training cannot go on."""


def wrong_number(result: StepOutcome, skips: bool) -> str | None:
    """Say what of a step is not finite; the weights have not moved then.

    skips: with a loss scale, gradients too large for float16 are skipped and not an error.
    """
    from holdfast.training.step.training_step import TOTAL

    losses = {name: float(value) for name, value in result.losses.items()}
    bad = [name for name, value in losses.items() if not math.isfinite(value) and name != TOTAL]
    if bad:
        return f"{bad[0]} is {losses[bad[0]]}"
    if skips or math.isfinite(float(result.gradient_norm)):
        return None
    return "the gradient is not finite"


def wrong_step(
    step: int, what: str, images: Sequence[str], capsule: Path | None
) -> TrainingFailedError:
    """Give the error that ends a training at a step, which counts from 1."""
    kept = "" if capsule is None else f" All of the step is kept in {capsule}."
    look = "" if capsule is None else f"`holdfast replay {capsule}` shows where it begins. "
    return TrainingFailedError(
        f"At step {step}, {what}. The batch: {', '.join(images[:_NAMED])}.{kept} The weights were "
        "not changed by it.",
        fix=f"{look}Look at these images with `holdfast inspect`; lower the learning rate, or clip "
        "gradients with train_config.gradient_clipping_by_norm: 10.",
    )
