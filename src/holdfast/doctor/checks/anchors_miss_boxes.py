"""anchors-miss-boxes: many boxes have no anchor that overlaps them enough."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.schema.ssd import Ssd
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.units import count_text

# Published anchors cover 90 % and more of COCO's boxes that are not small. A box without one still
# gets its best anchor where force_match_for_each_row is on: it is learned, but badly.
_FEW, _HARDLY_ANY = 0.85, 0.3
_CLASS_FEW, _CLASS_BOXES = 0.6, 20  # with fewer boxes a share says little
# The first of two stages asks for an IoU of 0.7, and takes the best anchor of each box in any case:
# its published anchors cover less than half of COCO's boxes so, and train well.
_FEW_OF_TWO_STAGES, _CLASS_FEW_OF_TWO_STAGES = 0.2, 0.05
_STRICT = 0.7  # one stage was published with 0.5


@check("anchors-miss-boxes", about="anchors", needs=("coverage", "detector"))
def anchors_miss_boxes(case: Case) -> Iterator[Finding]:
    """Many boxes have no anchor near enough to learn from.

    Why it happens: the anchors are those of COCO's objects. Smaller, longer or higher objects
    overlap none of them by the matcher's threshold, also when the resolution changes. The network
    gets few positive examples of them, finds them seldom, and places them badly.

    How it is seen: the best overlap of each box of the data with any anchor, compared with
    matched_threshold, by class and for small boxes. Below 85 % of all boxes, or 60 % of a class,
    it is a warning; below 30 % of all an error. Two stages, which ask for more overlap and also
    learn from less, are warned of below 20 % and 5 %.

    What helps: anchors made for the data, or a larger input for small objects.
    """
    here = case.coverage.here
    share = here.all.covered / max(here.all.boxes, 1)
    classes = {
        name: each.covered / each.boxes
        for name, each in here.classes.items()
        if each.boxes >= _CLASS_BOXES
    }
    is_single = isinstance(case.detector, Ssd)
    few = _FEW if is_single else _FEW_OF_TWO_STAGES
    few_of_class = _CLASS_FEW if is_single else _CLASS_FEW_OF_TWO_STAGES
    low = {name: covered for name, covered in classes.items() if covered < few_of_class}
    if not here.all.boxes or (share >= few and not low):
        return
    worst = ", ".join(f"{name} {covered:.0%}" for name, covered in list(low.items())[:3])
    yield Finding(
        code="anchors-miss-boxes",
        severity="error" if is_single and share < _HARDLY_ANY else "warning",
        what=f"{share:.0%} of {count_text(here.all.boxes, 'box', 'boxes')} have an anchor with an "
        f"IoU of {here.iou_threshold:g} or more" + (f"; of {worst}." if worst else "."),
        why="Boxes without a matching anchor give few positive examples: such objects are found "
        "seldom, and placed badly.",
        evidence={
            "iou_threshold": here.iou_threshold,
            "boxes": here.all.boxes,
            "covered": here.all.covered,
            "small_boxes": here.small.boxes,
            "small_covered": here.small.covered,
            "classes": [
                {"class": name, "boxes": each.boxes, "covered": round(each.covered / each.boxes, 3)}
                for name, each in here.classes.items()
            ],
        },
        fix=_fix(case, here.iou_threshold),
    )


def _fix(case: Case, threshold: float) -> Fix:
    matcher = case.detector.matcher if isinstance(case.detector, Ssd) else None
    if threshold <= _STRICT or matcher is None or matcher.argmax_matcher is None:
        return Fix(
            text="Fit the anchors to the boxes of the data.",
            command=f"holdfast adapt {case.shown_path}",
        )
    place = f"{case.detector_path}.matcher.argmax_matcher"
    return Fix(
        text="Ask for an IoU of 0.5, as published: hardly any anchor is as near as it is now.",
        set={f"{place}.matched_threshold": "0.5", f"{place}.unmatched_threshold": "0.5"},
    )
