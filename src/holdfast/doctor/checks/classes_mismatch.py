"""classes-mismatch: the head's number of classes is not that of the label map."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.label_map import class_name, classes, largest_id
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix


@check("classes-mismatch", about="config", needs=("detector", "label_maps"))
def classes_mismatch(case: Case) -> Iterator[Finding]:
    """num_classes does not agree with the label map.

    Why it happens: a config for COCO's 90 classes meets a label map of one's own, or a class was
    added to the label map only. Objects of ids above num_classes cannot be learned or found;
    outputs above the largest id are never right, and cost memory and time.

    How it is seen: num_classes against the largest id of the label map. Too few classes are an
    error, too many a warning.

    What helps: num_classes equal to the largest id.
    """
    label_map = case.label_maps.train or case.label_maps.evaluation
    assert label_map is not None
    number, largest = case.detector.num_classes, largest_id(label_map)
    if number == largest or not largest:
        return
    lost = [class_name(item) for item in classes(label_map) if item.id > number]
    yield Finding(
        code="classes-mismatch",
        severity="error" if lost else "warning",
        what=f"The detector has {number} classes, and the label map's largest id is {largest}.",
        why=f"Objects of {', '.join(lost[:5])} can be neither learned nor found."
        if lost
        else f"{number - largest} of its outputs belong to no class: they learn background only.",
        evidence={"num_classes": number, "largest_id": largest, "classes_lost": lost[:20]},
        fix=Fix(
            text=f"Set num_classes to {largest}.",
            set={f"{case.detector_path}.num_classes": str(largest)},
        ),
    )
