"""label-shift: training and evaluation do not mean the same classes by the same ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.config.label_map import class_name, classes
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix, Severity
from holdfast.runs.json_text import JsonValue

# By looks alone: the nearest box must name the class of the training data well after renaming, and
# much worse as they are named. Two samples of one data set differ by a few hundredths.
LEAST_RENAMED = 0.6
LEAST_GAIN = 0.3
_WHY = (
    "The detector learns one numbering and is judged by another: what it finds counts as false, "
    "and mAP stays near 0 although the loss falls."
)


@check("label-shift", about="data", needs=("train.records", "evaluation.records"))
def label_shift(case: Case) -> Iterator[Finding]:
    """Class ids of the training and the evaluation data do not mean the same classes.

    The detector gives class numbers, and evaluation compares them with those of its own label map.
    Where that map is shifted by one (an item added at the top, ids from 0 in one of them), or has
    names exchanged, everything that is found is of a wrong class: the loss falls, and mAP stays at
    0.

    How it is seen, in this order: a name that has one id in the training label map and another in
    that of the evaluation; one id that has two names; records that write another id beside a class
    text than their label map; and, where names and ids agree, boxes of an evaluation class that
    look like another class of the training data (colors and sizes of boxes in a sample of images,
    by the nearest neighbor). The first and the last are errors, the others warnings.

    What helps: use one label map for both readers. If the records were written with another one,
    convert that data again with the right one.
    """
    maps = case.label_maps
    if maps.train is not None and maps.evaluation is not None:
        found = list(_maps_disagree(case, maps.train, maps.evaluation))
        if found:
            yield from found
            return
    if found := list(_records_disagree(case)):
        yield from found
        return
    yield from _looks_disagree(case)


def _maps_disagree(
    case: Case, train: StringIntLabelMap, evaluation: StringIntLabelMap
) -> Iterator[Finding]:
    ours, theirs = _ids(train), _ids(evaluation)
    other_ids = {
        name: (number, theirs[name])
        for name, number in ours.items()
        if theirs.get(name, number) != number
    }
    if other_ids:
        shifts = {after - before for before, after in other_ids.values()}
        by = next(iter(shifts))
        kind = f"shifted by {by:+d}" if len(shifts) == 1 else "in another order"
        name, (before, after) = next(iter(other_ids.items()))
        yield _finding(
            severity="error",
            what=f"The label maps disagree about {len(other_ids)} of {len(ours)} classes: the "
            f"evaluation's is {kind}. {name!r} is {before} in training and {after} in evaluation.",
            evidence={
                "train_map": case.train.reader.label_map_path,
                "evaluation_map": case.evaluation.reader.label_map_path,
                "kind": kind,
                "classes": [
                    {"class": name, "train_id": before, "evaluation_id": after}
                    for name, (before, after) in other_ids.items()
                ],
            },
            fix=_one_map(case),
        )
        return
    names, others = _names(train), _names(evaluation)
    renamed = {
        number: (name, others[number])
        for number, name in names.items()
        if number in others and name.casefold() != others[number].casefold()
    }
    if renamed:
        number, (name, other) = next(iter(renamed.items()))
        yield _finding(
            severity="warning",
            what=f"The label maps have other names for {len(renamed)} of {len(names)} ids: "
            f"{number} is {name!r} in training and {other!r} in evaluation.",
            evidence={
                "classes": [
                    {"id": number, "train": name, "evaluation": other}
                    for number, (name, other) in renamed.items()
                ]
            },
            fix=_one_map(case),
        )


def _records_disagree(case: Case) -> Iterator[Finding]:
    from holdfast.doctor.written_classes import written_classes

    sides = (
        ("training", case.train.sample, case.label_maps.train),
        ("evaluation", case.evaluation.sample, case.label_maps.evaluation),
    )
    for data, sample, label_map in sides:
        ids = _ids(label_map) if label_map is not None else {}
        written = {name: number for name, number in written_classes(sample).items() if name in ids}
        wrong = {name: number for name, number in written.items() if number != ids[name]}
        if not wrong:
            continue
        name, number = next(iter(wrong.items()))
        yield _finding(
            severity="warning",
            what=f"Records of the {data} data number {len(wrong)} of {len(written)} classes "
            f"otherwise than their label map: {name!r} is {number} there and {ids[name]} in the "
            "map.",
            evidence={
                "data": data,
                "classes": [
                    {"class": name, "record_id": number, "map_id": ids[name]}
                    for name, number in wrong.items()
                ],
            },
            fix=Fix(
                text="Name the label map that the records were written with. As they are, classes "
                "are read by their text; tools that read ids will take them for others."
            ),
        )
        return  # of both, the first is enough to act on


def _looks_disagree(case: Case) -> Iterator[Finding]:
    from holdfast.doctor.class_looks import best_renaming, describe_boxes

    renaming = best_renaming(
        describe_boxes(case.train.looks), describe_boxes(case.evaluation.looks)
    )
    if renaming is None or renaming.renamed < LEAST_RENAMED:
        return
    if renaming.renamed - renaming.as_named < LEAST_GAIN:
        return
    name, other = next(iter(renaming.names.items()))
    yield _finding(
        severity="error",
        what=f"Boxes of {len(renaming.names)} classes of the evaluation data look like another "
        f"class of the training data: {name!r} like {other!r}.",
        evidence={
            "agree_as_named": round(renaming.as_named, 3),
            "agree_renamed": round(renaming.renamed, 3),
            "looks_like": renaming.names,
        },
        fix=Fix(
            text="Look at the sheets that `holdfast inspect` draws of both, and convert the data "
            "whose names are wrong again, with the right label map."
        ),
    )


def _finding(
    *, severity: Severity, what: str, evidence: Mapping[str, JsonValue], fix: Fix
) -> Finding:
    return Finding(
        code="label-shift", severity=severity, what=what, why=_WHY, evidence=evidence, fix=fix
    )


def _one_map(case: Case) -> Fix:
    path = case.train.reader.label_map_path
    return Fix(
        text="Use the training label map for evaluation, too.",
        set={"eval_input_reader[0].label_map_path": path},
    )


def _ids(label_map: StringIntLabelMap) -> dict[str, int]:
    return {text: item.id for item in classes(label_map) if (text := item.name or class_name(item))}


def _names(label_map: StringIntLabelMap) -> dict[int, str]:
    return {item.id: class_name(item) for item in classes(label_map)}
