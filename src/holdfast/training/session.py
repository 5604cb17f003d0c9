"""Everything a training works with, built from a config: data, detector, optimizer, step."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tensorflow as tf

from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.config.paths import find_checkpoint
from holdfast.config.schema.label_map import StringIntLabelMap, StringIntLabelMapItem
from holdfast.config.schema.optimizer import Optimizer as OptimizerConfig
from holdfast.config.schema.pipeline import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.data.build import build_training_input, open_reader
from holdfast.data.inspection import Records
from holdfast.data.pipeline import Pipeline
from holdfast.data.statistics import Statistics
from holdfast.data.statistics_cache import record_statistics
from holdfast.errors import HoldfastError
from holdfast.evaluation.build import (
    build_evaluation_input,
    build_evaluation_step,
    build_metrics_set,
    evaluates_averages,
)
from holdfast.evaluation.evaluate import Progress, evaluate_step
from holdfast.evaluation.result import EvaluationResult
from holdfast.memory.host import resident_bytes
from holdfast.memory.plan import StepSettings
from holdfast.memory.recovery import ladder
from holdfast.models.block import Block
from holdfast.models.detectors.build import build_detector
from holdfast.pictures import Pixels
from holdfast.training import build
from holdfast.training.distribution import own_part
from holdfast.training.evaluation_pieces import EvaluationInPieces
from holdfast.training.pictures import build_gallery, draw_pictures
from holdfast.training.settings import TrainingSettings
from holdfast.training.step import TrainingStep
from holdfast.training.trained_variables import TrainedVariables


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Records and what is known about them."""

    records: Records
    statistics: Statistics


class Session:
    """What one process trains with."""

    def __init__(
        self,
        config: TrainEvalPipelineConfig,
        settings: TrainingSettings,
        folder: Path,
        strategy: tf.distribute.Strategy,
    ) -> None:
        self.config = config
        self.settings = settings
        self.folder = folder
        self.strategy = strategy
        self.train_config = config.train_config or TrainConfig()
        self.data = self._open(config.train_input_reader, "train_input_reader")
        # Keras draws the seeds of initializers and dropout from here. TensorFlow's own global seed
        # is unset: its data sets would take no seed that is a tensor with it.
        random.seed(settings.seed)
        tf.random.set_seed(None)
        if settings.deterministic:
            tf.config.experimental.enable_op_determinism()
        self.base_bytes = resident_bytes()  # before there is anything to train
        with strategy.scope():
            self.detector = build_detector(config, precision=settings.precision)
            rematerialize(self.detector, settings.rematerialize)
            self.trained: TrainedVariables = build.build_trained_variables(
                self.detector, self.train_config
            )
            self.step = self._step()
        self.pictures: dict[str, Pixels] = {}  # of the last evaluation
        self._evaluation: Any = None

    @property
    def steps(self) -> int:
        """How many steps the whole training has."""
        steps = self.settings.steps or self.train_config.num_steps
        if not steps:
            raise HoldfastError(
                "The config does not say how long to train.",
                fix="Set train_config.num_steps, or give --steps.",
            )
        return steps

    def start_weights(self) -> str:
        """Load the checkpoint to start from, if the config names one; say what was done."""
        name = self.train_config.fine_tune_checkpoint
        if not name:
            return "fresh weights"
        found = find_checkpoint(name, self.folder)
        if not found.files:
            raise HoldfastError(
                f"There is no checkpoint {name}.", fix="Correct train_config.fine_tune_checkpoint."
            )
        prefix = str(found.files[0]).removesuffix(".index")
        report = load_checkpoint(self.detector, prefix, kind=_kind(self.train_config))
        if self.step.averages is not None:
            self.step.averages.reset()
        return f"{prefix}: {report}"

    @property
    def step_settings(self) -> StepSettings:
        """How a step is computed now, on each device."""
        part = self.train_config.batch_size // self.strategy.num_replicas_in_sync
        marked = (name for name, block in named_blocks(self.detector) if block.rematerializes)
        return StepSettings(
            micro_batch=part // self.step.accumulation,
            accumulation=self.step.accumulation,
            precision=self.settings.precision,
            rematerialize=tuple(marked),
        )

    def cheaper_settings(self) -> tuple[StepSettings, ...]:
        """List what needs ever less memory than the present settings."""
        return ladder([name for name, _ in named_blocks(self.detector)], self.step_settings)

    def switch(self, settings: StepSettings) -> None:
        """Compute steps in another way from now on; what was learnt stays."""
        if settings == self.step_settings:
            return  # what is traced already is kept
        rematerialize(self.detector, settings.rematerialize)
        self.step.split(settings.accumulation)
        self.settings = replace(
            self.settings,
            accumulation=settings.accumulation,
            rematerialize=settings.rematerialize,
        )

    def batches(self, start: int) -> Iterator[Any]:
        """Give this process' part of each batch, from a step on, as its replicas take it."""
        pipeline = self.pipeline()
        part = own_part(self.strategy, pipeline.batch_size, self.settings.accumulation)
        return iter(
            self.strategy.distribute_datasets_from_function(
                lambda context: pipeline.batches(start, part)
            )
        )

    def evaluate(
        self, progress: Progress, tell: Callable[[str], None] = lambda text: None
    ) -> EvaluationResult | None:
        """Evaluate the weights, or their averages where the config says so; None without data.

        tell hears when memory does not suffice for the batches and smaller ones are taken.
        """
        if not self.config.eval_input_reader:
            return None
        if self._evaluation is None:
            data = self._open(self.config.eval_input_reader[0], "eval_input_reader")
            self._evaluation = (
                EvaluationInPieces(
                    build_evaluation_step(self.config, self.detector, with_loss=True)
                ),
                build_evaluation_input(self.config, data.records, data.statistics),
                build_metrics_set(self.config, data.records),
            )
        step, images, metrics = self._evaluation
        step.tell = tell
        averages = self.step.averages if evaluates_averages(self.config) else None
        with averages.swapped() if averages is not None else nullcontext():
            self.pictures = draw_pictures(step, images, build_gallery(self.config, metrics.classes))
            return evaluate_step(step, images, metrics, progress=progress)

    def pipeline(self) -> Pipeline:
        """Make the training input."""
        return build_training_input(
            self.config,
            self.data.records,
            self.data.statistics,
            seed=self.settings.seed,
            budget_bytes=self.settings.input_budget_bytes,
        )

    def _open(self, reader: Any, name: str) -> DataSet:
        if reader is None:
            raise HoldfastError(f"The config has no {name}.", fix=f"Add {name} {{ … }}.")
        records = open_reader(reader, self.folder, name=name)
        statistics = record_statistics(records.files, records.layout, records.names)
        return DataSet(records=records, statistics=statistics)

    def _step(self) -> TrainingStep:
        train, settings = self.train_config, self.settings
        optimizer = train.optimizer or OptimizerConfig()
        variables = self.trained.variables
        weights = None
        if settings.class_weights is not None:
            weights = build.build_class_weights(
                settings.class_weights,
                self.data.statistics,
                _label_map(self.data.records),
                self.detector.num_classes,
            )
        return TrainingStep(
            self.detector,
            build.build_optimizer(optimizer, variables),
            build.build_schedule(optimizer),
            variables=variables,
            rules=build.build_gradient_rules(train),
            averages=build.build_averages(optimizer, variables),
            loss_scale=build.build_loss_scale(settings.precision),
            class_weights=weights,
            penalizes=train.add_regularization_loss,
            accumulation=settings.accumulation,
        )


def rematerialize(detector: Any, names: tuple[str, ...]) -> None:
    """Mark the blocks to be computed again for the gradient; `all` stands for every one."""
    blocks = dict(named_blocks(detector))
    marked = tuple(blocks) if names == ("all",) else names
    if unknown := [name for name in marked if name not in blocks]:
        raise HoldfastError(
            f"The detector has no block {unknown[0]}.", fix=f"Blocks: {', '.join(blocks)}."
        )
    for name, block in blocks.items():
        block.rematerializes = name in marked


def named_blocks(detector: Any) -> Iterator[tuple[str, Block]]:
    """Yield the outermost blocks of each part, which hold nearly all activations."""
    for part_name in ("backbone", "neck", "head"):
        part = getattr(detector, part_name)
        for layer in part._layers:  # Keras lists them nowhere public
            for block in layer if isinstance(layer, list) else [layer]:
                if isinstance(block, Block):
                    yield f"{part_name}/{block.name}", block


def _label_map(records: Records) -> StringIntLabelMap:
    """Give the label map by which the statistics of the records name the classes."""
    names = records.names or {}
    items = (StringIntLabelMapItem(id=number, name=name) for number, name in names.items())
    return StringIntLabelMap(item=tuple(items))


def _kind(train: TrainConfig) -> Any:
    """Say what to take from the checkpoint; unset it means what the OD API makes of it."""
    if train.fine_tune_checkpoint_type:
        return train.fine_tune_checkpoint_type
    if train.load_all_detection_checkpoint_vars:
        return "full"
    return "detection" if train.from_detection_checkpoint else "classification"
