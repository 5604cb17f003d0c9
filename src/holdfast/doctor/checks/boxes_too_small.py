"""boxes-too-small: boxes that are a few pixels large once images have the network's size."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from holdfast.config.facts.feature_maps import feature_maps
from holdfast.config.facts.input_sizes import InputShape
from holdfast.config.schema.image_resizer import ImageResizer
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError

if TYPE_CHECKING:
    from holdfast.data.survey.anchor_coverage import Frame

# A feature stands for a patch as wide as the finest stride; an object half as wide is a quarter of
# it. Below 4 pixels nothing has a shape, however fine the map.
LEAST_PIXELS = 4.0
ERROR_SHARE = 0.9  # of all boxes: what is left is not worth a training
WARNING_SHARE = 0.15
WARNING_CLASS_SHARE = 0.5  # of a class
LEAST_OF_CLASS = 20  # boxes, to judge a class
_LARGEST_GROWTH = 4.0  # of the input that is still proposed
_USUAL_STRIDE = 16


class _Counted(NamedTuple):
    boxes: Counter[str]
    small: Counter[str]
    sizes: list[float]  # of all boxes, in pixels of the input


@check("boxes-too-small", about="data", needs=("train.records", "train.statistics", "detector"))
def boxes_too_small(case: Case) -> Iterator[Finding]:
    """Boxes are only a few pixels large after images are resized to the network's input.

    The finest feature map has one place for every 8 or 16 pixels of the input. An object that is
    half as wide or less disappears between its surroundings, no anchor fits it, and the detector
    learns that what it cannot see is there.

    How it is seen: the side of a square as large as the box, in pixels of the resized image, below
    half the stride of the finest map (at least 4 pixels). 15 % of all boxes, or half of those of a
    class, are a warning; 90 % of all are an error.

    What helps: a larger input; a network with a finer map (an FPN has stride 8, SSD MobileNet 16);
    cutting large images into tiles instead of shrinking them; leaving out boxes that nobody needs.
    """
    resizer = case.detector.image_resizer
    if resizer is None:
        raise MissingError("the config has no image_resizer")
    least = _least_pixels(case)
    counted = _count(case, resizer, least)
    total, small = counted.boxes.total(), counted.small.total()
    classes = {
        name: counted.small[name] / boxes
        for name, boxes in counted.boxes.items()
        if boxes >= LEAST_OF_CLASS and counted.small[name] >= WARNING_CLASS_SHARE * boxes
    }
    if not total or (small < WARNING_SHARE * total and not classes):
        return
    worst = f", among them {', '.join(map(repr, list(classes)[:5]))}" if classes else ""
    yield Finding(
        code="boxes-too-small",
        severity="error" if small >= ERROR_SHARE * total else "warning",
        what=f"{small} of {total} boxes ({small / total:.0%}) are smaller than {least:.0f} pixels "
        f"in the network's input{worst}.",
        why="They are smaller than half the patch that a feature of the finest map stands for: the "
        "network can hardly see them, and learns them badly or not at all.",
        evidence={
            "pixels": least,
            "share": round(small / total, 4),
            "median_box_pixels": round(statistics.median(counted.sizes), 1),
            "classes": [
                {"class": name, "boxes": boxes, "too_small": counted.small[name]}
                for name, boxes in counted.boxes.most_common(20)
            ],
        },
        fix=_fix(case, resizer, counted, least),
    )


def _least_pixels(case: Case) -> float:
    maps = feature_maps(case.model, InputShape(512, 512, fixed=True))
    stride = min((each.stride for each in maps), default=_USUAL_STRIDE)
    return max(LEAST_PIXELS, stride / 2)


def _count(case: Case, resizer: ImageResizer, least: float) -> _Counted:
    from holdfast.data.input.build_input import build_resizer
    from holdfast.data.survey.anchor_coverage import frame_of

    frame: Callable[[int, int], Frame] = lru_cache(frame_of(build_resizer(resizer)))
    counted = _Counted(Counter(), Counter(), [])
    for image in case.train.images:
        if not len(image.boxes):
            continue
        placed = frame(image.height, image.width)
        sides = (image.boxes[:, 2:] - image.boxes[:, :2]) * (placed.height, placed.width)
        sizes = (sides.prod(axis=-1) ** 0.5).tolist()
        counted.sizes.extend(sizes)
        counted.boxes.update(image.class_names)
        counted.small.update(
            name for name, size in zip(image.class_names, sizes, strict=True) if size < least
        )
    return counted


def _fix(case: Case, resizer: ImageResizer, counted: _Counted, least: float) -> Fix:
    """Propose the input at which but a tenth of the boxes are too small, if that is reasonable."""
    tenth = sorted(counted.sizes)[len(counted.sizes) // 10]
    growth = least / max(tenth, 1e-3)
    fixed = resizer.fixed_shape_resizer
    advice = "Cut the images into tiles, or use a network with a finer feature map."
    if fixed is None or growth > _LARGEST_GROWTH:
        return Fix(text=f"{advice} A larger image_resizer helps as far as memory allows.")
    path = f"{case.detector_path}.image_resizer.fixed_shape_resizer"
    sides = {name: _grown(getattr(fixed, name), growth) for name in ("height", "width")}
    return Fix(
        text=f"Enlarge the network's input, so that nine of ten boxes reach {least:.0f} pixels. "
        f"Or: {advice[0].lower()}{advice[1:]}",
        set={f"{path}.{name}": str(side) for name, side in sides.items()},
    )


def _grown(side: int, growth: float) -> int:
    return -(-round(side * growth) // 64) * 64  # every network takes multiples of 64
