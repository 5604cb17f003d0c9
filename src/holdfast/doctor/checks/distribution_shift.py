"""distribution-shift: the evaluation data is of another kind than the training data."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix

# Distances between two parts of one data set stay below 0.2 with 50 images each; the probability
# guards where there are fewer.
WARNING_DISTANCE = 0.45
NOTE_DISTANCE = 0.25
MOST_PROBABLE = 0.002
HARMLESS = ("boxes per image",)  # an object looks the same among few others and among many


@check("distribution-shift", about="data", needs=("train.records", "evaluation.records"))
def distribution_shift(case: Case) -> Iterator[Finding]:
    """The evaluation data differs from the training data in a way that chance does not explain.

    A detector does well on images like those it learned from. If those of the evaluation are
    larger, darker, or show other classes in other sizes, mAP says how far it generalizes to them,
    not how well it has learned; a falling loss and a poor mAP look like overfitting then.

    How it is seen: image area, aspect ratio, boxes per image and the median box size of each image
    (all images), brightness, contrast and saturation (a sample) by the two-sample
    Kolmogorov-Smirnov test; the shares of the classes by their total variation, with a permutation
    test over images. A probability below 0.002 and a distance of 0.25 are a note, of 0.45 a
    warning, but for boxes per image: objects look the same among few others and among many.

    What helps: split the data at random, keeping copies together (`holdfast convert --resplit`); if
    the difference is meant, because later images will look like those of the evaluation, label some
    of these for training, or augment towards them.
    """
    from holdfast.doctor.shifts import shifts_between

    images = (case.train.images, case.evaluation.images)
    shifts = [
        each
        for each in shifts_between(*images, case.train.looks, case.evaluation.looks)
        if each.comparison.distance >= NOTE_DISTANCE and each.comparison.probability < MOST_PROBABLE
    ]
    if not shifts:
        return
    worst = max(shifts, key=lambda each: each.comparison.distance)
    is_warning = any(
        each.comparison.distance >= WARNING_DISTANCE and each.name not in HARMLESS
        for each in shifts
    )
    yield Finding(
        code="distribution-shift",
        severity="warning" if is_warning else "note",
        what=f"Training and evaluation data differ in {', '.join(each.name for each in shifts)}: "
        f"{worst.name} is {worst.train} in training and {worst.evaluation} in evaluation.",
        why="The evaluation measures how the detector does on another kind of images than it "
        "learns from.",
        evidence={
            "test": "Kolmogorov-Smirnov; classes: total variation, permuted over images",
            "shifts": [
                {
                    "of": each.name,
                    "distance": round(each.comparison.distance, 3),
                    "probability": float(f"{each.comparison.probability:.2g}"),
                    "training": each.train,
                    "evaluation": each.evaluation,
                }
                for each in shifts
            ],
        },
        fix=Fix(
            text="Split the data again at random if the difference is not meant; else label some "
            "images like those of the evaluation for training.",
            command="holdfast convert SOURCE OUT --resplit",
        ),
    )
