"""class-never-seen: a class of the label map that the training data has no box of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.config.label_map import class_name, classes
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError

_NAMED = 10


@check("class-never-seen", about="data", needs=("train.records", "train.statistics", "label_maps"))
def class_never_seen(case: Case) -> Iterator[Finding]:
    """A class of the label map has no box in the training data: it will never be detected.

    The network gets an output for the class and learns that it is never right. If the evaluation
    data has boxes of it, each of them is missed, and mAP is lower by the share of such classes.

    How it is seen: names of the training label map without any box that is kept. It is an error if
    the evaluation data has that class, otherwise a warning; where most classes of a large map are
    unused, as with COCO's 90, it is a note.

    What helps: correct the spelling of the name in the label map or the records; label images of
    the class; or leave it out of the label map, and lower num_classes.
    """
    if case.label_maps.train is None:
        raise MissingError("the training data has no label map that can be read")
    names = [class_name(item) for item in classes(case.label_maps.train)]
    unseen = [name for name in dict.fromkeys(names) if not case.train.statistics.classes.get(name)]
    if not unseen or not case.train.statistics.boxes:
        return  # without any box at all, other findings say why
    wanted = _evaluated(case)
    missed = {name: wanted[name] for name in unseen if wanted.get(name)}
    listed = ", ".join(map(repr, unseen[:_NAMED]))
    more = f" and {len(unseen) - _NAMED} more" if len(unseen) > _NAMED else ""
    is_mostly_unused = len(unseen) > len(names) / 2
    yield Finding(
        code="class-never-seen",
        severity="error" if missed else "note" if is_mostly_unused else "warning",
        what=f"The training data has no box of {listed}{more}"
        + (f"; the evaluation data has {sum(missed.values())}." if missed else "."),
        why="What is never shown is never detected"
        + (": these classes count with an AP of 0." if missed else "."),
        evidence={
            "never_seen": unseen,
            "classes_of_the_map": len(names),
            "boxes_to_evaluate": missed,
        },
        fix=Fix(
            text="Correct the names in the label map if the data spells them otherwise, label "
            "images of these classes, or leave them out of the label map."
        ),
    )


def _evaluated(case: Case) -> Mapping[str, int]:
    try:
        return case.evaluation.statistics.classes
    except MissingError:
        return {}
