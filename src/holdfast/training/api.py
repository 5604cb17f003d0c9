"""What a program calls: train by a config, evaluate a checkpoint of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.checkpoints.keras_weights import is_keras_weights
from holdfast.checkpoints.legacy_reader import open_checkpoint
from holdfast.checkpoints.own_reader import open_own_checkpoint
from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.config.schema.pipeline import TrainEvalPipelineConfig
from holdfast.config.validate import validate
from holdfast.data.build import open_reader
from holdfast.data.statistics_cache import record_statistics
from holdfast.errors import ConfigError, HoldfastError, errors_of, warnings_of
from holdfast.evaluation.build import (
    build_evaluation_input,
    build_evaluation_step,
    build_metrics_set,
    evaluates_averages,
)
from holdfast.evaluation.evaluate import Progress, evaluate_step
from holdfast.evaluation.result import EvaluationResult
from holdfast.memory.device import Device, device_limit
from holdfast.memory.plan import MemoryPlan
from holdfast.models.detectors.build import build_detector
from holdfast.training import loop
from holdfast.training.evaluation_pieces import EvaluationInPieces
from holdfast.training.fitting import fitting_of, wanted_settings
from holdfast.training.loop import TrainingResult
from holdfast.training.reporter import Reporter
from holdfast.training.settings import TrainingSettings
from holdfast.units import parse_bytes


def train(
    config: TrainEvalPipelineConfig,
    run: str | Path,
    plan: MemoryPlan | None = None,
    *,
    settings: TrainingSettings | None = None,
    folder: str | Path | None = None,
    reporter: Reporter | None = None,
) -> TrainingResult:
    """Train by a config in a run folder; a run that exists is resumed.

    settings: what is not in the config, such as TrainingSettings(steps=2000, patience=3). folder:
    where the config lies; relative paths in it are looked up from the working directory, then from
    there. reporter hears what happens, and first the doubts about the config. What is wrong with
    the config is a ConfigError that lists all of it; a loss that is no number is a
    TrainingFailedError.
    """
    if plan is not None:
        settings = replace(settings or TrainingSettings(), plan=plan)
    place, reporter = Path(folder or "."), reporter or Reporter()
    problems = list(validate(config, place))
    if errors := errors_of(problems):
        raise ConfigError("the config", errors)
    for problem in warnings_of(problems):
        reporter.note(str(problem))
    return loop.train(config, run, settings=settings, folder=place, reporter=reporter)


def plan(
    config: TrainEvalPipelineConfig,
    memory: str | int | None = None,
    *,
    device: Device | None = None,
    settings: TrainingSettings | None = None,
    folder: str | Path | None = None,
) -> MemoryPlan:
    """Predict the peak memory of a training step, and find settings that fit.

    memory: what the training may hold, such as "8GiB"; by default what the device has left. Of the
    settings, precision, accumulation and rematerialize count. Without data the resizer's largest
    shape and max_number_of_boxes are assumed. The plan can be given to `train`.
    """
    settings = settings or TrainingSettings()
    limit = device_limit(device, parse_bytes(memory) if isinstance(memory, str) else memory)
    wanted = wanted_settings(
        config, settings.precision, settings.accumulation, settings.rematerialize
    )
    return fitting_of(config, Path(folder or "."), limit).choose(wanted).plan


def evaluate(
    config: TrainEvalPipelineConfig,
    checkpoint: str | Path,
    *,
    folder: str | Path | None = None,
    progress: Progress = lambda done, total: None,
) -> EvaluationResult:
    """Evaluate a checkpoint, Holdfast's or the OD API's, on the config's evaluation data.

    checkpoint: a prefix or a folder; of a run or a folder of checkpoints, the latest. The moving
    averages of the weights are evaluated where the config says so and the checkpoint has them.
    folder: as for `train`. progress hears how many images are done, of how many.
    """
    reader = next(iter(config.eval_input_reader), None)
    if reader is None:
        raise HoldfastError(
            "The config has no data to evaluate on.", fix="Add eval_input_reader { … }."
        )
    records = open_reader(reader, Path(folder or "."), name="eval_input_reader")
    statistics = record_statistics(records.files, records.layout, records.names)
    metrics = build_metrics_set(config, records)
    detector = build_detector(config)
    load_weights(detector, checkpoint, averages=uses_averages(config, checkpoint))
    return evaluate_step(
        EvaluationInPieces(build_evaluation_step(config, detector, with_loss=True)),
        build_evaluation_input(config, records, statistics),
        metrics,
        progress=progress,
    )


def uses_averages(config: TrainEvalPipelineConfig, checkpoint: str | Path) -> bool:
    """Tell whether of this checkpoint the averages of the weights are evaluated."""
    if not evaluates_averages(config) or is_keras_weights(checkpoint):
        return False
    opened = open_own_checkpoint(checkpoint) or open_checkpoint(checkpoint)
    return bool(opened.averages)


def load_weights(detector: Any, checkpoint: str | Path, *, averages: bool = False) -> None:
    """Fill all of a detector; what stays unfilled would be judged as if it were trained."""
    report = load_checkpoint(detector, checkpoint, use_moving_average=averages)
    if unfilled := (*report.mismatched, *report.missing):
        raise HoldfastError(
            f"{checkpoint} does not fill the config's detector: {report}; first {unfilled[0]}.",
            fix="Give the checkpoint of a detector that was trained with this config.",
        )
