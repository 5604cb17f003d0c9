"""The batch of a data set that needs most memory: its largest shape, and its fullest image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from holdfast.config.input_sizes import InputShape, input_shape
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.data.build import build_training_input, largest_image, open_reader
from holdfast.data.pipeline import Pipeline
from holdfast.data.statistics import Statistics
from holdfast.data.statistics_cache import record_statistics
from holdfast.errors import HoldfastError
from holdfast.memory.plan import BatchShape

_UNKNOWN_SIDE = 1024  # pixels, where neither resizer nor data set a limit


@dataclass(frozen=True, kw_only=True)
class WorstBatch:
    """What the step must be able to take, and how that is known."""

    shape: BatchShape
    reasons: tuple[str, ...]
    batches: int = 2  # of the input, alive at once: one in use, one that waits
    decoding_bytes: int = 0  # on the host: images being decoded, records waiting to be shuffled


def worst_batch(config: TrainEvalPipelineConfig, folder: Path) -> WorstBatch:
    """Find the worst batch in the training data; without data, assume it from the config."""
    reader = config.train_input_reader
    if reader is None:
        return _assumed(config, "the config has no train_input_reader")
    try:
        records = open_reader(reader, folder)
    except HoldfastError as error:
        return _assumed(config, error.message)
    statistics = record_statistics(records.files, records.layout, records.names)
    return worst_of(config, build_training_input(config, records, statistics), statistics)


def worst_of(
    config: TrainEvalPipelineConfig, pipeline: Pipeline, statistics: Statistics
) -> WorstBatch:
    """Find the worst batch that an input can give."""
    shape = _network_shape(config) or largest_image(statistics)
    shuffled = pipeline.stream.shuffle_records
    return WorstBatch(
        shape=BatchShape(height=shape.height, width=shape.width, boxes=pipeline.max_boxes),
        reasons=tuple(_names(statistics)),
        batches=pipeline.prefetch_batches + 1,
        decoding_bytes=pipeline.parallel_calls * statistics.largest_image_bytes
        + sum(statistics.stored_bytes[-shuffled:]),
    )


def _names(statistics: Statistics) -> list[str]:
    """Name the images that decide."""
    named = []
    crowds = statistics.boxes_per_image
    if crowds is not None and crowds.worst:
        worst = crowds.worst[0]
        identity = f" ({worst.source_id})" if worst.source_id else ""
        named.append(f"fullest image: {worst.boxes} boxes in {worst.place}{identity}")
    sizes = statistics.image_sizes
    if sizes is not None:
        pixels = f"{sizes.width.maximum:.0f} x {sizes.height.maximum:.0f}"
        named.append(f"largest image: {statistics.largest_image} (at most {pixels} pixels)")
    return named


def _assumed(config: TrainEvalPipelineConfig, why: str) -> WorstBatch:
    reader, train = config.train_input_reader, config.train_config or TrainConfig()
    source = reader if reader is not None and reader.has("max_number_of_boxes") else train
    boxes = max(1, (source or InputReader()).max_number_of_boxes)
    known = _network_shape(config)
    height, width = (known.height, known.width) if known else (_UNKNOWN_SIDE, _UNKNOWN_SIDE)
    reason = (
        f"without data ({why.rstrip('.')}): the resizer's largest shape, {boxes} boxes an image"
    )
    return WorstBatch(shape=BatchShape(height=height, width=width, boxes=boxes), reasons=(reason,))


def _network_shape(config: TrainEvalPipelineConfig) -> InputShape | None:
    train = config.train_config or TrainConfig()
    return input_shape(config.model, train.batch_size) if config.model else None
