"""The changes that another number of images or another batch asks for: length, rate, averages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.config.recipes.recipe import RateForBatch
from holdfast.config.recipes.schedule import (
    EPOCHS,
    FEWEST_FINE_TUNING_STEPS,
    FEWEST_STEPS,
    FINE_TUNING_EPOCHS,
    MOST_STEPS,
)
from holdfast.config.schema import optimizer as optimizers
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.projects.adapting.field_change import FieldChange, change

_OPTIMIZER = "train_config.optimizer"
_LAST_RATE = 0.05  # share of the first rate that a decay which never came is made to end at
_MOST_AVERAGED_STEPS = 1000
_AVERAGED_SHARE = 10  # averages are over one step of so many


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How many images there are, in batches of which size, and for how many steps."""

    images: int | None  # None: not known
    batch_size: int
    num_steps: int


def wanted_pace(
    config: TrainEvalPipelineConfig, images: int | None, old_images: int | None, batch_size: int
) -> Pace:
    """Say how long to train: as many epochs as before, where that is known and sensible.

    images: to train on now, None if the data stays; old_images: of the config's own data.
    """
    train = config.train_config or TrainConfig()
    before = train.num_steps
    seen = before * train.batch_size  # images, over the whole training
    if images is None or images == old_images:
        steps = max(1, round(seen / batch_size)) if before else 0
        return Pace(images=images or old_images, batch_size=batch_size, num_steps=steps)
    if old_images and before:
        epochs = seen / old_images
    else:
        epochs = FINE_TUNING_EPOCHS if is_fine_tuning(config) else EPOCHS
    fewest = FEWEST_FINE_TUNING_STEPS if is_fine_tuning(config) else FEWEST_STEPS
    steps = math.ceil(images * epochs / batch_size / 100) * 100
    return Pace(images=images, batch_size=batch_size, num_steps=min(max(steps, fewest), MOST_STEPS))


def is_fine_tuning(config: TrainEvalPipelineConfig) -> bool:
    """Tell whether the training starts from a detector."""
    train = config.train_config or TrainConfig()
    if not train.fine_tune_checkpoint:
        return False
    return train.from_detection_checkpoint or train.fine_tune_checkpoint_type in (
        "detection",
        "full",
        "fine_tune",
    )


def schedule_changes(config: TrainEvalPipelineConfig, pace: Pace) -> Iterator[FieldChange]:
    """Rescale length, learning rate and averages of a training."""
    train = config.train_config or TrainConfig()
    yield from change(config, "train_config.batch_size", pace.batch_size, "As it fits.")
    has_other_length = bool(pace.num_steps) and pace.num_steps != train.num_steps
    if has_other_length:
        yield from change(config, "train_config.num_steps", pace.num_steps, _length_reason(pace))
    optimizer = train.optimizer
    name = optimizer.which("optimizer") if optimizer is not None else None
    if optimizer is None or name is None:
        return
    chosen = getattr(optimizer, name)
    if chosen.learning_rate is not None:
        rate = chosen.learning_rate
        kind = rate.which("learning_rate")
        place = f"{_OPTIMIZER}.{name}.learning_rate.{kind}"
        yield from _rate_changes(config, place, rate.chosen("learning_rate"), name, pace)
    if has_other_length:
        yield from _average_changes(config, pace.num_steps)


def _length_reason(pace: Pace) -> str:
    if not pace.images:
        return "As many images as before, in other batches."
    epochs = pace.num_steps * pace.batch_size / pace.images
    return f"About {epochs:.3g} epochs of {pace.images} images."


def _rate_changes(
    config: TrainEvalPipelineConfig, place: str, rate: object, optimizer: str, pace: Pace
) -> Iterator[FieldChange]:
    train = config.train_config or TrainConfig()
    scale = _rate_scale(train.batch_size, pace.batch_size, optimizer)
    steps = pace.num_steps / train.num_steps if pace.num_steps and train.num_steps else 1.0
    match rate:
        case optimizers.ConstantLearningRate(learning_rate=value):
            yield from _rate(config, f"{place}.learning_rate", value, scale, optimizer)
        case optimizers.ExponentialDecayLearningRate() as decay:
            yield from _rate(
                config,
                f"{place}.initial_learning_rate",
                decay.initial_learning_rate,
                scale,
                optimizer,
            )
            yield from _exponential(config, place, decay, steps, pace.num_steps)
        case optimizers.CosineDecayLearningRate() as cosine:
            yield from _cosine(config, place, cosine, scale, steps, pace, optimizer)
        case optimizers.ManualStepLearningRate() as manual:
            yield from _manual(config, place, manual, scale, steps, optimizer)


def _rate_scale(before: int, after: int, optimizer: str) -> float:
    # RMSProp and Adam divide gradients by their size: their steps follow the noise, by the root.
    is_of_adam = optimizer != "momentum_optimizer"
    one = RateForBatch(learning_rate=1.0, batch_size=before, is_of_adam=is_of_adam)
    return one.scaled(after)


def _rate(
    config: TrainEvalPipelineConfig, path: str, value: float, scale: float, optimizer: str
) -> Iterator[FieldChange]:
    if scale != 1.0:
        rule = "In proportion to" if optimizer == "momentum_optimizer" else "By the root of"
        after = float(f"{value * scale:.3g}")
        yield from change(config, path, after, f"{rule} the batch size.")


def _exponential(
    config: TrainEvalPipelineConfig,
    place: str,
    decay: optimizers.ExponentialDecayLearningRate,
    scale: float,
    num_steps: int,
) -> Iterator[FieldChange]:
    if not num_steps:
        return
    every = max(1, round(decay.decay_steps * scale))
    why = "In proportion to the number of steps."
    if every >= num_steps and 0.0 < decay.decay_factor < 1.0:
        every = max(1, round(num_steps * math.log(decay.decay_factor) / math.log(_LAST_RATE)))
        why = f"Otherwise the rate would never fall; so it ends at {_LAST_RATE:.0%} of the first."
    yield from change(config, f"{place}.decay_steps", every, why)
    if decay.burnin_steps:
        after = max(1, round(decay.burnin_steps * scale))
        yield from change(config, f"{place}.burnin_steps", after, why)


def _cosine(
    config: TrainEvalPipelineConfig,
    place: str,
    cosine: optimizers.CosineDecayLearningRate,
    scale: float,
    steps: float,
    pace: Pace,
    optimizer: str,
) -> Iterator[FieldChange]:
    yield from _rate(
        config, f"{place}.learning_rate_base", cosine.learning_rate_base, scale, optimizer
    )
    yield from _rate(
        config, f"{place}.warmup_learning_rate", cosine.warmup_learning_rate, scale, optimizer
    )
    if not pace.num_steps:
        return
    yield from change(config, f"{place}.total_steps", pace.num_steps, "It ends with the training.")
    why = "In proportion to the number of steps."
    warmup = min(round(cosine.warmup_steps * steps), pace.num_steps // 2)
    yield from change(config, f"{place}.warmup_steps", warmup, why)
    if cosine.hold_base_rate_steps:
        held = round(cosine.hold_base_rate_steps * steps)
        yield from change(config, f"{place}.hold_base_rate_steps", held, why)


def _manual(
    config: TrainEvalPipelineConfig,
    place: str,
    manual: optimizers.ManualStepLearningRate,
    scale: float,
    steps: float,
    optimizer: str,
) -> Iterator[FieldChange]:
    yield from _rate(
        config, f"{place}.initial_learning_rate", manual.initial_learning_rate, scale, optimizer
    )
    after = tuple(
        each.replace(
            step=max(1, round(each.step * steps)) if each.step else 0,
            learning_rate=float(f"{each.learning_rate * scale:.3g}"),
        )
        for each in manual.schedule
    )
    why = "Steps in proportion to the number of steps, rates like the first one."
    yield from change(config, f"{place}.schedule", after, why)


def _average_changes(config: TrainEvalPipelineConfig, num_steps: int) -> Iterator[FieldChange]:
    """Let averages over steps forget the beginning of the training before it ends."""
    train = config.train_config or TrainConfig()
    optimizer = train.optimizer
    if optimizer is not None and optimizer.use_moving_average:
        averaged = min(max(num_steps // _AVERAGED_SHARE, 1), _MOST_AVERAGED_STEPS)
        decay = float(f"{1 - 1 / averaged:.4g}")
        if _averaged_steps(optimizer.moving_average_decay) > max(averaged, num_steps / 5):
            why = f"Weights are averaged over {averaged} steps: more would keep the untrained ones."
            yield from change(config, f"{_OPTIMIZER}.moving_average_decay", decay, why)
    yield from _batch_norm_changes(config, num_steps)


def _batch_norm_changes(config: TrainEvalPipelineConfig, num_steps: int) -> Iterator[FieldChange]:
    """Let batch norm's statistics follow the data within a tenth of the training."""
    assert config.model is not None
    kind = config.model.which("model")
    detector = config.model.chosen("model")
    features = getattr(detector, "feature_extractor", None)
    hyperparams = getattr(features, "conv_hyperparams", None)
    norm = hyperparams.batch_norm if hyperparams is not None else None
    if norm is None or not norm.train:
        return
    averaged = max(num_steps // _AVERAGED_SHARE, 10)
    if _averaged_steps(norm.decay) > averaged:
        why = f"Statistics are averaged over {averaged} steps: more would not follow the data."
        path = f"model.{kind}.feature_extractor.conv_hyperparams.batch_norm.decay"
        yield from change(config, path, float(f"{1 - 1 / averaged:.4g}"), why)


def _averaged_steps(decay: float) -> float:
    return 1 / (1 - decay) if decay < 1.0 else math.inf
