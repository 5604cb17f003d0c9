"""The network: does its name exist, does the input size suit it, do the anchors fit its maps."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.facts.anchor_counts import anchor_mismatch, anchors_per_location
from holdfast.config.facts.extractors import OD_API_EXTRACTORS, extractor, nearest_names
from holdfast.config.facts.input_sizes import indivisible_levels, input_shape
from holdfast.config.facts.networks import (
    Detector,
    detector_of,
    ignored_settings,
    network_of,
    taken_levels,
)
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.image_resizer import KeepAspectRatioResizer
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.ssd import Ssd, SsdFeatureExtractor
from holdfast.errors import Problem
from holdfast.registry import registered


def check_network(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    """Yield what the OD API refuses about the detector, and what it silently gets wrong."""
    detector = detector_of(config.model) if config.model else None
    if config.model is None or detector is None:
        return
    path = f"model.{config.model.which('model')}"
    if detector.has("num_classes") and detector.num_classes < 1:
        yield Problem(
            path=f"{path}.num_classes",
            message=f"{detector.num_classes} classes cannot be learned",
            fix="write the largest id of the label map",
        )
    yield from _check_extractor(detector, path)
    yield from _check_own_parts(config.model, path)
    yield from _check_anchors(config.model, path)
    yield from _check_mining(detector, path)
    yield from _check_resizer(config, detector, path)
    yield from _check_input_size(config.model, path)


def check_family(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    """Yield an error for a detector that can be read, and not be built yet."""
    name = config.model.which("model") if config.model else None
    if name in _FAMILIES:
        yield Problem(
            path=f"model.{name}",
            message=f"Holdfast does not build {_FAMILIES[name]}",
            fix="start from a single-stage config: `holdfast new` writes one for your data",
        )


_FAMILIES = {
    "experimental_model": "models from outside of the OD API",
}


def _check_extractor(detector: Detector, path: str) -> Iterator[Problem]:
    name = detector.feature_extractor.type if detector.feature_extractor else ""
    if not name:
        return
    place, architecture = f"{path}.feature_extractor.type", path.rpartition(".")[2]
    known = extractor(name)
    if known is None:
        similar = nearest_names(name, architecture=architecture)
        fix = f"did you mean {' or '.join(similar)}?" if similar else "see docs/models.md."
        own = "A network of your own needs --import MODULE"
        yield Problem(path=place, message=f"there is no extractor {name!r}", fix=f"{fix} {own}")
    elif known.architecture != architecture:
        similar = nearest_names(name, architecture=architecture)
        yield Problem(
            path=place,
            message=f"{name!r} belongs to {known.architecture}, not to {architecture}",
            fix=f"did you mean {' or '.join(similar)}?" if similar else "",
        )
    elif known.nearest:
        yield Problem(
            path=place,
            message=f"Holdfast does not build {name!r}",
            fix=f"the nearest it builds is {known.nearest!r}",
        )


def _check_own_parts(model: DetectionModel, path: str) -> Iterator[Problem]:
    """Yield what a backbone or neck of a user's own cannot do for the config."""
    network = network_of(model)
    features = network.detector.feature_extractor if network else None
    if network is None or not isinstance(features, SsdFeatureExtractor):
        return
    known = network.known
    spec = None if features.type in OD_API_EXTRACTORS else registered("backbone", known.backbone)
    if spec is None:
        return
    levels, wanted = spec.levels_of.get(known.neck, spec.levels), taken_levels(network.levels)
    if not wanted or not set(wanted) <= set(levels):
        yield Problem(
            path=f"{path}.feature_extractor",
            message=f"it takes levels {_span(wanted)} of the backbone {known.backbone}, which has "
            f"{_span(tuple(sorted(levels)))}",
            fix="change min_level and max_level",
        )
    has_own_neck = registered("neck", known.neck or "") is not None
    for name in ignored_settings(features, takes=spec.takes, has_own_neck=has_own_neck):
        yield Problem(
            path=f"{path}.feature_extractor.{name}",
            message=f"{features.type} does not obey it",
            fix="remove it, or let the factory take the keyword (docs/extend.md)",
        )


def _check_anchors(model: DetectionModel, path: str) -> Iterator[Problem]:
    prefix = "first_stage_" if path.endswith("faster_rcnn") else ""
    place = f"{path}.{prefix}anchor_generator"
    network = network_of(model)
    generator = network.generator if network else AnchorGenerator()
    if generator.which("anchor_generator_oneof") and anchors_per_location(generator, 0) == 0:
        fix = "set aspect_ratios (for a grid, scales too)"
        yield Problem(path=place, message="it generates no anchors", fix=fix)
        return
    mismatch = anchor_mismatch(model)
    if mismatch is None:
        return
    levels = f"{len(mismatch.levels)} feature maps (levels {_span(mismatch.levels)})"
    if not mismatch.trains:
        yield Problem(
            path=place,
            message=f"the network gives {levels}, the anchors are for {mismatch.layers}",
            fix=f"make the anchor generator's layers {len(mismatch.levels)}",
        )
    elif mismatch.strides:
        stride = 1 << mismatch.levels[0]
        yield Problem(
            path=place,
            severity="warning",
            message=f"the first feature map has stride {stride}, the anchors have "
            f"{mismatch.strides[0]} x {mismatch.strides[1]}: they lie in wrong places",
            fix=f"use stride {stride} (level {mismatch.levels[0]})",
        )


def _check_mining(detector: Detector, path: str) -> Iterator[Problem]:
    loss = detector.loss if isinstance(detector, Ssd) else None
    if loss is None or loss.hard_example_miner is None or loss.classification_loss is None:
        return
    if loss.classification_loss.weighted_sigmoid_focal is not None:
        yield Problem(
            path=f"{path}.loss.hard_example_miner",
            message="hard examples are not mined under a focal loss, which weights them already; "
            "the OD API refuses both together",
            fix="remove hard_example_miner",
            remedy=((f"{path}.loss.hard_example_miner", ""),),
        )


def _check_resizer(
    config: TrainEvalPipelineConfig, detector: Detector, path: str
) -> Iterator[Problem]:
    resizer = (
        detector.image_resizer.chosen("image_resizer_oneof") if detector.image_resizer else None
    )
    if not isinstance(resizer, KeepAspectRatioResizer):
        return
    place = f"{path}.image_resizer.keep_aspect_ratio_resizer"
    if resizer.min_dimension > resizer.max_dimension:
        yield Problem(
            path=f"{place}.min_dimension",
            message=f"min_dimension {resizer.min_dimension} is larger than "
            f"max_dimension {resizer.max_dimension}",
            fix="swap them",
            remedy=(
                (f"{place}.min_dimension", str(resizer.max_dimension)),
                (f"{place}.max_dimension", str(resizer.min_dimension)),
            ),
        )
    batch = config.train_config.batch_size if config.train_config else 1
    if batch > 1 and not resizer.pad_to_max_dimension:
        yield Problem(
            path=place,
            severity="warning",
            message=f"a batch of {batch} mixes image shapes: the OD API stops with an error, "
            "Holdfast pads each batch to its largest image, so memory varies",
            fix="set pad_to_max_dimension: true, or batch_size: 1",
        )


def _check_input_size(model: DetectionModel, path: str) -> Iterator[Problem]:
    shape = input_shape(model)
    levels = indivisible_levels(model, shape) if shape else ()
    for size in dict.fromkeys(level.input_size for level in levels):
        first = next(level for level in levels if level.input_size == size)
        sizes = [str(s) for s in (first.smaller_input, first.larger_input) if s]
        yield Problem(
            path=f"{path}.image_resizer",
            severity="warning",
            message=f"an input of {size} gives {first.map_size} cells on level {first.level}, and "
            f"the level above comes to {first.upsampled_size}: the OD API cannot add them",
            fix=f"use {' or '.join(sizes)}",
        )


def _span(levels: tuple[int, ...]) -> str:
    if len(levels) > 1:
        return f"{levels[0]} to {levels[-1]}"
    return str(levels[0]) if levels else "none"
