"""class-imbalance: some classes have far fewer boxes than others."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.schema.center_net import CenterNet
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError

# Blood cells at 1:12 are learned well without weights, rare classes at 1:100 are not; between the
# two a warning would be about half of the data sets that people train on.
WARNING_RATIO = 40.0
NOTE_RATIO = 15.0
_MOST_ROWS = 20


@check("class-imbalance", about="data", needs=("train.records", "train.statistics"))
def class_imbalance(case: Case) -> Iterator[Finding]:
    """Some classes have far fewer boxes than others, and will be learned last or not at all.

    Every box counts alike in the loss. A class with a hundredth of the boxes has a hundredth of the
    loss, and a detector that never finds it loses nearly nothing: its AP stays at 0 while mAP and
    loss look fine for the frequent ones.

    How it is seen: boxes of each class in the training data, against the most frequent one. From
    1:40 on it is a warning, from 1:15 on a note.

    What helps: class weights (`holdfast train --class-weights auto` weighs by the effective number
    of boxes, arXiv 1901.05555), more images of the rare classes, or images with them in the records
    more than once. CenterNet takes no weights: add images.
    """
    counts = {name: boxes for name, boxes in case.train.statistics.classes.items() if boxes}
    if len(counts) < 2:
        return
    most = max(counts, key=lambda name: counts[name])
    rare = {name: boxes for name, boxes in counts.items() if counts[most] >= NOTE_RATIO * boxes}
    if not rare:
        return
    rarest = min(rare, key=lambda name: rare[name])
    ratio = counts[most] / counts[rarest]
    yield Finding(
        code="class-imbalance",
        severity="warning" if ratio >= WARNING_RATIO else "note",
        what=f"{most!r} has {counts[most]} boxes and {rarest!r} {counts[rarest]}: "
        f"1 to {ratio:.0f}.",
        why="Every box counts alike in the loss: a detector that never finds the rare classes "
        "loses nearly nothing.",
        evidence={
            "ratio": round(ratio, 1),
            "classes": _rows(counts),
            "rare_classes": sorted(rare, key=lambda name: rare[name])[:_MOST_ROWS],
        },
        fix=_fix(case),
    )


def _rows(counts: dict[str, int]) -> list[dict[str, str | int | float]]:
    """Give boxes and suggested weights, the rarest classes first."""
    from holdfast.losses.class_weights import effective_number_weights

    weights = dict(zip(counts, effective_number_weights(list(counts.values())), strict=True))
    rows = sorted(counts, key=lambda name: counts[name])[:_MOST_ROWS]
    return [
        {"class": name, "boxes": counts[name], "suggested_weight": round(weights[name], 3)}
        for name in rows
    ]


def _fix(case: Case) -> Fix:
    try:
        takes_weights = not isinstance(case.detector, CenterNet)
    except MissingError:
        takes_weights = True
    if not takes_weights:
        return Fix(text="Add images of the rare classes: CenterNet takes no class weights.")
    return Fix(
        text="Weigh the classes (the suggested weights are those of --class-weights auto), and add "
        "images of the rare ones.",
        command=f"holdfast train {case.shown_path} --class-weights auto --run RUN",
    )
