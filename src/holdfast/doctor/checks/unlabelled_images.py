"""unlabelled-images: images without boxes that probably show objects."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError
from holdfast.units import count_text

if TYPE_CHECKING:
    from holdfast.doctor.seen_by_model import SeenImage
    from holdfast.doctor.whole_images import WholeImage

LEAST_SHARE = 0.03  # of the images: below it, empty ones change nothing
MANY_BOXES = 3.0  # median of the other images: where objects are that common, none is strange
TIMES_EXPECTED = 3.0
NOTE_SHARE = 0.3
SEEN_SHARE = 0.25  # of the empty images: with a detection as sure as that of a label
LEAST_SEEN = 3  # images
_EXAMPLES = 10


@check("unlabelled-images", about="data", needs=("train.records", "train.statistics"))
def unlabelled_images(case: Case) -> Iterator[Finding]:
    """Images have no boxes, although they probably show objects.

    An image without boxes teaches that everything in it is background. That is right for pictures
    of an empty scene, and helps against false detections. If the labels were forgotten, or got
    lost when the data was converted, it teaches the detector to see nothing.

    How it is seen: a detector of a run that is as sure of objects in a quarter of the empty images
    as it is of labeled ones is a warning. Without a run: a median of three boxes or more in the
    other images, and three times as many empty images as chance would leave then (Poisson), are a
    warning; a third of all images without boxes is a note.

    What helps: label them, or take them out of the data; if they show none of the classes, leave
    them as they are.
    """
    images = case.train.images
    empty = [image for image in images if not len(image.boxes)]
    counts = [len(image.boxes) for image in images if len(image.boxes)]
    if not counts or len(empty) < max(2, LEAST_SHARE * len(images)):
        return
    seen = _surely_seen(case)
    share = len(empty) / len(images)
    if seen is not None and len(seen) >= max(LEAST_SEEN, SEEN_SHARE * len(empty)):
        yield _finding(images, empty, counts, seen)
        return
    expected = math.exp(-statistics.fmean(counts))
    is_strange = statistics.median(counts) >= MANY_BOXES and share >= TIMES_EXPECTED * expected
    if seen is None and (is_strange or share >= NOTE_SHARE):
        yield _finding(images, empty, counts, None, is_warning=is_strange)


def _finding(
    images: Sequence[WholeImage],
    empty: Sequence[WholeImage],
    counts: Sequence[int],
    seen: Sequence[str] | None,
    *,
    is_warning: bool = True,
) -> Finding:
    share = len(empty) / len(images)
    median = int(statistics.median(counts))
    found = f" The run's detector is sure of objects in {len(seen)} of them." if seen else ""
    return Finding(
        code="unlabelled-images",
        severity="warning" if is_warning else "note",
        what=f"{len(empty)} of {count_text(len(images), 'training image')} ({share:.0%}) have no "
        f"box; the others have {count_text(median, 'box', 'boxes')} at the median.{found}",
        why="An image without boxes teaches that everything in it is background.",
        evidence={
            "without_boxes": len(empty),
            "share": round(share, 4),
            "median_boxes_of_the_others": median,
            "with_sure_detections": len(seen) if seen is not None else None,
            "examples": list(seen or [image.name for image in empty])[:_EXAMPLES],
        },
        fix=Fix(
            text="Label these images or take them out of the data; leave them if they show none of "
            "the classes."
        ),
    )


def _surely_seen(case: Case) -> list[str] | None:
    """Name the empty images in which a run's detector sees objects; None without such a run."""
    try:
        seen: tuple[SeenImage, ...] = case.seen_by_model
    except MissingError:
        return None
    from holdfast.doctor.label_doubts import LEAST_FOUND, doubt_labels

    doubts = doubt_labels(seen)
    if doubts.found_share < LEAST_FOUND:
        return None
    empty = {each.image.name for each in seen if not len(each.image.boxes)}
    return list(
        dict.fromkeys(each.image.name for each in doubts.unlabeled if each.image.name in empty)
    )
