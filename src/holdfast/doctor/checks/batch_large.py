"""batch-large: an epoch is over after a few steps."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError
from holdfast.doctor.rate_fix import scaled_rate
from holdfast.doctor.usual_rates import usual_rates

_FEW_STEPS = 5  # an epoch: `holdfast new` never makes fewer than some ten
_SMALL = 4  # images: with fewer, steps are noise, and batch norm has no statistics


@check("batch-large", about="config", needs=("train_config", "train.statistics"))
def batch_large(case: Case) -> Iterator[Finding]:
    """The batch is large for the number of images: an epoch has only a few steps.

    Why it happens: a published batch of 64 to 512 images meets a data set of some hundred. Every
    step shows a large part of the data, so that all steps are alike: less noise than a small data
    set needs to be generalized from, and few steps for the time that they take.

    How it is seen: the images of the training data, divided by batch_size. Fewer than 5 steps are a
    note; a batch of more images than there are is a warning, since it shows some of them twice. Of
    4 images and fewer nothing is said: smaller batches have other faults.

    What helps: a batch of 8 to 16 with a learning rate that is scaled along.
    """
    images, batch = case.train.statistics.images, case.train_config.batch_size
    if not images or images >= _FEW_STEPS * batch or batch <= min(_SMALL, images):
        return
    wanted = min(max(min(8, images // 10), _SMALL), images)
    yield Finding(
        code="batch-large",
        severity="warning" if batch > images else "note",
        what=f"A batch of {batch} is {min(batch / images, 9.99):.0%} of the {images} images to "
        "train on.",
        why="Steps that see nearly all of the data are alike: many of them teach no more than few.",
        evidence={"batch_size": batch, "images": images, "steps_per_epoch": images / batch},
        fix=Fix(
            text=f"Train with {wanted} images a step, and scale the learning rate along.",
            set={"train_config.batch_size": str(wanted)} | _scaled(case, wanted),
        ),
    )


def _scaled(case: Case, batch: int) -> dict[str, str]:
    """Give the rates that suit another batch, as published ones do."""
    try:
        before, optimizer = case.usual_rates, case.train_config.optimizer
    except MissingError:
        return {}
    after = usual_rates(case.detector, optimizer, batch) if optimizer is not None else None
    return scaled_rate(case, after.high / before.high) if after is not None else {}
