"""The batches that need most memory, of a step and of an evaluation: largest shape, most boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.config.facts.input_sizes import InputShape, input_shape
from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.data.input.budget import COPIES_PER_CALL
from holdfast.data.input.build_input import build_training_input, largest_image, open_reader
from holdfast.data.input.evaluation_input import EvaluationInput
from holdfast.data.input.pipeline import Pipeline
from holdfast.data.input.training_input import decoding_bytes
from holdfast.data.records import data_files
from holdfast.data.records.stream import OPEN_FILES
from holdfast.data.survey.statistics import Statistics
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.errors import HoldfastError
from holdfast.evaluation.build_evaluation import build_evaluation_input
from holdfast.memory.plan import BatchShape
from holdfast.store.store_errors import StoreError
from holdfast.store.tensorflow_reading import block_bytes

# Augmentations after which an image has the size that it had.
_KEEP_SIZE = frozenset(
    {
        *("normalize_image", "subtract_channel_mean", "rgb_to_gray", "random_rgb_to_gray"),
        *("random_horizontal_flip", "random_vertical_flip", "random_jitter_boxes"),
        *("random_adjust_brightness", "random_adjust_contrast", "random_adjust_hue"),
        *("random_adjust_saturation", "random_distort_color", "adjust_gamma"),
        *("random_pixel_value_scale", "random_black_patches", "random_patch_gaussian"),
        *("random_jpeg_quality", "drop_label_probabilistically", "remap_labels"),
    }
)
_UNKNOWN_SIDE = 1024  # pixels, where neither resizer nor data set a limit


@dataclass(frozen=True, kw_only=True)
class WorstEvaluation:
    """The largest batch of an evaluation."""

    batch_size: int
    shape: BatchShape
    batches: int = 2  # of the input, alive at once: one in use, one that waits
    decoding_bytes: int = 0
    reading_bytes: int = 0  # as of a WorstBatch


@dataclass(frozen=True, kw_only=True)
class WorstBatch:
    """What the step must be able to take, and how that is known."""

    shape: BatchShape
    reasons: tuple[str, ...]
    batches: int = 2  # of the input, alive at once: one in use, one that waits
    decoding_bytes: int = 0  # on the host: images being decoded, records waiting to be shuffled
    reading_bytes: int = 0  # on the host: blocks that TensorFlow keeps of open gs:// files
    many_shapes: bool = False  # batches differ in height and width; this is the largest
    evaluation: WorstEvaluation | None = None  # None: there is none


def read_worst(document: Mapping[str, Any]) -> WorstBatch:
    """Read a worst batch from JSON values."""
    evaluation = document["evaluation"]
    if evaluation is not None:
        shape = BatchShape(**evaluation["shape"])
        evaluation = WorstEvaluation(**dict(evaluation) | {"shape": shape})
    read = {
        "shape": BatchShape(**document["shape"]),
        "reasons": tuple(document["reasons"]),
        "evaluation": evaluation,
    }
    return WorstBatch(**dict(document) | read)


def worst_batch(config: TrainEvalPipelineConfig, folder: Path) -> WorstBatch:
    """Find the worst batches in the data; without data, assume them from the config."""
    reader = config.train_input_reader
    if reader is None:
        return _assumed(config, folder, "the config has no train_input_reader")
    try:
        records = open_reader(reader, folder)
    except StoreError:
        raise  # the data is there, perhaps
    except HoldfastError as error:
        return _assumed(config, folder, error.message)
    statistics = record_statistics(records.files, records.layout, records.names)
    worst = worst_of(config, build_training_input(config, records, statistics), statistics)
    return replace(worst, evaluation=_worst_evaluation(config, folder, worst.shape))


def worst_of(
    config: TrainEvalPipelineConfig, pipeline: Pipeline, statistics: Statistics
) -> WorstBatch:
    """Find the worst batch that a training input can give."""
    shape = _network_shape(config) or largest_image(statistics)
    shuffled = pipeline.stream.shuffle_records
    image_bytes = decoding_bytes(statistics, pipeline.truth_fields, COPIES_PER_CALL)
    return WorstBatch(
        shape=BatchShape(
            height=shape.height,
            width=shape.width,
            boxes=pipeline.max_boxes,
            keypoints=_num_keypoints(config),
        ),
        reasons=tuple(_names(statistics)),
        batches=pipeline.prefetch_batches + 1,
        decoding_bytes=pipeline.parallel_calls * image_bytes
        + sum(statistics.stored_bytes[-shuffled:]),
        reading_bytes=_reading_bytes(pipeline.stream.files),
        many_shapes=not shape.fixed and _differ(config, statistics),
    )


def worst_evaluation_of(
    config: TrainEvalPipelineConfig, images: EvaluationInput, statistics: Statistics
) -> WorstEvaluation:
    """Find the largest batch that an evaluation input can give."""
    shape = _network_shape(config, images.batch_size) or largest_image(statistics)
    return WorstEvaluation(
        batch_size=images.batch_size,
        shape=BatchShape(
            height=shape.height,
            width=shape.width,
            boxes=images.max_boxes,
            keypoints=_num_keypoints(config),
        ),
        batches=images.prefetch_batches + 1,
        decoding_bytes=images.parallel_calls
        * decoding_bytes(statistics, images.truth_fields, COPIES_PER_CALL),
        reading_bytes=_reading_bytes(images.stream.files),
    )


def _worst_evaluation(
    config: TrainEvalPipelineConfig, folder: Path, training: BatchShape
) -> WorstEvaluation | None:
    """Find it in the evaluation data; where there is none yet, take images like the training's."""
    reader = next(iter(config.eval_input_reader), None)
    if reader is None:
        return None
    try:
        records = open_reader(reader, folder, name="eval_input_reader")
    except StoreError:
        raise
    except HoldfastError:
        batch_size = max(1, (config.eval_config or EvalConfig()).batch_size)
        return WorstEvaluation(batch_size=batch_size, shape=training)
    statistics = record_statistics(records.files, records.layout, records.names)
    images = build_evaluation_input(config, records, statistics)
    return worst_evaluation_of(config, images, statistics)


def _reading_bytes(files: Sequence[str]) -> int:
    """Give what is held of files of a store that are open at once."""
    remote = sum(data_files.is_remote(file) for file in files)
    return min(remote, OPEN_FILES) * block_bytes()


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


def _assumed(config: TrainEvalPipelineConfig, folder: Path, why: str) -> WorstBatch:
    reader, train = config.train_input_reader, config.train_config or TrainConfig()
    source = reader if reader is not None and reader.has("max_number_of_boxes") else train
    boxes = max(1, (source or InputReader()).max_number_of_boxes)
    known = _network_shape(config)
    height, width = (known.height, known.width) if known else (_UNKNOWN_SIDE, _UNKNOWN_SIDE)
    reason = (
        f"without data ({why.rstrip('.')}): the resizer's largest shape, {boxes} boxes an image"
    )
    keypoints = _num_keypoints(config)
    shape = BatchShape(height=height, width=width, boxes=boxes, keypoints=keypoints)
    evaluation = _worst_evaluation(config, folder, shape)
    return WorstBatch(
        shape=shape,
        reasons=(reason,),
        many_shapes=known is None or not known.fixed,
        evaluation=evaluation,
    )


def _differ(config: TrainEvalPipelineConfig, statistics: Statistics) -> bool:
    """Tell whether images can come to a resizer in several sizes."""
    train, sizes = config.train_config or TrainConfig(), statistics.image_sizes
    steps = {each.which("preprocessing_step") for each in train.data_augmentation_options}
    if sizes is None or not steps <= _KEEP_SIZE:
        return True
    return any(side.minimum != side.maximum for side in (sizes.height, sizes.width))


def _num_keypoints(config: TrainEvalPipelineConfig) -> int:
    return config.train_input_reader.num_keypoints if config.train_input_reader else 0


def _network_shape(
    config: TrainEvalPipelineConfig, batch_size: int | None = None
) -> InputShape | None:
    batch_size = batch_size or (config.train_config or TrainConfig()).batch_size
    return input_shape(config.model, batch_size) if config.model else None
