"""boxes-left-out: boxes or images that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError

if TYPE_CHECKING:
    from holdfast.data.survey.statistics import Statistics

ERROR_SHARE = 1 / 3  # of boxes or images: what is left is another data set
WARNING_SHARE = 0.01
_ROWS = 10


class _Lost(NamedTuple):
    data: str
    reason: str
    images: int
    boxes: int
    share: float  # of the boxes or the images, whichever is more
    examples: tuple[str, ...]


@check("boxes-left-out", about="data", needs=("train.records", "train.statistics"))
def boxes_left_out(case: Case) -> Iterator[Finding]:
    """Boxes or whole images of the data cannot be used, and are left out.

    A box with coordinates that cannot be (pixels instead of shares, minimum and maximum exchanged,
    no height, outside of the image) would make the loss infinite or teach nonsense; an image that
    does not decode would end the training. Holdfast leaves them out. What they show then counts as
    background.

    How it is seen: every record is read once. 1 % of the boxes or the images, in training or
    evaluation data, are a warning, a third of them an error; less is a note. Boxes of a class that
    the label map lacks are told as label-outside-map.

    What helps: the reason of most of them says what is wrong with the tool that wrote the data.
    `holdfast inspect` names every place; `holdfast convert` writes records that are right.
    """
    lost = sorted(_all_lost(case), key=lambda each: -each.share)
    if not lost:
        return
    share = max(
        sum(each.share for each in lost if each.data == data) for data in ("training", "evaluation")
    )
    worst = lost[0]
    amount = f"{worst.images} images" if worst.images else f"{worst.boxes} boxes"
    yield Finding(
        code="boxes-left-out",
        severity="error"
        if share >= ERROR_SHARE
        else "warning"
        if share >= WARNING_SHARE
        else "note",
        what=f"{amount} of the {worst.data} data ({worst.share:.1%}) cannot be used: "
        f"{worst.reason}.",
        why="They are left out: nothing is learned from them, and the objects of a box that is "
        "left out count as background.",
        evidence={
            "share": round(share, 4),
            "left_out": [
                {
                    "data": each.data,
                    "reason": each.reason,
                    "images": each.images,
                    "boxes": each.boxes,
                    "example": each.examples[0] if each.examples else "",
                }
                for each in lost[:_ROWS]
            ],
        },
        fix=Fix(text=_advice(worst.reason)),
    )


def _all_lost(case: Case) -> Iterator[_Lost]:
    yield from _lost("training", case.train.statistics)
    try:
        yield from _lost("evaluation", case.evaluation.statistics)
    except MissingError:
        return


def _lost(data: str, statistics: Statistics) -> Iterator[_Lost]:
    from holdfast.data.survey.box_validity import Reason

    elsewhere = {Reason.UNKNOWN_CLASS.text, Reason.NO_CLASS.text}
    boxes = max(statistics.boxes + statistics.boxes_left_out, 1)
    images = max(statistics.images + statistics.images_left_out, 1)
    for each in statistics.left_out:
        if each.reason not in elsewhere:
            share = max(each.boxes / boxes, each.images / images)
            yield _Lost(data, each.reason, each.images, each.boxes, share, each.examples)


def _advice(reason: str) -> str:
    from holdfast.data.survey.box_validity import Reason

    advice = {
        Reason.NOT_A_NUMBER: "Write the records again: the tool divided by an image size of 0.",
        Reason.PIXELS: "Divide y by the image's height and x by its width when writing the "
        "records; if that was done, the images are smaller than those that were labeled.",
        Reason.SWAPPED: "Exchange minimum and maximum when writing the records.",
        Reason.DEGENERATE: "Correct or delete the boxes without height or width; often a click "
        "that was meant to be a box.",
        Reason.OUTSIDE: "Compare the image sizes in the annotations with those of the images: "
        "boxes were probably drawn on a larger or a turned image.",
        Reason.COUNTS_DIFFER: "Write as many labels as boxes: the tool skipped some of either.",
        Reason.NO_IMAGE: "Write the encoded image into image/encoded, not its path or its pixels.",
        Reason.NOT_DECODABLE: "Copy the damaged images again, or delete them.",
        Reason.DUPLICATE_ID: "Nothing is lost: the same image with the same boxes is used once.",
        Reason.SAME_ID: "Give each image an id of its own.",
    }
    found = next((text for each, text in advice.items() if each.text == reason), "")
    return found or "Look with `holdfast inspect` at what is left out, and convert the data again."
