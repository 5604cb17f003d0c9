"""What a program calls: train by a config, evaluate a checkpoint of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from holdfast.checkpoints.whole_weights import has_averages, load_weights
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.validate import validate
from holdfast.data.input.build_input import open_reader
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.data.survey.usable import data_problems, refuse_unusable
from holdfast.errors import ConfigError, HoldfastError, Problem, errors_of, warnings_of
from holdfast.evaluation.build_evaluation import (
    build_evaluation_input,
    build_evaluation_step,
    build_metrics_set,
    build_tiled_step,
    evaluates_averages,
)
from holdfast.evaluation.evaluate import Step, evaluate_step
from holdfast.evaluation.result import EvaluationResult
from holdfast.geometry.image_tiles import Tiling
from holdfast.memory.devices.device import Device, device_limit
from holdfast.memory.plan import MemoryPlan
from holdfast.models.detectors.build_detector import build_detector
from holdfast.progress import Progress, silent
from holdfast.training import loop
from holdfast.training.agreement import lost_workers_told
from holdfast.training.cluster import num_workers
from holdfast.training.distribution import choose_strategy
from holdfast.training.fitting.choice import fitting_of, wanted_settings
from holdfast.training.loop import TrainingResult
from holdfast.training.peers.present_peers import first_one_first
from holdfast.training.reporter import Reporter
from holdfast.training.surviving.evaluation_pieces import EvaluationInPieces
from holdfast.training.training_settings import TrainingSettings
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
    """Train the detector of a config in a run folder; an existing run is resumed.

    Args:
        config: What to train, on what, and how.
        run: Folder for checkpoints, events and all else that the training writes, or gs://BUCKET/FOLDER.
        plan: How to compute a step so that it fits into memory. Default: planned first.
        settings: What is not in the config, such as TrainingSettings(steps=2000, patience=3).
        folder: Folder of the config; by default the one that it was read from. Relative paths in
            the config are looked up from the working directory, then from this folder.
        reporter: Is told what happens, beginning with warnings about the config and its data.

    Returns:
        The steps done, the metrics of the last evaluation, and the peak memory.

    Raises:
        ConfigError: The config has mistakes; `problems` lists all of them.
        HoldfastError: The data has no usable box, or the run belongs to another config.
        TrainingFailedError: A loss or gradient is not a finite number.

    Example:
        >>> config = holdfast.load_config("pipeline.config")
        >>> settings = holdfast.TrainingSettings(steps=2)
        >>> result = holdfast.train(config, run="runs/shapes", settings=settings)
        >>> result.steps, result.ended
        (2, 'done')
        >>> result.metrics["DetectionBoxes_Precision/mAP"] < 0.5
        True
    """
    if plan is not None:
        settings = replace(settings or TrainingSettings(), plan=plan)
    config, reporter = _in_folder(config, folder), reporter or Reporter()
    place = Path(config.folder)
    settings = settings or TrainingSettings()
    # Several processes meet before the first tensor is made.
    strategy = choose_strategy(settings.peer_seconds) if num_workers() > 1 else None
    problems = list(validate(config, place))
    if errors := errors_of(problems):
        raise ConfigError("the config", errors)
    with lost_workers_told(), first_one_first():
        problems += _data_problems(config, place)
    for problem in warnings_of(problems):
        reporter.note(str(problem))
    return loop.train(
        config, run, settings=settings, folder=place, reporter=reporter, strategy=strategy
    )


def _in_folder(
    config: TrainEvalPipelineConfig, folder: str | Path | None
) -> TrainEvalPipelineConfig:
    """Say where the config's relative paths start: by default where its file lies."""
    return config.replace(folder=str(folder or config.folder or "."))


def _data_problems(config: TrainEvalPipelineConfig, folder: Path) -> Iterator[Problem]:
    """Judge the data of the readers that a training reads, before it writes anything."""
    readers = {
        "train_input_reader": config.train_input_reader,
        "eval_input_reader": next(iter(config.eval_input_reader), None),
    }
    for name, reader in readers.items():
        if reader is None:
            continue
        records = open_reader(reader, folder, name=name)
        statistics = record_statistics(records.files, records.layout, records.names)
        problems = data_problems(statistics, (records.names or {}).values())
        refuse_unusable(problems, name)
        yield from (replace(each, path=name) for each in problems)


def plan(
    config: TrainEvalPipelineConfig,
    memory: str | int | None = None,
    *,
    device: Device | None = None,
    settings: TrainingSettings | None = None,
    folder: str | Path | None = None,
) -> MemoryPlan:
    """Predict the peak memory of a training, and find settings that fit.

    Nothing is trained: the step is traced for the worst batch of the data. Without data, the
    resizer's largest shape and max_number_of_boxes are assumed.

    Args:
        config: What would be trained.
        memory: What the training may use in total: bytes, or a text such as "8GiB". Default: what
            is free on the device.
        device: Where the training will run. Default: a GPU, if there is one.
        settings: The wished precision, accumulation and rematerialization; others do not matter.
        folder: Folder of the config, as for `train`.

    Returns:
        A plan that can be given to `train`: the settings, whether they fit, and the predicted peak
        item by item.

    Example:
        >>> plan = holdfast.plan(holdfast.load_config("pipeline.config"), memory="8GiB")
        >>> plan.fits, plan.settings.batch_size
        (True, 8)
        >>> sum(plan.items.values()) == plan.predicted_peak_bytes
        True
    """
    config, settings = _in_folder(config, folder), settings or TrainingSettings()
    limit = device_limit(device, parse_bytes(memory) if isinstance(memory, str) else memory)
    wanted = wanted_settings(
        config,
        settings.precision,
        settings.accumulation,
        settings.rematerialize,
        settings.region_chunks,
    )
    return fitting_of(config, Path(config.folder), limit).choose(wanted).plan


def evaluate(
    config: TrainEvalPipelineConfig,
    checkpoint: str | Path,
    *,
    folder: str | Path | None = None,
    tiling: Tiling | None = None,
    progress: Progress = silent,
) -> EvaluationResult:
    """Evaluate a checkpoint, Holdfast's or the OD API's, on the config's evaluation data.

    The moving averages of the weights are evaluated if the checkpoint has them, unless
    eval_config.use_moving_averages is false.

    Args:
        config: The config that the checkpoint was trained with.
        checkpoint: Prefix or folder of a checkpoint, or a run. Of several, the latest is taken.
        folder: Folder of the config, as for `train`.
        tiling: Detect in tiles of each image, and put the detections together again. There are no
            losses then.
        progress: Is told how many images are done, and of how many.

    Returns:
        The metrics that eval_config names, by the OD API's names, and the scores of each class.

    Raises:
        HoldfastError: There is no evaluation data, or the checkpoint does not fill the detector.

    Example:
        >>> config = holdfast.load_config("pipeline.config")
        >>> scores = holdfast.evaluate(config, checkpoint="checkpoints")
        >>> scores.images, sorted(scores.per_class)
        (16, ['ellipse', 'rectangle', 'star', 'triangle'])
    """
    config = _in_folder(config, folder)
    reader = next(iter(config.eval_input_reader), None)
    if reader is None:
        raise HoldfastError(
            "The config has no data to evaluate on.", fix="Add eval_input_reader { … }."
        )
    records = open_reader(reader, Path(config.folder), name="eval_input_reader")
    statistics = record_statistics(records.files, records.layout, records.names)
    metrics = build_metrics_set(config, records)
    detector = build_detector(config)
    load_weights(detector, checkpoint, averages=uses_averages(config, checkpoint))
    step: Step = EvaluationInPieces(build_evaluation_step(config, detector, with_loss=True))
    if tiling is not None:
        step = build_tiled_step(config, detector, tiling)
    data = build_evaluation_input(config, records, statistics, resizes=tiling is None)
    return evaluate_step(step, data, metrics, progress=progress)


def uses_averages(config: TrainEvalPipelineConfig, checkpoint: str | Path) -> bool:
    """Tell whether of this checkpoint the averages of the weights are evaluated."""
    return evaluates_averages(config) and has_averages(checkpoint)
