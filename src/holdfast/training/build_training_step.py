"""Turns a config, and what a user chose beside it, into the step that trains a detector."""

from __future__ import annotations

from collections.abc import Sequence

import keras

from holdfast.config.schema.optimizer import Optimizer as OptimizerConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.training import build_training
from holdfast.training.optimization_choice import AS_CONFIGURED, OptimizationChoice
from holdfast.training.step.batch_loss import BatchLoss
from holdfast.training.step.training_step import TrainingStep
from holdfast.training.teaching.build_teaching import Student, build_teaching


def build_training_step(
    student: Student,
    variables: Sequence[keras.Variable],
    *,
    choice: OptimizationChoice = AS_CONFIGURED,
    steps: int = 0,
    teacher: str | None = None,
    class_weights: Sequence[float] | None = None,
    accumulation: int = 1,
    seed: int = 0,
) -> TrainingStep:
    """Build the step that trains these variables of a detector, in the scope of its strategy.

    steps: of the whole run, for a choice that prunes.
    """
    detector, train = student.detector, student.config.train_config or TrainConfig()
    optimizer = train.optimizer or OptimizerConfig()
    averages = build_training.build_averages(optimizer, variables)
    return TrainingStep(
        BatchLoss(
            detector,
            teaching=build_teaching(teacher, student),
            class_weights=class_weights,
            penalizes=train.add_regularization_loss,
            seed=seed,
        ),
        build_training.build_optimizer(optimizer, variables, choice=choice.optimizer),
        build_training.build_schedule(optimizer, choice.schedule),
        variables=variables,
        rules=build_training.build_gradient_rules(train, choice.clip_by_group),
        averages=averages,
        pruning=build_training.build_pruning(choice.prune, detector, variables, averages, steps),
        loss_scale=build_training.build_loss_scale(student.precision),
        accumulation=accumulation,
    )
