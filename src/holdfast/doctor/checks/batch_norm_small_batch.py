"""batch-norm-small-batch: batch norm takes its statistics from one or two images."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.schema.ssd import Ssd
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError
from holdfast.doctor.network_facts import trains_batch_norm

# Group Normalization (arXiv 1803.08494, figure 1): from 8 images down to 4 batch norm loses about
# one point of accuracy, at 2 images more than 10.
_TOO_FEW, _FEW = 2, 4


@check("batch-norm-small-batch", about="config", needs=("detector", "train_config"))
def batch_norm_small_batch(case: Case) -> Iterator[Finding]:
    """Batch norm trains on the statistics of very few images.

    Why it happens: batch_size was lowered until it fits, or the batch is computed in pieces, each
    with statistics of its own. The mean and variance of one or two images say little about the
    others: what the network sees in training differs from what it sees in evaluation, and mAP is
    far below what the loss promises. On a map of 1 x 1 one image has no variance at all.

    How it is seen: batch norm is not frozen, and the images that are computed at once (batch_size,
    or the micro-batch of the run's plan) are 1 or 2; for 3 and 4 it is a note.

    What helps: freeze batch norm, with weights of a trained detector; a smaller input with a larger
    batch; group norm.
    """
    images = _images_at_once(case)
    if not trains_batch_norm(case.detector) or images > _FEW:
        return
    freezes = isinstance(case.detector, Ssd) and bool(case.train_config.fine_tune_checkpoint)
    yield Finding(
        code="batch-norm-small-batch",
        severity="warning" if images <= _TOO_FEW else "note",
        what=f"Batch norm takes its statistics from {images} "
        f"image{'' if images == 1 else 's'} at a time.",
        why="Statistics of so few images are noise: evaluation, which uses their averages, sees "
        "another network than the one that was trained.",
        evidence={"images_at_once": images, "batch_size": case.train_config.batch_size},
        fix=Fix(
            text="Freeze batch norm: the weights that the training starts from have statistics."
            if freezes
            else "Compute 8 images or more at once, in a smaller input if they do not fit.",
            set={f"{case.detector_path}.freeze_batchnorm": "true"} if freezes else {},
        ),
    )


def _images_at_once(case: Case) -> int:
    try:
        return case.plan.settings.micro_batch
    except MissingError:
        return case.train_config.batch_size
