"""What would have to change in a config for which no way to compute the step fits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from holdfast.config.input_sizes import input_multiple
from holdfast.config.network import detector_of
from holdfast.config.schema import image_resizer as resizers
from holdfast.config.schema.model import DetectionModel
from holdfast.memory.plan import MemoryPlan
from holdfast.memory.planner import FIXED_ITEMS

_STRIDE = 32  # pixels: sizes are multiples of it where the network asks for no larger one
# Whose place a smaller network can take without another change of the config.
_SMALLER = (
    (r"resnet152", "resnet101"),
    (r"resnet101", "resnet50"),
    (r"efficientnet-b([1-7])", lambda found: f"efficientnet-b{int(found[1]) - 1}"),
    (r"mobilenet_v3_large", "mobilenet_v3_small"),
)


def suggestions(model: DetectionModel, plan: MemoryPlan) -> Iterator[str]:
    """Yield changes, as options that can be typed, that would make the smallest plan fit."""
    detector, architecture = detector_of(model), model.which("model")
    if detector is None or detector.image_resizer is None:
        return
    where = f"model.{architecture}"
    scale = _scale(plan)
    if scale > 0.0:
        options = _resizer_options(
            detector.image_resizer, scale, input_multiple(model) or _STRIDE, where
        )
        if options:
            yield f"A smaller input would fit: {options}"
    extractor = detector.feature_extractor
    name = extractor.type if extractor is not None else ""
    for pattern, smaller in _SMALLER:
        if re.search(pattern, name):
            changed = re.sub(pattern, smaller, name)
            yield f"A smaller network needs less: --set {where}.feature_extractor.type={changed}"
            return
    if "mobilenet" in name:
        yield (
            f"A narrower network needs less: --set {where}.feature_extractor.depth_multiplier=0.5"
        )


def _scale(plan: MemoryPlan) -> float:
    """Give the part of height and width at which the plan would fit; 0 if none does."""
    fixed = sum(size for name, size in plan.items.items() if name in FIXED_ITEMS)
    room = plan.limit_bytes - plan.base_bytes - fixed
    return math.sqrt(max(0.0, room / max(1, plan.predicted_peak_bytes - fixed)))


def _resizer_options(
    resizer: resizers.ImageResizer, scale: float, multiple: int, where: str
) -> str:
    chosen, name = resizer.chosen("image_resizer_oneof"), resizer.which("image_resizer_oneof")
    match chosen:
        case resizers.FixedShapeResizer():
            sides = {"height": chosen.height, "width": chosen.width}
        case resizers.KeepAspectRatioResizer():
            sides = {"min_dimension": chosen.min_dimension, "max_dimension": chosen.max_dimension}
        case _:
            return ""
    smaller = {side: int(size * scale) // multiple * multiple for side, size in sides.items()}
    if not all(smaller.values()):
        return ""
    path = f"{where}.image_resizer.{name}"
    return " ".join(f"--set {path}.{side}={size}" for side, size in smaller.items())
