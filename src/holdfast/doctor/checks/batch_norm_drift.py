"""batch-norm-drift: evaluation normalizes with other statistics than training does."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.learning import batch_norm_drifts, by_group, detects

_FROM_STEP = 200  # moving averages need some steps
_VARIANCE = 1.0  # natural logarithm: a factor of 2.7
_MEAN = 1.0  # deviations
_FAR = 2.0  # times these


@check("batch-norm-drift", about="run", needs=("vitals",))
def batch_norm_drift(case: Case) -> Iterator[Finding]:
    """The moving statistics of batch norms are far from those of the batches.

    Why it happens: training normalizes with the batch, evaluation with moving averages. They differ
    if the averages move too slowly for the length of the run (a decay of 0.9997 needs ten thousand
    steps), if batches are small or unlike each other, or if weights jump.

    How it is seen: by layer group, how far the means of the batch are from the moving ones in
    moving deviations, and the variances by their logarithm. The mean over channels and looks of 1
    (a factor of 2.7 for variances) is a warning; twice that is an error unless the run detects.

    What helps: batch_norm decay 0.9 to 0.97 for short runs, larger micro-batches, or frozen batch
    norm (freeze_batchnorm) when fine-tuning.
    """
    looks = [each for each in case.vitals if each.step >= _FROM_STEP]
    shifts = by_group(looks, "batch_norm", "mean_shift")
    ratios = batch_norm_drifts(case, looks)
    distance = {
        group: max(shifts.get(group, 0.0) / _MEAN, ratio / _VARIANCE)
        for group, ratio in ratios.items()
    }
    far = {group: each for group, each in distance.items() if each >= 1.0}
    if not far:
        return
    is_far = max(far.values()) >= _FAR and not detects(case)
    yield Finding(
        code="batch-norm-drift",
        severity="error" if is_far else "warning",
        what=f"In {len(far)} of {len(distance)} groups of layers batch norm would see other "
        "statistics in an evaluation than in training.",
        why="What was learned goes with the statistics of the batches: with others, detections are "
        "worse than the loss says, or there are none.",
        evidence={
            "groups": [
                {"group": group, "mean_shift": shifts.get(group), "log_variance": ratios[group]}
                for group in sorted(far, key=lambda each: -far[each])
            ],
            "look_at_step": looks[-1].step,
        },
        fix=Fix(
            text="Let the statistics follow faster, with batch_norm { decay: 0.95 } in "
            "conv_hyperparams; or train on, until they have caught up."
        ),
    )
