"""anchors-unused: whole feature maps have anchors that no box matches."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix

_HARDLY_ANY = 0.001  # of the boxes
_ENOUGH_BOXES = 100  # fewer say little about what the data will show
_MANY_ANCHORS = 0.5  # of all anchors: those cost most of the head's time and memory


@check("anchors-unused", about="anchors", needs=("anchor_use",))
def anchors_unused(case: Case) -> Iterator[Finding]:
    """Anchors of whole feature maps match no box of the data.

    Why it happens: the objects are of one size, and the pyramid was made for all sizes. Such
    anchors learn nothing but background. It does no harm beyond what they cost, which on the finest
    map is most of the memory and time of the head.

    How it is seen: for each feature map, the boxes that one of its anchors overlaps by
    matched_threshold or more. It is a note.

    What helps: fewer levels (min_level, max_level, num_layers), or anchors fit to the data.
    """
    use = case.anchor_use
    if use.boxes < _ENOUGH_BOXES:
        return
    idle = [each for each in use.maps if each.boxes <= _HARDLY_ANY * use.boxes]
    if not idle:
        return
    share = sum(each.anchors for each in idle) / max(sum(each.anchors for each in use.maps), 1)
    named = ", ".join(f"{each.height} x {each.width}" for each in idle)
    yield Finding(
        code="anchors-unused",
        severity="note",
        what=f"No box matches the anchors of {len(idle)} of {len(use.maps)} maps ({named}), "
        f"{share:.0%} of all.",
        why="They learn background only, and cost memory and time"
        + (", here most of the head's." if share > _MANY_ANCHORS else "."),
        evidence={
            "boxes": use.boxes,
            "maps": [
                {
                    "map": f"{each.height} x {each.width}",
                    "anchors": each.anchors,
                    "boxes_matched": each.boxes,
                }
                for each in use.maps
            ],
        },
        fix=Fix(
            text="Fit anchors and levels to the data.",
            command=f"holdfast adapt {case.shown_path}",
        ),
    )
