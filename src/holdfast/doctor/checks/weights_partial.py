"""weights-partial: the checkpoint fills only a part of the network."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix

# Checkpoints of the right network lack at most layers that were added on top of it.
_SOME_MISSING, _MOST_MISSING = 0.1, 0.5


@check("weights-partial", about="config", needs=("train_config", "start_weights"))
def weights_partial(case: Case) -> Iterator[Finding]:
    """Only a part of the network is filled from the checkpoint that training starts from.

    Why it happens: the checkpoint is of another network or another depth_multiplier, or
    fine_tune_checkpoint_type does not suit it. The OD API loads what fits and says nothing; what
    does not fit starts from noise, and spoils what was loaded.

    How it is seen: the network is built, and its variables are looked for in the checkpoint, as a
    training does. More than a tenth missing or of another shape is a warning, more than half, or
    nothing that fits, an error. Heads for another number of classes do not count.

    What helps: the checkpoint of the same network; fine_tune_checkpoint_type "detection" for a
    detector's checkpoint, "classification" for a classifier's.
    """
    weights = case.start_weights
    report = weights.report
    lost = () if report is None else _lost(report.missing) + _lost(report.mismatched)
    loaded = 0 if report is None else len(report.loaded)
    share = 1.0 if report is None else len(lost) / max(len(lost) + loaded, 1)
    if share <= _SOME_MISSING:
        return
    yield Finding(
        code="weights-partial",
        severity="error" if share > _MOST_MISSING else "warning",
        what=weights.problem
        or f"{len(lost)} of {len(lost) + loaded} variables are not in {weights.prefix}.",
        why="What is not loaded starts from noise, and spoils the rest while it learns.",
        evidence={
            "checkpoint": weights.prefix,
            "fine_tune_checkpoint_type": weights.kind,
            "loaded": loaded,
            "not_loaded": len(lost),
            "examples": list(lost[:5]),
        },
        fix=Fix(
            text="Start from a checkpoint of the same network, with a type that suits it: "
            '"detection" for a detector, "classification" for a classifier.'
        ),
    )


def _lost(names: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out what may differ: heads, which have a number of classes."""
    return tuple(name for name in names if "redict" not in name and "head" not in name)
