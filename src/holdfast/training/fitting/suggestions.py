"""What would have to change in a config for which no way to compute the step fits."""

from __future__ import annotations

import math
from collections.abc import Iterator

from holdfast.config.facts.extractors import extractor, smaller_extractor
from holdfast.config.facts.input_sizes import input_multiple
from holdfast.config.facts.networks import detector_of
from holdfast.config.schema import image_resizer as resizers
from holdfast.config.schema.model import DetectionModel
from holdfast.memory.plan import MemoryPlan
from holdfast.memory.search.planner import FIXED_ITEMS
from holdfast.models.backbones.backbone_spec import BACKBONES

_STRIDE = 32  # pixels: sizes are multiples of it where the network asks for no larger one


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
    name = detector.feature_extractor.type if detector.feature_extractor is not None else ""
    if option := _smaller_network(name):
        yield f"A {option[0]} network needs less: --set {where}.feature_extractor.{option[1]}"


def _smaller_network(name: str) -> tuple[str, str] | None:
    """Say how a network can be made smaller without another change of the config."""
    known = extractor(name)
    spec = BACKBONES.find(known.backbone) if known is not None else None
    if spec is None:
        return None
    if spec.smaller is not None and (changed := smaller_extractor(name, spec.smaller)):
        return "smaller", f"type={changed}"
    return ("narrower", "depth_multiplier=0.5") if "depth_multiplier" in spec.takes else None


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
