"""The changes that boxes ask for: anchors, and the levels of a pyramid that they stand on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.config.facts.networks import network_of
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.fields import field_specs
from holdfast.config.schema.message import Message
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.validate import validate
from holdfast.data.survey.observe import Observation
from holdfast.errors import errors_of
from holdfast.projects.adapting.field_change import FieldChange, change, changed, value_at
from holdfast.projects.adapting.refit_anchors import SEED, RefitAnchors, refit_anchors

_WORTH_A_LEVEL = 0.02  # of the boxes that are covered more
_FINEST_LEVEL = 2


class AnchorChanges(NamedTuple):
    """Changes of anchors, and what they bring; None where there are no anchors, or no boxes."""

    changes: list[FieldChange]
    refit: RefitAnchors | None


def anchor_changes(config: TrainEvalPipelineConfig, seen: Sequence[Observation]) -> AnchorChanges:
    """Refit the anchors of a config to the boxes of images, and choose the pyramid's levels."""
    assert config.model is not None
    best = refit_anchors(config.model, seen)
    if best is None:
        return AnchorChanges([], None)
    levels: list[FieldChange] = []
    for tried in _other_levels(config):
        refit = refit_anchors(_model(changed(config, tried)), seen)
        if refit is not None and refit.after.score >= best.after.score + _WORTH_A_LEVEL:
            best, levels = _since(best, refit), tried
    moved = changed(config, levels)
    return AnchorChanges([*levels, *_written(moved, best)], best)


def _since(before: RefitAnchors, after: RefitAnchors) -> RefitAnchors:
    """Compare with the anchors of the config as it was."""
    return RefitAnchors(generator=after.generator, before=before.before, after=after.after)


def _written(config: TrainEvalPipelineConfig, refit: RefitAnchors) -> Iterator[FieldChange]:
    """Write a generator field by field, so that the others stay as they are."""
    network = network_of(_model(config))
    assert network is not None
    kind = refit.generator.which("anchor_generator_oneof")
    assert kind is not None
    place = f"{anchors_path(config)}.{kind}"
    before, after = (getattr(each, kind) for each in (network.generator, refit.generator))
    why = (
        f"Refit to the boxes: an anchor overlaps {refit.after.all:.1%} of them by the matcher's "
        f"threshold, {refit.before.all:.1%} before (k-means on IoU, seed {SEED}, then a search)."
    )
    for name in field_specs(type(after)):
        new = getattr(after, name) if after.has(name) else None
        old = getattr(before, name) if before.has(name) else None
        is_default = old is None and new == getattr(type(after)(), name)
        if new != old and not is_default:
            reason = why if new is not None else "The list of scales replaces it."
            yield FieldChange(path=f"{place}.{name}", before=old, after=new, why=reason)


def anchors_path(config: TrainEvalPipelineConfig) -> str:
    """Name the field that holds the anchors."""
    return (
        "model.ssd.anchor_generator"
        if _model(config).ssd is not None
        else "model.faster_rcnn.first_stage_anchor_generator"
    )


def _other_levels(config: TrainEvalPipelineConfig) -> Iterator[list[FieldChange]]:
    """List changes to a coarser level more, or a finer one; those that cannot be built are not."""
    pyramid = _pyramid_path(config)
    generator = f"{anchors_path(config)}.multiscale_anchor_generator"
    anchors: AnchorGenerator | None = value_at(config, anchors_path(config))
    if pyramid is None or anchors is None or anchors.multiscale_anchor_generator is None:
        return
    first, last = (
        getattr(anchors.multiscale_anchor_generator, name) for name in ("min_level", "max_level")
    )
    sound = _errors(config)
    for name, level, size in (("max_level", last + 1, "large"), ("min_level", first - 1, "small")):
        if level < _FINEST_LEVEL:
            continue
        why = f"Anchors on levels {first} to {last} miss {size} boxes."
        tried = [
            *change(config, f"{pyramid}.{name}", level, why),
            *change(config, f"{generator}.{name}", level, why),
        ]
        if _errors(changed(config, tried)) <= sound:
            yield tried


def _pyramid_path(config: TrainEvalPipelineConfig) -> str | None:
    """Name the message with the levels; None where levels cannot be chosen."""
    detector: Message | None = _model(config).ssd
    features = value_at(detector, "feature_extractor") if detector is not None else None
    for name in ("fpn", "bifpn"):
        if features is not None and features.has(name):
            return f"model.ssd.feature_extractor.{name}"
    return None


def _errors(config: TrainEvalPipelineConfig) -> set[tuple[str, str]]:
    problems = errors_of(validate(config, Path(config.folder)))
    return {(each.path, each.message) for each in problems if each.path.startswith("model")}


def _model(config: TrainEvalPipelineConfig) -> DetectionModel:
    assert config.model is not None
    return config.model
