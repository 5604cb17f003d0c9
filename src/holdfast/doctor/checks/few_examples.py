"""few-examples: too few examples to learn a class, or anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.runs.json_text import JsonValue
from holdfast.units import count_text

# Fine-tuning from COCO's weights learns a class from a few dozen boxes; below these numbers what is
# measured on a fifth of them, for validation, is chance.
FEW_BOXES = 20
FEW_IMAGES = 20
NOTE_IMAGES = 100


@check("few-examples", about="data", needs=("train.records", "train.statistics"))
def few_examples(case: Case) -> Iterator[Finding]:
    """The training data has too few images, or too few boxes of a class, to generalize from.

    A detector with millions of weights remembers a handful of images instead of learning what they
    have in common: the training loss falls, and the evaluation stays poor.

    How it is seen: a class with fewer than 20 boxes, or fewer than 20 images with boxes in all, is
    a warning; fewer than 100 images are a note.

    What helps: label more images; start from the weights of a trained detector
    (`holdfast new --pretrained` or --checkpoint) rather than from nothing; freeze the first layers;
    augment; leave a class out of the label map until there is enough of it.
    """
    statistics = case.train.statistics
    crowds = statistics.boxes_per_image
    images = statistics.images - (crowds.without if crowds else 0)
    few = {name: boxes for name, boxes in statistics.classes.items() if 0 < boxes < FEW_BOXES}
    if not few and images >= NOTE_IMAGES:
        return
    is_warning = bool(few) or images < FEW_IMAGES
    rarest = min(few, key=lambda name: few[name]) if few else None
    told = [f"{count_text(images, 'image')} with boxes"] if images < NOTE_IMAGES else []
    if rarest is not None:
        told.append(f"{count_text(few[rarest], 'box', 'boxes')} of {rarest!r}")
        told += [f"few of {len(few) - 1} more classes"] if len(few) > 1 else []
    yield Finding(
        code="few-examples",
        severity="warning" if is_warning else "note",
        what=f"The training data has only {', '.join(told)}.",
        why="What is seen so few times is remembered, not learned: new images will look different.",
        evidence={
            "images_with_boxes": images,
            **({"classes": _rows(few)} if few else {}),
        },
        fix=Fix(
            text="Label more images, start from a trained detector's weights, and augment; or "
            "leave the rarest classes out."
        ),
    )


def _rows(few: Mapping[str, int]) -> list[JsonValue]:
    rarest_first = sorted(few.items(), key=lambda each: each[1])
    return [{"class": name, "boxes": boxes} for name, boxes in rarest_first]
