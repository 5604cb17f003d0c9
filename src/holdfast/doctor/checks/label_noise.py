"""label-noise: labels that a trained detector contradicts, or that follow no rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError
from holdfast.runs.json_text import JsonValue

if TYPE_CHECKING:
    from holdfast.doctor.label_doubts import Doubt, LabelDoubts

WARNING_SHARE = 0.02  # of the labels
LEAST_CANDIDATES = 3
# On data that can be learned the nearest neighbor agrees with labels by 11 and more.
SHUFFLED_CERTAINTY = 3.0  # standard errors
SHUFFLED_BOXES = 100  # the fewest to say so
_MOST_LISTED = 1000
_MOST_PICTURES = 24


@check("label-noise", about="data", needs=("train.records", "train.statistics"))
def label_noise(case: Case) -> Iterator[Finding]:
    """Labels are probably wrong: a trained detector contradicts them, or classes follow no rule.

    A few percent of wrong labels, boxes beside their object or of the wrong class, are common. They
    cost accuracy twice: in what is learned, and in what is measured.

    How it is seen, with a run: its detector looks at the training images. A label is doubted by how
    much surer the detector is of another class at the same place, or of the same class at another
    place, than of the label itself; scores count relative to what is usual for their class
    (confident learning, arXiv 1911.00068). The labels are listed by falling doubt, and the first
    ones are drawn into the run's folder `doctor/label-noise`. 2 % of all labels are a warning,
    three labels a note. A detector that finds fewer than 40 % of the labels judges none.

    Without a run: the box that looks most like another (colors and size) has its class no more
    often than chance. Then classes have been shuffled, and nothing can be learned from them: an
    error.

    What helps: look at the pictures and correct the labels that are wrong, first in the evaluation
    data; then train again. If classes are shuffled, convert the data again: labels were probably
    paired with the wrong boxes or images.
    """
    if finding := _shuffled(case):
        yield finding
        return
    seen = case.seen_by_model
    from holdfast.doctor.label_doubts import LEAST_FOUND, doubt_labels

    doubts = doubt_labels(seen)
    if doubts.found_share < LEAST_FOUND:
        raise MissingError(
            f"the run's detector finds {doubts.found_share:.0%} of the labels so far: too few for "
            "it to judge them"
        )
    candidates = doubts.candidates
    if len(candidates) < LEAST_CANDIDATES:
        return
    yield _contradicted(case, doubts, candidates)


def _shuffled(case: Case) -> Finding | None:
    from holdfast.doctor.class_looks import agreement, describe_boxes

    found = agreement(describe_boxes(case.train.looks))
    if found is None or found.boxes < SHUFFLED_BOXES or found.certainty >= SHUFFLED_CERTAINTY:
        return None
    return Finding(
        code="label-noise",
        severity="error",
        what=f"Classes follow no rule: the box that looks most like another has its class in "
        f"{found.share:.0%}, and chance would give {found.chance:.0%}.",
        why="Where classes are shuffled there is nothing to learn about them: boxes are found at "
        "best, each with any class.",
        evidence={
            "agreement": round(found.share, 3),
            "chance": round(found.chance, 3),
            "certainty": round(found.certainty, 1),
            "boxes": found.boxes,
            "classes": found.classes,
        },
        fix=Fix(
            text="Look at the sheet that `holdfast inspect` draws. If boxes have wrong classes, "
            "convert the data again: labels were paired with the wrong boxes. Classes that only "
            "experts can tell apart may look alike to this test."
        ),
    )


def _contradicted(case: Case, doubts: LabelDoubts, candidates: Sequence[Doubt]) -> Finding:
    share = len(candidates) / len(doubts.ranked)
    kinds = Counter(each.kind for each in candidates)
    folder = _drawn(case, candidates)
    first = candidates[0]
    return Finding(
        code="label-noise",
        severity="warning" if share >= WARNING_SHARE else "note",
        what=f"{len(candidates)} of {len(doubts.ranked)} labels ({share:.1%}) contradict what the "
        f"run's detector sees: {kinds['class']} have another class, {kinds['moved']} lie "
        f"elsewhere. The first is {first.label!r} in {first.image.name}.",
        why="Wrong labels cost accuracy twice: in what is learned, and in what is measured.",
        evidence={
            "candidates": [_row(each) for each in candidates[:_MOST_LISTED]],
            "share": round(share, 4),
            "labels": len(doubts.ranked),
            "found_share": round(doubts.found_share, 3),
            "objects_without_label": len(doubts.unlabeled),
            "pictures": str(folder) if folder is not None else None,
        },
        fix=Fix(
            text="Look at the candidates"
            + (f" in {folder}" if folder is not None else "")
            + ", the first ones first, correct those that are wrong in the source, convert again "
            "and train again."
        ),
    )


def _row(doubt: Doubt) -> dict[str, JsonValue]:
    file, number = doubt.image.place
    return {
        "image": doubt.image.name,
        "label": doubt.label,
        "kind": doubt.kind,
        "seen_as": doubt.seen_as,
        "score": round(doubt.score, 3),
        "doubt": round(doubt.doubt, 3),
        "box": [round(side, 4) for side in doubt.image.boxes[doubt.label_index].tolist()],
        "seen_box": None
        if doubt.seen_box is None
        else [round(side, 4) for side in doubt.seen_box.tolist()],
        "file": file,
        "record": number,
        "index": doubt.label_index,
    }


def _drawn(case: Case, candidates: Sequence[Doubt]) -> Path | None:
    """Draw the first candidates; None where the run's folder cannot be written."""
    from holdfast.doctor.doubt_pictures import draw_doubts

    try:
        return draw_doubts(case.run_path, candidates[:_MOST_PICTURES], case.train.records)
    except OSError:
        return None
