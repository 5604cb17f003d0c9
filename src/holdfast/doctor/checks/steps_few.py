"""steps-few: the run is over before the images were seen a few times."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.schema.optimizer import CosineDecayLearningRate
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError

# The shortest fine-tunings that were tried here (docs/new.md) have 300 steps and more; published
# ones thousands. A long run may well see its images once: then there are enough of them.
_FEW_STEPS = 200
_FEW_EPOCHS = 5.0
_HARDLY_ANY_EPOCHS = 1.0
_WANTED_EPOCHS = 40  # as of `holdfast new`, from a detector's weights


@check("steps-few", about="config", needs=("train_config", "num_steps", "train.statistics"))
def steps_few(case: Case) -> Iterator[Finding]:
    """The run has so few steps that hardly anything can be learned.

    Why it happens: num_steps was given in epochs, as other programs count, or is left from a trial.
    A step is one batch: 50 steps of 8 images see 400 images.

    How it is seen: fewer than 200 steps in which each image is seen less than 5 times are a
    warning; if not even each image is seen once, an error.

    What helps: 40 passes over the data, and no fewer than some hundred steps.
    """
    images, steps = case.train.statistics.images, case.num_steps
    batch = case.train_config.batch_size
    epochs = steps * batch / max(images, 1)
    if not images or steps >= _FEW_STEPS or epochs >= _FEW_EPOCHS:
        return
    wanted = max(round(_WANTED_EPOCHS * images / batch), _FEW_STEPS)
    yield Finding(
        code="steps-few",
        severity="error" if epochs < _HARDLY_ANY_EPOCHS else "warning",
        what=f"The run has {steps} steps: each of the {images} images is seen {epochs:.2g} times.",
        why="A step is one batch, not an epoch: so few change the weights too little to detect.",
        evidence={"num_steps": steps, "batch_size": batch, "images": images, "epochs": epochs},
        fix=Fix(
            text=f"Train for {wanted} steps, which are {wanted * batch / images:.0f} epochs, with "
            "a schedule as long.",
            set={"train_config.num_steps": str(wanted)} | _schedule(case, wanted),
        ),
    )


def _schedule(case: Case, steps: int) -> dict[str, str]:
    try:
        curve = case.rate_curve
    except MissingError:
        return {}
    is_cosine = isinstance(curve.schedule, CosineDecayLearningRate)
    return {f"{curve.path}.total_steps": str(steps)} if is_cosine else {}
