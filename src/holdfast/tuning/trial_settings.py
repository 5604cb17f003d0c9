"""From the values of a trial to what `holdfast train` is told: fields and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.config.facts.rate_curve import RateCurve, rate_curve
from holdfast.config.schema.optimizer import Optimizer
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.config.text.overrides import apply_overrides
from holdfast.projects.adapting.field_change import value_at
from holdfast.tuning.named_groups import AS_IS, GROUPS, Variant
from holdfast.tuning.search_space import Dimension, Span, Value, rate_path


def trial_variant(
    config: TrainEvalPipelineConfig,
    space: Sequence[Dimension],
    settings: Mapping[str, Value],
    steps: int,
) -> Variant:
    """Give what a trial changes: fields first, then groups, each on top of what came before.

    config: with what --set says. A learning rate takes the other rates of its schedule along, so
    that a warm-up never begins above what it rises to.
    """
    searched = {path for each in space for path in each.paths}
    overrides: dict[str, str] = {}
    for each in space:
        for path in each.paths:
            value = settings[each.name]
            overrides |= _following(config, path, value, searched, steps)
            overrides[path] = _text(value)
    options: tuple[str, ...] = ()
    for name, group in GROUPS.items():
        label = settings.get(name, AS_IS)
        if label == AS_IS:
            continue
        present, _ = apply_overrides(config, overrides)
        variant = group.variant(str(label), present, steps)
        overrides |= variant.overrides
        options += variant.options
    return Variant(overrides=overrides, options=options)


def configured_settings(
    config: TrainEvalPipelineConfig, space: Sequence[Dimension]
) -> dict[str, Value] | None:
    """Give the values that the config has itself; None where one is not among those searched."""
    found: dict[str, Value] = {}
    for each in space:
        own = AS_IS if not each.paths else value_at(config, each.paths[0])
        match each.values:
            case Span(low=low, high=high) if isinstance(own, float | int) and low <= own <= high:
                found[each.name] = own
            case tuple() as values if (text := _text(own)) in values:
                found[each.name] = text
            case _:
                return None
    return found


def curve_of(config: TrainEvalPipelineConfig, steps: int) -> RateCurve | None:
    """Give the learning rate of a config over so many steps; None if it has none."""
    train = config.train_config or TrainConfig()
    return rate_curve(train.optimizer or Optimizer(), max(steps, 1))


def _following(
    config: TrainEvalPipelineConfig, path: str, value: Value, searched: set[str], steps: int
) -> dict[str, str]:
    """Scale the rates beside the one that leads the schedule; those that are searched stay."""
    curve = curve_of(config, steps)
    if curve is None or path != rate_path(curve) or isinstance(value, str):
        return {}
    before = float(getattr(curve.schedule, curve.rate_fields[0]))
    if not before:
        return {}
    scaled = curve.scaled(float(value) / before)
    return {each: text for each, text in scaled.items() if each not in searched}


def _text(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float | int) else str(value)
