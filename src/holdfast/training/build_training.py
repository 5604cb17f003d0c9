"""Turn a config's training settings into parts of the training step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import keras

from holdfast.config.keywords import all_keywords
from holdfast.config.label_map import class_name, classes
from holdfast.config.schema import optimizer as schema
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.train import TrainConfig
from holdfast.data.survey.statistics import Statistics
from holdfast.errors import HoldfastError
from holdfast.losses.class_weights import (
    balanced_class_weights,
    effective_number_weights,
    normalized,
)
from holdfast.models.detectors.interface import Detector
from holdfast.training.class_balance import read_class_weights
from holdfast.training.optimization_choice import (
    OPTIMIZERS,
    SCHEDULES,
    NamedNumbers,
    OptimizationChoice,
    read_choice,
    read_pruning,
)
from holdfast.training.step import schedules
from holdfast.training.step.averaging import MovingAverages
from holdfast.training.step.decoupled_optimizers import DecoupledRMSProp, Lion
from holdfast.training.step.gradients import GradientRules
from holdfast.training.step.optimizers import Adam, Momentum, RMSProp, Rule, StepOptimizer
from holdfast.training.step.precision import LossScale
from holdfast.training.step.pruning import Pruning, PruningSchedule, prunable_kernels
from holdfast.training.step.schedules import Schedule
from holdfast.training.step.trained_variables import TrainedVariables, choose_trained_variables


def build_schedule(config: schema.Optimizer, choice: str | None = None) -> Schedule:
    """Make the learning rate as a function of the step, which counts from 0.

    choice: a schedule that takes the place of the config's, complete (`completed_choice`).
    """
    if choice is not None:
        chosen_numbers = read_choice("--schedule", choice, SCHEDULES)
        if chosen_numbers.name == "one_cycle":
            return partial(schedules.one_cycle, **chosen_numbers.numbers)
        return partial(schedules.cosine_restarts, **chosen_numbers.numbers)
    optimizer = config.chosen("optimizer")
    rate = optimizer.learning_rate if optimizer is not None else None
    chosen = rate.chosen("learning_rate") if rate is not None else None
    match chosen:
        case schema.ConstantLearningRate():
            return partial(schedules.constant, **all_keywords(chosen))
        case schema.ExponentialDecayLearningRate():
            return partial(schedules.exponential_decay, **all_keywords(chosen))
        case schema.ManualStepLearningRate():
            return partial(
                schedules.manual_steps,
                boundaries=[entry.step for entry in chosen.schedule],
                rates=[
                    chosen.initial_learning_rate,
                    *(entry.learning_rate for entry in chosen.schedule),
                ],
                warmup=chosen.warmup,
            )
        case schema.CosineDecayLearningRate():
            return partial(schedules.cosine_decay, **all_keywords(chosen))
    raise HoldfastError(
        "The optimizer has no learning rate.",
        fix="Write for example momentum_optimizer { learning_rate { constant_learning_rate { "
        "learning_rate: 0.01 } } }.",
    )


def build_rule(config: schema.Optimizer, *, weight_decay: float = 0.0) -> Rule:
    """Make the rule by which gradients move weights; weight_decay makes Adam into AdamW."""
    chosen = config.chosen("optimizer")
    if weight_decay and not isinstance(chosen, schema.AdamOptimizer):
        raise HoldfastError(
            f"Weight decay is for adam_optimizer, and the config has {config.which('optimizer')}.",
            fix="Choose adam_optimizer, or write an l2_regularizer in the model's hyperparams.",
        )
    match chosen:
        case schema.MomentumOptimizer():
            return Momentum(momentum=chosen.momentum_optimizer_value)
        case schema.RMSPropOptimizer():
            return RMSProp(
                decay=chosen.decay,
                momentum=chosen.momentum_optimizer_value,
                epsilon=chosen.epsilon,
            )
        case schema.AdamOptimizer():
            return Adam(epsilon=chosen.epsilon, weight_decay=weight_decay)
    raise HoldfastError(
        "train_config chooses no optimizer.",
        fix="Write optimizer { momentum_optimizer { learning_rate { … } } }.",
    )


def build_chosen_rule(choice: str) -> Rule:
    """Make the rule of an optimizer that takes the place of the config's."""
    chosen = read_choice("--optimizer", choice, OPTIMIZERS)
    match chosen.name:
        case "adamw":
            return Adam(**chosen.numbers)
        case "lion":
            return Lion(**chosen.numbers)
    return DecoupledRMSProp(**chosen.numbers)


def completed_choice(
    choice: OptimizationChoice, config: schema.Optimizer, steps: int
) -> OptimizationChoice:
    """Fill in the numbers that were not given, so that they stay when a run is resumed."""
    optimizer, schedule, prune = choice.optimizer, choice.schedule, choice.prune
    if prune is not None:
        prune = str(read_pruning(prune, steps))
    if optimizer is not None:
        optimizer = str(read_choice("--optimizer", optimizer, OPTIMIZERS))
    if schedule is not None:
        given = read_choice("--schedule", schedule, SCHEDULES)
        numbers = dict(given.numbers)
        if "steps" in SCHEDULES[given.name]:
            numbers.setdefault("steps", float(steps))
        if "rate" not in numbers:
            rates = build_schedule(config)
            numbers["rate"] = max(float(rates(step)) for step in _sampled(steps))
        ordered = {key: numbers[key] for key in SCHEDULES[given.name]}
        schedule = str(NamedNumbers(name=given.name, numbers=ordered))
    return replace(choice, optimizer=optimizer, schedule=schedule, prune=prune)


def _sampled(steps: int) -> range:
    """Give some steps of all, the first and nearly the last among them."""
    return range(0, max(1, steps), max(1, steps // 200))


def alike_in_memory(config: TrainConfig, choice: str | None) -> TrainConfig:
    """Give the config an optimizer of its own kinds that remembers as much as the chosen one."""
    present = config.optimizer or schema.Optimizer()
    chosen = present.chosen("optimizer")
    if choice is None or chosen is None:
        return config
    rate = {"learning_rate": chosen.learning_rate}
    stand_ins: dict[str, Any] = {
        "adamw": {"adam_optimizer": schema.AdamOptimizer(**rate)},
        "lion": {"momentum_optimizer": schema.MomentumOptimizer(**rate)},
        "rmsprop_decoupled": {"rms_prop_optimizer": schema.RMSPropOptimizer(**rate)},
    }
    without = present.without("momentum_optimizer", "rms_prop_optimizer", "adam_optimizer")
    return config.replace(optimizer=without.replace(**stand_ins[choice.partition(",")[0]]))


def build_optimizer(
    config: schema.Optimizer,
    variables: Sequence[keras.Variable],
    *,
    weight_decay: float = 0.0,
    choice: str | None = None,
) -> StepOptimizer:
    """Make the optimizer of these variables, in the scope of the present strategy."""
    rule = build_rule(config, weight_decay=weight_decay) if choice is None else None
    return StepOptimizer(variables, rule or build_chosen_rule(choice or ""))


def build_averages(
    config: schema.Optimizer, variables: Sequence[keras.Variable]
) -> MovingAverages | None:
    """Make the moving averages of these variables, if the config uses them (its default)."""
    if not config.use_moving_average:
        return None
    return MovingAverages(variables, config.moving_average_decay)


def build_pruning(
    choice: str | None,
    detector: Detector,
    trained: Sequence[keras.Variable],
    averages: MovingAverages | None,
    steps: int,
) -> Pruning | None:
    """Make what prunes the trained kernels of a detector in a run of so many steps, if chosen."""
    if choice is None:
        return None
    numbers = read_pruning(choice, steps)
    at = {key: int(number) for key, number in numbers.numbers.items()}
    schedule = PruningSchedule(share=float(numbers.name), **at)
    others = {} if averages is None else averages.variables
    return Pruning(prunable_kernels(detector, trained), schedule, others)


def build_trained_variables(detector: Detector, train: TrainConfig) -> TrainedVariables:
    """Choose the variables that train_config trains."""
    return choose_trained_variables(
        detector, update=train.update_trainable_variables, freeze=train.freeze_variables
    )


def build_gradient_rules(train: TrainConfig, group_norm: float | None = None) -> GradientRules:
    """Say what happens to gradients; 0 in the config is off."""
    clip_norm = train.gradient_clipping_by_norm
    return GradientRules(
        clip_norm=clip_norm if clip_norm > 0 else None,
        group_norm=group_norm,
        bias_multiplier=train.bias_grad_multiplier or 1.0,
    )


def build_loss_scale(precision: str) -> LossScale | None:
    """Make the loss scale of a precision that needs one: float16 has few small numbers."""
    return LossScale() if precision == "mixed_float16" else None


def build_class_weights(
    choice: str, statistics: Statistics, label_map: StringIntLabelMap | None, num_classes: int
) -> tuple[float, ...]:
    """Give each class, by its 0-based number, a weight; their mean over the boxes is 1.

    choice: `auto` (effective number of boxes), `inverse` (inverse frequency), or a file.
    """
    known = _class_numbers(label_map, num_classes)
    if unknown := [name for name in statistics.classes if name not in known]:
        raise HoldfastError(
            f"Class weights need the number of every class, and {', '.join(unknown)} "
            f"{'has' if len(unknown) == 1 else 'have'} none from 1 to {num_classes}.",
            fix="Set label_map_path to a label map that names all classes of the data.",
        )
    counts = [0] * num_classes
    for name, count in statistics.classes.items():
        counts[known[name]] += count
    match choice:
        case "auto":
            return tuple(effective_number_weights(counts))
        case "inverse":
            return tuple(balanced_class_weights(counts))
    given = read_class_weights(Path(choice), known)
    return tuple(normalized([given.get(number, 1.0) for number in range(num_classes)], counts))


def _class_numbers(label_map: StringIntLabelMap | None, num_classes: int) -> dict[str, int]:
    """Map what a class may be called to its 0-based number; first what people call it."""
    items = [] if label_map is None else classes(label_map)
    names = {class_name(item): item.id - 1 for item in items}
    for item in items:
        names.setdefault(item.name, item.id - 1)
    for number in range(num_classes):
        names.setdefault(str(number + 1), number)
    return {name: number for name, number in names.items() if name and number < num_classes}
