"""resolution-changed: the input is not of a size that the network was published at."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.config.facts.resolution import ChangedResolution, changed_resolution
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError

if TYPE_CHECKING:
    from holdfast.models.detectors.build_layout import Covered

# Of the side. A network that was made for 300 pixels sees at 600 a fourth of what it saw of an
# object at once; the zoo itself takes one network from 320 to 640, with the anchors of a pyramid.
_FAR = 1.6
_POINTS_LOST = 0.05  # of the boxes that anchors cover


@check("resolution-changed", about="anchors", needs=("model",))
def resolution_changed(case: Case) -> Iterator[Finding]:
    """The input has another size than those the network was published at.

    Why it happens: a larger input promises small objects. But anchors that are so many pixels cover
    a smaller part of a larger image: large objects lose theirs. Anchors that are a share of the
    image grow along, and the small objects gain nothing. Either way the coarsest map no longer sees
    the whole image, and weights that were loaded meet objects of another size.

    How it is seen: the input of the config against the nearest published one, and where there is
    data the share of boxes with an anchor at both. 5 % fewer boxes with an anchor are a warning,
    and without data a side that is larger or smaller by a factor of 1.6 or more. Otherwise it is a
    note, or nothing, if anchors cover the boxes as well as before and the factor is less.

    What helps: the published size; anchors fit to the data; a network with a pyramid; tiles.
    """
    change = changed_resolution(case.model)
    if change is None:
        return
    area = change.here.height * change.here.width
    factor = math.sqrt(area / (change.published.height * change.published.width))
    covered = _coverage(case)
    lost = _lost(covered)
    # Where anchors still cover the boxes, another input is a choice; boxes-too-small tells whether
    # they have too few pixels in it.
    is_far = max(factor, 1 / factor) >= _FAR
    if covered is not None and lost <= 0 and not is_far:
        return
    is_bad = is_far and covered is None
    yield Finding(
        code="resolution-changed",
        severity="warning" if lost > _POINTS_LOST or is_bad else "note",
        what=f"The input is {change.here.height} x {change.here.width}; the network was {change}.",
        why="Anchors and what the network sees at once no longer have the proportions to the "
        "image that they were published with.",
        evidence={
            "input": f"{change.here.height} x {change.here.width}",
            "published": f"{change.published.height} x {change.published.width}",
            "times_the_side": round(factor, 2),
            "anchors_grow": change.anchors_grow,
            **_shares(covered),
        },
        fix=Fix(
            text="Fit the anchors to this size, or use the published one."
            if covered is None or lost > 0
            else "The anchors fit this size. The published one would suit weights that are loaded.",
            command=_adapt(case, change) if covered is None or lost > 0 else None,
        ),
    )


def _adapt(case: Case, change: ChangedResolution) -> str:
    return f"holdfast adapt {case.shown_path} --resolution {change.here.height}x{change.here.width}"


def _coverage(case: Case) -> Covered | None:
    try:
        return case.coverage
    except MissingError:
        return None


def _lost(covered: Covered | None) -> float:
    shares = _shares(covered)
    return shares.get("boxes_covered_as_published", 0.0) - shares.get("boxes_covered", 0.0)


def _shares(covered: Covered | None) -> dict[str, float]:
    if covered is None or covered.published is None or not covered.here.all.boxes:
        return {}
    here, published = covered.here.all, covered.published.all
    return {
        "boxes_covered": round(here.covered / here.boxes, 3),
        "boxes_covered_as_published": round(published.covered / max(published.boxes, 1), 3),
    }
