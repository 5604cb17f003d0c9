"""Whether a data set can be trained on: what makes that pointless, and what makes it doubtful."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from holdfast.data.survey.statistics import LeftOut, Statistics
from holdfast.errors import HoldfastError, Problem, nearest
from holdfast.units import count_text

MUCH = 1 / 3  # of the images or boxes: a larger part left out is said first of all
_NAMED = 10  # classes; the others are counted


def data_problems(
    statistics: Statistics, class_names: Collection[str] | None = None
) -> tuple[Problem, ...]:
    """Judge a data set by its statistics: the error first, or else the warnings.

    class_names: those of the label map; None without one. The error is that no box can be used.

    >>> data = Statistics(images=2, boxes=0, classes={}, unknown_classes={"racoon": 2})
    >>> data_problems(data, ["raccoon"])[0].message
    "no box can be used: the data has 'racoon' (2 boxes), the label map 'raccoon'"
    """
    if not statistics.boxes:
        return (_nothing_usable(statistics, tuple(class_names or ())),)
    return tuple(_doubts(statistics, class_names))


def refuse_unusable(problems: Iterable[Problem], name: str) -> None:
    """Raise the first error as a HoldfastError; name: what the data is called in it."""
    for problem in problems:
        if problem.severity == "error":
            fix = problem.fix[:1].upper() + problem.fix[1:]
            raise HoldfastError(f"{name}: {problem.message}.", fix=f"{fix}." if fix else "")


def _nothing_usable(statistics: Statistics, class_names: tuple[str, ...]) -> Problem:
    if statistics.unknown_classes:
        unknown = _with_counts(statistics.unknown_classes)
        return Problem(
            message=f"no box can be used: the data has {unknown}, "
            f"the label map {_listed(map(repr, class_names))}",
            fix=_renaming(statistics, class_names),
        )
    reasons = [f"{_amount(each)}: {each.reason}" for each in statistics.left_out]
    why = f": {'; '.join(reasons)}" if reasons else ""
    if not statistics.images:
        return Problem(message=f"no image can be used{why}", fix=LOOK)
    if not reasons:
        return Problem(message="no image has a box", fix="label the images, or name other data")
    return Problem(message=f"no box can be used{why}", fix=LOOK)


LOOK = "`holdfast inspect` names what is left out, and why"


def _doubts(statistics: Statistics, class_names: Collection[str] | None) -> Iterator[Problem]:
    names = tuple(dict.fromkeys(class_names or ()))
    if statistics.unknown_classes:
        yield Problem(
            severity="warning",
            message=f"the label map lacks {_with_counts(statistics.unknown_classes)}, which the "
            "data has: those boxes are left out",
            fix=_renaming(statistics, names),
        )
    missing = [name for name in names if name not in statistics.classes]
    if missing:
        yield Problem(
            severity="warning",
            message=f"no box shows {_listed(map(repr, missing))} "
            f"({len(missing)} of the {count_text(len(names), 'class', 'classes')} of the label "
            "map)",
            fix="add images of it, or leave it out of the label map",
        )
    yield from _much_left_out(statistics)


def much_left_out(
    *, images: int, boxes: int, images_left_out: int, boxes_left_out: int, reason: str
) -> tuple[Problem, ...]:
    """Warn if more than a third of the images, or else of the boxes, is left out.

    images and boxes are those kept; reason: the most frequent one.
    """
    # Boxes of images that are left out are told by the images.
    for noun, kept, lost in (("image", images, images_left_out), ("box", boxes, boxes_left_out)):
        if lost > MUCH * (kept + lost):
            share = f"{lost} of {count_text(kept + lost, noun, _PLURALS[noun])}"
            message = f"{share} ({lost / (kept + lost):.0%}) are left out, most often because"
            return (Problem(severity="warning", message=f"{message} {reason}", fix=LOOK),)
    return ()


def _much_left_out(statistics: Statistics) -> tuple[Problem, ...]:
    by_images = statistics.images_left_out > MUCH * (statistics.images + statistics.images_left_out)
    counts = {each.reason: each.images if by_images else each.boxes for each in statistics.left_out}
    return much_left_out(
        images=statistics.images,
        boxes=statistics.boxes,
        images_left_out=statistics.images_left_out,
        boxes_left_out=statistics.boxes_left_out,
        reason=max(counts, key=lambda reason: counts[reason], default=""),
    )


_PLURALS = {"image": "images", "box": "boxes"}


def _renaming(statistics: Statistics, class_names: tuple[str, ...]) -> str:
    """Say which names were probably meant."""
    lacking = [name for name in class_names if name not in statistics.classes]
    meant = {
        unknown: near
        for unknown in statistics.unknown_classes
        if (near := _nearest(unknown, lacking))
    }
    if not meant:
        return "add the classes to the label map, or name the label map that belongs to the data"
    pairs = [f"{near!r} to {unknown!r}" for unknown, near in meant.items()]
    return f"correct the label map: {_listed(pairs)}"


def _nearest(name: str, candidates: Iterable[str]) -> str:
    """Find the name that looks most like it, whatever its case; "" if none does."""
    folded = {each.strip().casefold(): each for each in candidates}
    return "".join(folded[each] for each in nearest(name.strip().casefold(), folded))


def _with_counts(boxes_by_class: dict[str, int]) -> str:
    counts = boxes_by_class.items()
    return _listed(f"{name!r} ({count_text(boxes, 'box', 'boxes')})" for name, boxes in counts)


def _listed(texts: Iterable[str]) -> str:
    every = list(texts)
    more = len(every) - _NAMED
    return ", ".join(every[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _amount(group: LeftOut) -> str:
    if group.images:
        return count_text(group.images, "image")
    return count_text(group.boxes, "box", "boxes")
