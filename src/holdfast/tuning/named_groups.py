"""Ready-made choices that `--over` takes by name: augmentation, optimizer, schedule and so on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from holdfast.config.facts.rate_curve import RateCurve, rate_curve
from holdfast.config.schema.anchor_generator import (
    AnchorGenerator,
    GridAnchorGenerator,
    MultiscaleAnchorGenerator,
    SsdAnchorGenerator,
)
from holdfast.config.schema.optimizer import Optimizer
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.config.text.encode import encode
from holdfast.config.text.overrides import apply_overrides
from holdfast.doctor.usual_rates import usual_rates
from holdfast.errors import HoldfastError

AS_IS = "as configured"
_AUGMENTATION = "train_config.data_augmentation_options"
_OPTIMIZER = "train_config.optimizer"
_SMALLER, _LARGER = 0.7, 1.4  # a step between two octaves, down and up
_WARMUP_SHARE = 20  # of a cosine's steps, one of so many rises
_DROPS = ((2 / 3, 0.1), (8 / 9, 0.01))  # of the steps, of the rate


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What a choice changes: fields as --set takes them, and options of `holdfast train`."""

    overrides: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SearchGroup:
    """Choices, and how one of them changes a config that is to be trained for some steps."""

    labels: tuple[str, ...]
    variant: Callable[[str, TrainEvalPipelineConfig, int], Variant]


def _augmentation(label: str, config: TrainEvalPipelineConfig, steps: int) -> Variant:
    is_ssd = config.model is not None and config.model.ssd is not None
    crop = "ssd_random_crop" if is_ssd else "random_crop_image"
    color = ("brightness", "contrast", "saturation")
    parts = {
        "flip": ("random_horizontal_flip",),
        "crop": (crop,),
        "color": tuple(f"random_adjust_{each}" for each in color),
        "none": (),
    }
    names = [name for part in label.split("-") for name in parts[part]]
    return Variant(
        overrides={_AUGMENTATION: f"[{', '.join(f'{{ {name} {{ }} }}' for name in names)}]"}
    )


def _optimizer(label: str, config: TrainEvalPipelineConfig, steps: int) -> Variant:
    """Keep the schedule, with rates that are as usual for the new optimizer as they were before."""
    kind = "momentum_optimizer" if label == "momentum" else "adam_optimizer"
    options = ("--optimizer", "adamw") if label == "adamw" else ()
    before = _chosen(config)
    if before.which("optimizer") == kind:
        return Variant(options=options)
    old = before.chosen("optimizer")
    rate = getattr(old, "learning_rate", None)
    if rate is None:
        raise _no_rate()
    text = f"{{ learning_rate {{ {_line(encode(rate))} }} }}"
    overrides = {f"{_OPTIMIZER}.{kind}": text}
    changed, _ = apply_overrides(config, overrides)
    after = _chosen(changed)
    usual = [_usual(each, config) for each in (before, after)]
    curve = rate_curve(after, steps)
    if curve is None:
        raise _no_rate()
    factor = usual[1] / usual[0] if usual[0] and usual[1] else 1.0
    return Variant(overrides=overrides | curve.scaled(factor), options=options)


def _schedule(label: str, config: TrainEvalPipelineConfig, steps: int) -> Variant:
    """Rise to the same rate as the config's schedule, for so many steps."""
    curve = _curve(config, steps)
    rate = curve.meant
    match label:
        case "constant":
            text = f"constant_learning_rate {{ learning_rate: {rate:.4g} }}"
        case "cosine":
            text = (
                f"cosine_decay_learning_rate {{ learning_rate_base: {rate:.4g} "
                f"total_steps: {steps} warmup_learning_rate: {rate / 10:.4g} "
                f"warmup_steps: {steps // _WARMUP_SHARE} }}"
            )
        case _:
            drops = " ".join(
                f"schedule {{ step: {max(round(share * steps), 1)} "
                f"learning_rate: {factor * rate:.4g} }}"
                for share, factor in _DROPS
            )
            text = f"manual_step_learning_rate {{ initial_learning_rate: {rate:.4g} {drops} }}"
    place = curve.path.rpartition(".")[0]
    return Variant(overrides={place: f"{{ {text} }}"})


def _anchors(label: str, config: TrainEvalPipelineConfig, steps: int) -> Variant:
    factor = _SMALLER if label == "smaller" else _LARGER
    model = config.model
    generator: AnchorGenerator | None = None
    place = ""
    if model is not None and model.ssd is not None:
        generator, place = model.ssd.anchor_generator, "model.ssd.anchor_generator"
    elif model is not None and model.faster_rcnn is not None:
        generator = model.faster_rcnn.first_stage_anchor_generator
        place = "model.faster_rcnn.first_stage_anchor_generator"
    chosen = generator.chosen("anchor_generator_oneof") if generator is not None else None
    match chosen:
        case SsdAnchorGenerator(scales=()):
            values = {
                "min_scale": f"{chosen.min_scale * factor:.4g}",
                "max_scale": f"{min(chosen.max_scale * factor, 1.0):.4g}",
            }
        case SsdAnchorGenerator(scales=scales) | GridAnchorGenerator(scales=scales) if scales:
            values = {"scales": f"[{', '.join(f'{each * factor:.4g}' for each in scales)}]"}
        case MultiscaleAnchorGenerator():
            values = {"anchor_scale": f"{chosen.anchor_scale * factor:.4g}"}
        case _:
            raise HoldfastError(
                "--over anchors: the config has no anchors whose sizes could be changed at once.",
                fix="Leave it out, or give --over the fields themselves.",
            )
    assert generator is not None
    place = f"{place}.{generator.which('anchor_generator_oneof')}"
    return Variant(overrides={f"{place}.{name}": value for name, value in values.items()})


def _class_weights(label: str, config: TrainEvalPipelineConfig, steps: int) -> Variant:
    if config.model is not None and config.model.center_net is not None:
        raise HoldfastError(
            "--over class-weights: CenterNet takes no class weights.", fix="Leave it out."
        )
    return Variant(options=("--class-weights", label))


GROUPS: Mapping[str, SearchGroup] = {  # in the order in which they change a config
    "anchors": SearchGroup(labels=(AS_IS, "smaller", "larger"), variant=_anchors),
    "augmentation": SearchGroup(
        labels=(AS_IS, "none", "flip", "flip-crop", "flip-color", "flip-crop-color"),
        variant=_augmentation,
    ),
    "optimizer": SearchGroup(labels=(AS_IS, "momentum", "adam", "adamw"), variant=_optimizer),
    "schedule": SearchGroup(labels=(AS_IS, "constant", "cosine", "steps"), variant=_schedule),
    "class-weights": SearchGroup(labels=(AS_IS, "auto", "inverse"), variant=_class_weights),
}


def _chosen(config: TrainEvalPipelineConfig) -> Optimizer:
    return (config.train_config or TrainConfig()).optimizer or Optimizer()


def _curve(config: TrainEvalPipelineConfig, steps: int) -> RateCurve:
    curve = rate_curve(_chosen(config), steps)
    if curve is None:
        raise _no_rate()
    return curve


def _usual(optimizer: Optimizer, config: TrainEvalPipelineConfig) -> float | None:
    detector = config.model.chosen("model") if config.model is not None else None
    if detector is None:
        return None
    batch = (config.train_config or TrainConfig()).batch_size
    rates = usual_rates(detector, optimizer, batch)
    return rates.middle if rates is not None else None


def _line(text: str) -> str:
    return " ".join(text.split())


def _no_rate() -> HoldfastError:
    return HoldfastError(
        "The config chooses no optimizer with a learning rate, so others cannot take it over.",
        fix="Write optimizer { momentum_optimizer { learning_rate { … } } }.",
    )
