"""Learning-rate schedules against the length of the run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from holdfast.config.schema.message import Message
from holdfast.config.schema.optimizer import (
    CosineDecayLearningRate,
    ExponentialDecayLearningRate,
    ManualStepLearningRate,
)
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import Problem


def check_schedule(config: TrainEvalPipelineConfig) -> Iterator[Problem]:
    """Yield what the OD API refuses in the schedule, and where schedule and run do not agree."""
    train = config.train_config
    if train is None or train.optimizer is None:
        return
    path, schedule = chosen_schedule(train.optimizer)
    match schedule:
        case CosineDecayLearningRate():
            yield from _check_cosine(schedule, train.num_steps, path)
        case ManualStepLearningRate():
            yield from _check_manual(schedule, train.num_steps, path)
        case ExponentialDecayLearningRate():
            yield from _check_exponential(schedule, train.num_steps, path)


def chosen_schedule(optimizer: Message) -> tuple[str, Message | None]:
    """Give the path and message of the learning-rate schedule; None if none is chosen."""
    path = "train_config.optimizer"
    chosen = optimizer.which("optimizer")
    if chosen is None or getattr(optimizer, chosen).learning_rate is None:
        return path, None
    rate = getattr(optimizer, chosen).learning_rate
    path = f"{path}.{chosen}.learning_rate"
    name = rate.which("learning_rate")
    return (f"{path}.{name}", rate.chosen("learning_rate")) if name else (path, None)


def _check_cosine(
    schedule: CosineDecayLearningRate, num_steps: int, path: str
) -> Iterator[Problem]:
    total, warmup = schedule.total_steps, schedule.warmup_steps
    if warmup > total:
        yield Problem(
            path=f"{path}.warmup_steps",
            message=f"the warm-up of {warmup} steps is longer than total_steps, {total}",
            fix=f"set warmup_steps to {max(total // 20, 1)} or so",
            remedy=((f"{path}.warmup_steps", str(max(total // 20, 1))),),
        )
    yield from _check_warmup_rate(
        schedule.warmup_learning_rate if warmup else 0.0,
        schedule.learning_rate_base,
        f"{path}.warmup_learning_rate",
    )
    if not num_steps:
        return
    if total < num_steps:
        yield Problem(
            path=f"{path}.total_steps",
            severity="warning",
            message=f"the learning rate is 0 from step {total} on, and num_steps is {num_steps}",
            fix=f"set total_steps to {num_steps}",
        )
    elif num_steps <= warmup <= total:
        yield _ends_warming_up(schedule, num_steps, path)
    elif total > num_steps and (share := _share_of_base(schedule, num_steps)) > _SMALL_SHARE:
        decayed = f"the learning rate is still {share:.0%} of learning_rate_base"
        yield Problem(
            path=f"{path}.total_steps",
            severity="warning",
            message=f"the run ends at step {num_steps} of a decay over {total}: "
            + (decayed if share < 1 else "the learning rate has not begun to fall"),
            fix=f"set total_steps to {num_steps}",
        )


_SMALL_SHARE = 0.02


def _ends_warming_up(schedule: CosineDecayLearningRate, num_steps: int, path: str) -> Problem:
    """Say how far the learning rate rises in a run that is over before its warm-up is."""
    base, first, warmup = (
        schedule.learning_rate_base,
        schedule.warmup_learning_rate,
        schedule.warmup_steps,
    )
    reached = first + (base - first) * num_steps / warmup
    share = f"{reached / base:.0%} of learning_rate_base" if base else "0"
    shorter = max(num_steps // 20, 1)
    return Problem(
        path=f"{path}.warmup_steps",
        severity="warning",
        message=f"the run ends at step {num_steps}, within the warm-up of {warmup} steps: the "
        f"learning rate rises to {share} and never falls",
        fix=f"set warmup_steps to {shorter} or so, and total_steps to {num_steps}",
    )


def _share_of_base(schedule: CosineDecayLearningRate, step: int) -> float:
    """Give the learning rate after the warm-up and up to total_steps, as a share of the base."""
    start = schedule.warmup_steps + schedule.hold_base_rate_steps
    if step <= start:
        return 1.0
    progress = (step - start) / (schedule.total_steps - start)
    return 0.5 * (1 + math.cos(math.pi * progress))


def _check_manual(schedule: ManualStepLearningRate, num_steps: int, path: str) -> Iterator[Problem]:
    steps = [entry.step for entry in schedule.schedule]
    if not steps:
        yield Problem(
            path=f"{path}.schedule",
            message="it has no step",
            fix="add schedule { step: … learning_rate: … } or use constant_learning_rate",
        )
        return
    if steps[0] == 0:
        yield Problem(
            path=f"{path}.schedule[0].step",
            severity="warning",
            message="from step 0 on, its learning_rate replaces initial_learning_rate "
            "(newer versions of the OD API refuse it)",
            fix="write this rate as initial_learning_rate and remove the entry",
        )
    for index in range(1, len(steps)):
        if steps[index] <= steps[index - 1]:
            yield Problem(
                path=f"{path}.schedule[{index}].step",
                message=f"step {steps[index]} comes after step {steps[index - 1]}",
                fix="write the steps in increasing order",
            )
    if schedule.warmup and num_steps and steps[0] >= num_steps:
        yield _never_warm(f"{path}.schedule[0].step", steps[0], num_steps)
    for index, step in enumerate(steps):
        if num_steps and step >= num_steps:
            yield Problem(
                path=f"{path}.schedule[{index}].step",
                severity="warning",
                message=f"step {step} is never reached: num_steps is {num_steps}",
                fix="lower the step or raise num_steps",
            )
            break


def _check_exponential(
    schedule: ExponentialDecayLearningRate, num_steps: int, path: str
) -> Iterator[Problem]:
    if schedule.decay_steps == 0:
        yield Problem(path=f"{path}.decay_steps", message="it is 0", fix="write at least 1")
    if num_steps and schedule.burnin_steps >= num_steps:
        yield _never_warm(f"{path}.burnin_steps", schedule.burnin_steps, num_steps)
    if num_steps and schedule.staircase and schedule.decay_steps >= num_steps:
        yield Problem(
            path=f"{path}.decay_steps",
            severity="warning",
            message=f"the first decay comes at step {schedule.decay_steps}, "
            f"and num_steps is {num_steps}: the learning rate stays constant",
            fix=f"set decay_steps to {max(num_steps // 3, 1)} or so",
        )


def _check_warmup_rate(warmup_rate: float, base: float, path: str) -> Iterator[Problem]:
    if warmup_rate > base:
        yield Problem(
            path=path,
            message=f"the warm-up starts at {warmup_rate}, above learning_rate_base {base}",
            fix=f"set it to {base / 3:.2g} or so",
            remedy=((path, f"{base / 3:.2g}"),),
        )


def _never_warm(path: str, warmup: int, num_steps: int) -> Problem:
    return Problem(
        path=path,
        severity="warning",
        message=f"the warm-up of {warmup} steps is not over when the run ends at {num_steps}",
        fix=f"set it to {max(num_steps // 20, 1)} or so",
    )
