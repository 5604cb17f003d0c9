"""duplicate-images: one image is in the training data twice, with different boxes."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.units import count_text

WARNING_SHARE = 0.01  # of the images
WARNING_PAIRS = 3
NOTE_COPIES = 0.05  # of the images: copies with the same boxes
_EXAMPLES = 10


@check("duplicate-images", about="data", needs=("train.records", "train.statistics"))
def duplicate_images(case: Case) -> Iterator[Finding]:
    """The same image is in the training data more than once, with different boxes.

    Where one copy has a box that the other lacks, the detector is told that the object is there and
    that it is background. Copies with the same boxes do no harm, but count several times.

    How it is seen: images of equal content, and images that look the same by a perceptual hash and
    whose pixels agree block by block (so that frames of a video, in which something moved, are not
    taken for copies). Boxes differ if one has no partner of its class in the copy at an IoU of 0.5.
    Three such pairs, and 1 % of the images, are a warning.

    What helps: keep the copy with the right boxes, or merge them, and convert again.
    """
    from holdfast.doctor.twins import copies_in, have_same_boxes

    copies = copies_in(case.train.appearances, case.train.records)
    different = [pair for pair in copies if not have_same_boxes(pair)]
    images = max(len(case.train.images), 1)
    if not different and len(copies) < NOTE_COPIES * images:
        return
    is_warning = len(different) >= max(WARNING_PAIRS, WARNING_SHARE * images)
    shown = different or copies
    yield Finding(
        code="duplicate-images",
        severity="warning" if is_warning else "note",
        what=f"{count_text(len(copies), 'training image')} of {images} "
        f"{'is a copy' if len(copies) == 1 else 'are copies'} of another; {len(different)} with "
        "other boxes.",
        why="Where one copy has a box that the other lacks, the same object is taught as itself "
        "and as background."
        if different
        else "Copies count several times, and make the data seem larger than it is.",
        evidence={
            "copies": len(copies),
            "with_other_boxes": len(different),
            "examples": [
                {
                    "image": pair.first.name,
                    "copy": pair.second.name,
                    "boxes": len(pair.first.boxes),
                    "boxes_of_the_copy": len(pair.second.boxes),
                }
                for pair in shown[:_EXAMPLES]
            ],
        },
        fix=Fix(text="Keep one of each, with the right boxes, and convert the data again."),
    )
