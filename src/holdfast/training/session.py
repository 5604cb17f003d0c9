"""Everything a training works with, built from a config: data, detector, optimizer, step."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import tensorflow as tf

from holdfast.checkpoints.find_checkpoint import named_checkpoint
from holdfast.checkpoints.report import Report
from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.config.facts.loading_kind import loading_kind
from holdfast.config.schema.label_map_items import StringIntLabelMap, StringIntLabelMapItem
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.data.input.build_input import build_training_input, open_reader
from holdfast.data.input.evaluation_input import EvaluationInput
from holdfast.data.input.pipeline import Pipeline
from holdfast.data.survey.inspection import Records
from holdfast.data.survey.statistics import Statistics
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.errors import HoldfastError
from holdfast.evaluation.build_evaluation import (
    build_evaluation_input,
    build_evaluation_step,
    build_metrics_set,
    evaluates_averages,
)
from holdfast.evaluation.evaluation_step import EvaluationStep
from holdfast.evaluation.metrics.metrics_set import MetricsSet
from holdfast.evaluation.result import EvaluationResult
from holdfast.memory.devices.host import resident_bytes
from holdfast.memory.plan import StepSettings
from holdfast.memory.search.ladder import ladder
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.detectors.interface import Detector
from holdfast.models.detectors.region_chunks import (
    most_region_chunks,
    region_chunks,
    split_regions,
)
from holdfast.models.layers.batch_norm import batch_norms
from holdfast.models.layers.block import Block, outermost_blocks
from holdfast.pictures import Pixels
from holdfast.progress import Progress
from holdfast.training import build_training
from holdfast.training.batch_norm_start import Refit, refit_batch_norms
from holdfast.training.build_training_step import build_training_step
from holdfast.training.cluster import is_chief
from holdfast.training.distribution import own_part
from holdfast.training.evaluation_pictures import build_gallery, draw_pictures
from holdfast.training.peers.shared_work import evaluate_together
from holdfast.training.step.trained_variables import TrainedVariables
from holdfast.training.step.training_step import TrainingStep
from holdfast.training.surviving.evaluation_pieces import EvaluationInPieces
from holdfast.training.teaching.build_teaching import Student
from holdfast.training.training_settings import TrainingSettings


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Records and what is known about them."""

    records: Records
    statistics: Statistics


@dataclass(frozen=True, kw_only=True)
class EvaluationParts:
    """What evaluates between steps."""

    step: EvaluationStep
    in_pieces: EvaluationInPieces  # the same step, in smaller pieces where memory runs out
    images: EvaluationInput
    metrics: MetricsSet
    statistics: Statistics


_IMAGES_FOR_STATISTICS = 24  # enough for thousands of values of every channel


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
            split_regions(self.detector, settings.region_chunks)
            self.trained: TrainedVariables = build_training.build_trained_variables(
                self.detector, self.train_config
            )
            self.step = self._step()
        self.evaluated_at_once: int | None = None  # images; None: a batch
        self.pictures: dict[str, Pixels] = {}  # of the last evaluation
        self._evaluation: EvaluationParts | None = None

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

    @property
    def judged_from(self) -> int:
        """The steps after which an evaluation counts: none where less is pruned than wanted."""
        pruning = self.step.pruning
        return 0 if pruning is None else pruning.schedule.end + 1

    def start_weights(self) -> str:
        """Load the checkpoint to start from, if the config names one; say what was done."""
        name = self.train_config.fine_tune_checkpoint
        if not name:
            return "fresh weights"
        prefix = named_checkpoint(name, self.folder)
        report = load_checkpoint(self.detector, prefix, kind=loading_kind(self.train_config))
        if self.detector.clock is not None:
            self.detector.clock.step.assign(0)  # the delay counts the steps of this training
        refit = self._refit_batch_norms(report)
        if self.step.averages is not None:
            self.step.averages.reset()
        return "; ".join([f"{prefix}: {report}", *([str(refit)] if refit else [])])

    def _refit_batch_norms(self, report: Report) -> Refit | None:
        """Look whether the loaded batch-norm statistics are those of the images to train on."""
        filled = {id(variable) for variable in report.variables.values()}
        layers = [
            layer
            for layer in batch_norms(self.detector)
            if not layer.settings.is_frozen and id(layer.moving_variance) in filled
        ]
        batches = self.pipeline().batches() if layers else ()
        # One image at a time: never more memory than a step takes.
        inputs = (
            self.detector.normalize(batch.images[one : one + 1], batch.sizes[one : one + 1])
            for batch in batches
            for one in range(batch.images.shape[0])
        )
        return refit_batch_norms(self.detector, layers, islice(inputs, _IMAGES_FOR_STATISTICS))

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
            region_chunks=region_chunks(self.detector),
        )

    def cheaper_settings(self, settings: StepSettings | None = None) -> tuple[StepSettings, ...]:
        """List what needs ever less memory than these settings, by default the present ones."""
        blocks = [name for name, _ in named_blocks(self.detector)]
        most_chunks = most_region_chunks(self.detector)
        return ladder(blocks, settings or self.step_settings, most_chunks)

    def switch(self, settings: StepSettings) -> None:
        """Compute steps in another way from now on; what was learned stays."""
        before = self.step_settings
        if settings == before:
            return  # what is traced already is kept
        compute_as(self.detector, settings)
        if settings.region_chunks != before.region_chunks:
            self._evaluation = None  # it looks at regions, too
        self.step.split(settings.accumulation)
        self.settings = replace(
            self.settings,
            accumulation=settings.accumulation,
            rematerialize=settings.rematerialize,
            region_chunks=settings.region_chunks,
        )

    def batches(self, start: int) -> Iterator[Any]:
        """Give this process' part of each batch, from a step on, as its replicas take it."""
        pipeline = self.pipeline()
        part = own_part(self.strategy, pipeline.batch_size, self.settings.accumulation)
        batches = self.strategy.distribute_datasets_from_function(
            lambda context: pipeline.batches(start, part)
        )
        self.step.expect(batches.element_spec)
        return iter(batches)

    def evaluate(
        self, progress: Progress, tell: Callable[[str], None] = lambda text: None
    ) -> EvaluationResult | None:
        """Evaluate the weights, or their averages where the config says so; None without data.

        tell hears when memory does not suffice for the batches and smaller ones are taken.
        """
        if not self.config.eval_input_reader:
            return None
        parts = self.evaluation_parts()
        step, images, metrics = parts.in_pieces, parts.images, parts.metrics
        step.tell, step.images_at_once = tell, self.evaluated_at_once
        averages = self.step.averages if evaluates_averages(self.config) else None
        with averages.swapped() if averages is not None else nullcontext():
            if is_chief():
                gallery = build_gallery(self.config, metrics.classes)
                self.pictures = draw_pictures(step, images, gallery)
            result = evaluate_together(step, images, metrics, progress)
        self.evaluated_at_once = step.images_at_once
        return result

    def evaluation_parts(self) -> EvaluationParts:
        """Give what evaluates, which is built once; HoldfastError without evaluation data."""
        if self._evaluation is None:
            reader = next(iter(self.config.eval_input_reader), None)
            data = self._open(reader, "eval_input_reader")
            step = build_evaluation_step(self.config, self.detector, with_loss=True)
            self._evaluation = EvaluationParts(
                step=step,
                in_pieces=EvaluationInPieces(step),
                images=build_evaluation_input(self.config, data.records, data.statistics),
                metrics=build_metrics_set(self.config, data.records),
                statistics=data.statistics,
            )
        return self._evaluation

    def pipeline(self) -> Pipeline:
        """Make the training input."""
        return build_training_input(
            self.config,
            self.data.records,
            self.data.statistics,
            seed=self.settings.seed,
            budget_bytes=self.settings.input_budget_bytes,
            truth_fields=self.detector.truth_fields,
        )

    def _open(self, reader: Any, name: str) -> DataSet:
        if reader is None:
            raise HoldfastError(f"The config has no {name}.", fix=f"Add {name} {{ … }}.")
        records = open_reader(reader, self.folder, name=name)
        statistics = record_statistics(records.files, records.layout, records.names)
        return DataSet(records=records, statistics=statistics)

    def _step(self) -> TrainingStep:
        settings = self.settings
        return build_training_step(
            Student(
                detector=self.detector,
                config=self.config,
                folder=self.folder,
                precision=settings.precision,
            ),
            self.trained.variables,
            choice=settings.optimization,
            steps=self.steps if settings.optimization.prune else 0,
            teacher=settings.teacher,
            class_weights=self._class_weights(settings.class_weights),
            accumulation=settings.accumulation,
            seed=settings.seed,
        )

    def _class_weights(self, choice: str | None) -> tuple[float, ...] | None:
        if choice is None:
            return None
        if self.detector.legacy.head == "heatmaps":
            raise HoldfastError(
                "CenterNet takes no class weights: the peak of a heatmap counts in full, or not at "
                "all.",
                fix="Leave --class-weights out.",
            )
        label_map = _label_map(self.data.records)
        return build_training.build_class_weights(
            choice, self.data.statistics, label_map, self.detector.num_classes
        )


def compute_as(detector: Detector, settings: StepSettings) -> None:
    """Let a detector compute as settings say; what was traced before is to be traced again."""
    rematerialize(detector, settings.rematerialize)
    split_regions(detector, settings.region_chunks)


def rematerialize(detector: Detector, names: tuple[str, ...]) -> None:
    """Mark the blocks to be computed again for the gradient; `all` stands for every one."""
    blocks = dict(named_blocks(detector))
    marked = tuple(blocks) if names == ("all",) else names
    if unknown := [name for name in marked if name not in blocks]:
        raise HoldfastError(
            f"The detector has no block {unknown[0]}.", fix=f"Blocks: {', '.join(blocks)}."
        )
    for name, block in blocks.items():
        block.rematerializes = name in marked


def named_blocks(detector: Detector) -> Iterator[tuple[str, Block]]:
    """Yield the outermost blocks of each part, which hold nearly all activations."""
    for name, part in detector.parts().items():
        for block in outermost_blocks(part):
            yield f"{name}/{block.name}", block


def _label_map(records: Records) -> StringIntLabelMap:
    """Give the label map by which the statistics of the records name the classes."""
    names = records.names or {}
    items = (StringIntLabelMapItem(id=number, name=name) for number, name in names.items())
    return StringIntLabelMap(item=tuple(items))
