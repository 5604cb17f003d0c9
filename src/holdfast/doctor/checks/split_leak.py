"""split-leak: images of the evaluation that the training has seen."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.units import count_text

WARNING_SHARE = 0.02  # of the evaluation images: below it, mAP changes by less than its noise
_EXAMPLES = 10
_HELD_OUT = ("val", "test", "eval")  # what records for evaluation are called


@check("split-leak", about="data", needs=("train.records", "evaluation.records"))
def split_leak(case: Case) -> Iterator[Finding]:
    """Images of the evaluation data are in the training data, too, or copies of them are.

    A detector remembers what it was trained on. On images that it has seen, also brighter, smaller
    or mirrored ones, it does better than it will on new images: the evaluation promises too much,
    and cannot tell when the detector begins to overfit.

    How it is seen: a perceptual hash of every image (64 frequencies of a small gray copy), compared
    between both data sets in all eight orientations. From 2 % of the evaluation images on it is a
    warning, below a note.

    What helps: split again. `holdfast convert --resplit` keeps copies, frames of one video and
    near-duplicates on one side.
    """
    from holdfast.doctor.twins import twins_between

    if set(case.evaluation.files) <= set(case.train.files):
        yield _same_files(case)
        return
    train, evaluation = case.train.appearances, case.evaluation.appearances
    twins = twins_between(train, evaluation)
    if not twins:
        return
    share = len(twins) / max(len(case.evaluation.images), 1)
    exact = sum(first.content == second.content for first, second in twins)
    yield Finding(
        code="split-leak",
        severity="warning" if share >= WARNING_SHARE else "note",
        what=f"{len(twins)} of {count_text(len(case.evaluation.images), 'evaluation image')} "
        f"({share:.0%}) are in the training data, too: {exact} as they are, the others as copies.",
        why="The evaluation measures what was remembered: new images will be detected worse.",
        evidence={
            "images": len(twins),
            "share": round(share, 4),
            "identical": exact,
            "examples": [
                {"evaluation": second.name, "training": first.name}
                for first, second in twins[:_EXAMPLES]
            ],
        },
        fix=Fix(
            text="Split the data again so that copies stay on one side: convert it from its source "
            "with --resplit.",
            command="holdfast convert SOURCE OUT --resplit",
        ),
    )


def _same_files(case: Case) -> Finding:
    place = "eval_input_reader[0].tf_record_input_reader.input_path"
    held_out = _held_out(case)
    images = case.evaluation.statistics.images
    return Finding(
        code="split-leak",
        severity="warning",
        what=f"The evaluation reads the training data itself: all {count_text(images, 'image')} "
        "were learned from.",
        why="The evaluation measures what was remembered: new images will be detected worse.",
        evidence={"files": [str(file) for file in case.evaluation.files[:_EXAMPLES]]},
        fix=Fix(
            text=f"Read {held_out}, which lies beside it, for evaluation."
            if held_out
            else "Split the data, and give eval_input_reader files of its own.",
            set={place: held_out} if held_out else {},
            command=None if held_out else "holdfast convert SOURCE OUT --resplit",
        ),
    )


def _held_out(case: Case) -> str:
    """Look for records of the same folder that training does not read."""
    folder = case.train.files[0].parent
    known = set(case.train.files)
    for name in _HELD_OUT:
        files = [file for file in folder.glob(f"*{name}*record*") if file not in known]
        if files:
            return str(folder / f"{files[0].name.partition('-')[0]}*")
    return ""
