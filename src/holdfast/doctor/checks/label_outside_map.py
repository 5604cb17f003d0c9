"""label-outside-map: boxes of classes that the label map does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.config.label_map import read_label_map
from holdfast.config.paths import find_files
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError
from holdfast.errors import Problem, errors_of, nearest

if TYPE_CHECKING:
    from holdfast.data.survey.statistics import Statistics

MANY = 0.05  # of the boxes: what is left out then is a class, not a slip
_NAMED = 8


class _Outside(NamedTuple):
    data: str  # training or evaluation
    boxes: int
    share: float
    classes: dict[str, int]  # as the records write them -> boxes
    zeros: int  # boxes with an id of 0 or less
    known: list[str]  # names of the label map


@check("label-outside-map", about="data", needs=("config",))
def label_outside_map(case: Case) -> Iterator[Finding]:
    """Boxes have a class that the label map, or num_classes, does not reach: they are left out.

    Records name the class of a box by a text, an id, or both; the label map gives each its number.
    What it lacks is not learned from, and in evaluation not looked for. The usual reasons are
    another spelling, ids that count from 0, and the label map of other data.

    How it is seen: boxes of the training and the evaluation data whose text or id is not in the
    label map, with an id of 0 or less, or without a label map above num_classes. From 5 % of the
    boxes on it is an error, below a warning. A label map that is there and cannot be used, such as
    one that gives a class the id 0, is an error, too.

    What helps: name the label map that belongs to the data, correct the names in it, or convert the
    data anew with ids that count from 1: 0 is the background.
    """
    if unusable := next(_unusable_maps(case), None):
        yield unusable
        return
    found = [each for each in _outside(case) if each.boxes]
    if not found:
        return
    worst = max(found, key=lambda each: each.share)
    is_error = worst.share >= MANY
    meant = _meant(worst)
    counts = ", ".join(
        f"{name!r} ({boxes})" for name, boxes in list(worst.classes.items())[:_NAMED]
    )
    zeros = f"{worst.zeros} with id 0 or less" if worst.zeros else ""
    yield Finding(
        code="label-outside-map",
        severity="error" if is_error else "warning",
        what=f"{worst.boxes} boxes of the {worst.data} data ({worst.share:.1%}) have a class that "
        f"the label map does not have: {', '.join(filter(None, (counts, zeros)))}.",
        why="They are left out: nothing is learned from them, and the objects they show count as "
        "background.",
        evidence={
            "data": [
                {"data": each.data, "boxes": each.boxes, "share": round(each.share, 4)}
                for each in found
            ],
            "classes": dict(list(worst.classes.items())[:50]),
            "label_map": worst.known[:50],
            "probably_meant": meant,
        },
        fix=Fix(text=_advice(worst, meant)),
    )


def _unusable_maps(case: Case) -> Iterator[Finding]:
    """Find label maps that are there, and that training refuses to read."""
    readers = {"train_input_reader": case.config.train_input_reader}
    numbered = enumerate(case.config.eval_input_reader)
    readers |= {f"eval_input_reader[{at}]": each for at, each in numbered}
    for name, reader in readers.items():
        path = reader.label_map_path if reader is not None else ""
        for file in find_files(path, case.folder).files[:1] if path else ():
            if wrong := errors_of(read_label_map(file).problems):
                yield _unusable(name, path, wrong)


def _unusable(name: str, path: str, wrong: Sequence[Problem]) -> Finding:
    first = wrong[0]
    place = f"line {first.line}: " if first.line else ""
    return Finding(
        code="label-outside-map",
        severity="error",
        what=f"The label map {path} of {name} cannot be used: {place}{first.message}.",
        why="Training refuses to begin without a label map that gives each class an id from 1 on.",
        evidence={"label_map": path, "problems": [str(each) for each in wrong[:_NAMED]]},
        fix=Fix(
            text=f"In {path}, {first.fix}."
            if first.fix
            else f"Correct {path}, or name the label map that belongs to the data."
        ),
    )


def _outside(case: Case) -> Iterator[_Outside]:
    yield _of(case, "training", case.train.statistics, case.train.records.names)
    try:
        statistics, names = case.evaluation.statistics, case.evaluation.records.names
    except MissingError:
        return
    yield _of(case, "evaluation", statistics, names)


def _of(case: Case, data: str, statistics: Statistics, names: Mapping[int, str] | None) -> _Outside:
    from holdfast.data.survey.box_validity import Reason

    counts = {each.reason: each.boxes for each in statistics.left_out}
    zeros = counts.get(Reason.NO_CLASS.text, 0)
    unknown = dict(statistics.unknown_classes)
    boxes = counts.get(Reason.UNKNOWN_CLASS.text, 0) + zeros
    if not names:
        beyond = _beyond(case, statistics)
        unknown, boxes = unknown | beyond, boxes + sum(beyond.values())
    total = statistics.boxes + statistics.boxes_left_out
    known = list(names.values()) if names else []
    return _Outside(data, boxes, boxes / max(total, 1), unknown, zeros, known)


def _beyond(case: Case, statistics: Statistics) -> dict[str, int]:
    """Give ids above num_classes, which nothing but the network's outputs bounds."""
    num_classes = case.detector.num_classes
    ids = {name: boxes for name, boxes in statistics.classes.items() if name.isdecimal()}
    return {name: boxes for name, boxes in ids.items() if int(name) > num_classes}


def _meant(outside: _Outside) -> dict[str, str]:
    folded = {name.strip().casefold(): name for name in outside.known}
    pairs = ((name, nearest(name.strip().casefold(), folded)) for name in outside.classes)
    return {name: folded[near[0]] for name, near in pairs if near}


def _advice(outside: _Outside, meant: dict[str, str]) -> str:
    if outside.zeros and not outside.classes:
        return "Convert the data anew with ids that count from 1: 0 stands for the background."
    if meant:
        pairs = ", ".join(f"{near!r} to {name!r}" for name, near in list(meant.items())[:_NAMED])
        return f"Correct the label map: {pairs}."
    return "Name the label map that belongs to the data, or add the classes to it."
