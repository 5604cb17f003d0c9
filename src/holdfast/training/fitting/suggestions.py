"""What would have to change in a config for which no way to compute the step fits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from holdfast.config.facts.extractors import extractor, smaller_extractor
from holdfast.config.facts.input_sizes import input_multiple
from holdfast.config.facts.networks import detector_of
from holdfast.config.schema import image_resizer as resizers
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.model import DetectionModel
from holdfast.memory.plan import MemoryPlan
from holdfast.memory.search.planner import FIXED_ITEMS
from holdfast.memory.search.suggestion import MemorySuggestion
from holdfast.models.backbones.backbone_spec import BACKBONES

_STRIDE = 32  # pixels: sizes are multiples of it where the network asks for no larger one


def fewer_regions(model: DetectionModel, plan: MemoryPlan) -> Iterator[MemorySuggestion]:
    """Yield changes of how many regions a second stage looks at; what they save is to be found.

    The OD API wants no fewer proposals than regions that are trained on.
    """
    stages = detector_of(model)
    if not isinstance(stages, FasterRcnn) or stages.number_of_stages < 2:
        return
    trained, proposed = stages.second_stage_batch_size, stages.first_stage_max_proposals
    half = trained // 2
    if stages.hard_example_miner is None and half >= plan.settings.region_chunks:
        yield MemorySuggestion(
            text="Fewer regions of each image to train on need less",
            options={"model.faster_rcnn.second_stage_batch_size": str(half)},
        )
    fewer = max(trained, proposed // 2)
    if fewer < proposed:
        yield MemorySuggestion(
            text="Fewer proposals need less",
            options={"model.faster_rcnn.first_stage_max_proposals": str(fewer)},
        )


def suggestions(model: DetectionModel, plan: MemoryPlan) -> Iterator[MemorySuggestion]:
    """Yield changes of the input and the network that would make the smallest plan fit."""
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
            yield MemorySuggestion(
                text="A smaller input would fit",
                options=options,
                saved_bytes=int((1.0 - scale**2) * _moving_bytes(plan)),
            )
    name = detector.feature_extractor.type if detector.feature_extractor is not None else ""
    if option := _smaller_network(name):
        size, field, value = option
        yield MemorySuggestion(
            text=f"A {size} network needs less",
            options={f"{where}.feature_extractor.{field}": value},
        )


def _smaller_network(name: str) -> tuple[str, str, str] | None:
    """Say how a network can be made smaller without another change of the config."""
    known = extractor(name)
    spec = BACKBONES.find(known.backbone) if known is not None else None
    if spec is None:
        return None
    if spec.smaller is not None and (changed := smaller_extractor(name, spec.smaller)):
        return "smaller", "type", changed
    return ("narrower", "depth_multiplier", "0.5") if "depth_multiplier" in spec.takes else None


def _scale(plan: MemoryPlan) -> float:
    """Give the part of height and width at which the plan would fit; 0 if none does."""
    moving = _moving_bytes(plan)
    fixed = plan.predicted_peak_bytes - moving
    room = plan.limit_bytes - plan.base_bytes - fixed
    return math.sqrt(max(0.0, room / max(1, moving)))


def _moving_bytes(plan: MemoryPlan) -> int:
    """Give what grows with the pixels of the input."""
    fixed = sum(size for name, size in plan.items.items() if name in FIXED_ITEMS)
    return plan.predicted_peak_bytes - fixed


def _resizer_options(
    resizer: resizers.ImageResizer, scale: float, multiple: int, where: str
) -> Mapping[str, str]:
    chosen, name = resizer.chosen("image_resizer_oneof"), resizer.which("image_resizer_oneof")
    match chosen:
        case resizers.FixedShapeResizer():
            sides = {"height": chosen.height, "width": chosen.width}
        case resizers.KeepAspectRatioResizer():
            sides = {"min_dimension": chosen.min_dimension, "max_dimension": chosen.max_dimension}
        case _:
            return {}
    smaller = {side: int(size * scale) // multiple * multiple for side, size in sides.items()}
    if not all(smaller.values()):
        return {}
    path = f"{where}.image_resizer.{name}"
    return {f"{path}.{side}": str(size) for side, size in smaller.items()}
