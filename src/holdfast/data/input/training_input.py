"""The training input of a data set: what its statistics decide, within a budget of host memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from holdfast.data.input.budget import DEFAULT_BUDGET_BYTES, Buffers, plan_buffers
from holdfast.data.input.pipeline import ALWAYS_DELIVERED, Augment, Pipeline
from holdfast.data.input.resize import Resized
from holdfast.data.records.merged_records import merged_objects
from holdfast.data.records.record_files import compression_of
from holdfast.data.records.stream import ASPECT_BUCKETS, Buckets, RecordStream
from holdfast.data.sample import GroundTruth, Tensor
from holdfast.data.sources.tfrecord import RecordLayout, record_parser
from holdfast.data.survey.inspection import Records
from holdfast.data.survey.statistics import Statistics
from holdfast.errors import HoldfastError
from holdfast.units import count_text

_PIXEL_BYTES = 3 * 4  # RGB as float32
_BATCHES_ALIVE = 2  # one waits while the next is put together


@dataclass(frozen=True, kw_only=True)
class InputSettings:
    """What the user decides about the training input."""

    batch_size: int
    num_classes: int
    height: int  # of the network's input, the largest that can occur
    width: int
    has_fixed_shape: bool  # else images of like aspect ratio are batched together
    shuffles: bool = True
    shuffle_records: int | None = None  # at most; None: as many as the budget allows
    seed: int = 0
    budget_bytes: int = DEFAULT_BUDGET_BYTES
    boxes_factor: int = 1  # by which augmentations can multiply the boxes of an image
    truth_fields: frozenset[str] = frozenset()  # beyond boxes, classes and weights


def training_pipeline(
    records: Records,
    statistics: Statistics,
    settings: InputSettings,
    *,
    resize: Callable[[Tensor, Tensor], Resized],
    augmentations: Sequence[Augment] = (),
) -> Pipeline:
    """Make the pipeline: what cannot be used is left out, and no image has too many boxes."""
    if statistics.images < settings.batch_size:
        raise HoldfastError(
            f"The training data has {count_text(statistics.images, 'usable image')}, and a batch "
            f"needs {settings.batch_size}.",
            fix="Lower train_config.batch_size, or look with `holdfast inspect` at what is left "
            "out and why.",
        )
    has_buckets = not settings.has_fixed_shape and settings.batch_size > 1
    buffers = buffers_of(statistics, settings, has_buckets)
    crowds = statistics.boxes_per_image
    # Where statistics found nothing wrong, nothing is judged a second time.
    is_clean = not statistics.boxes_left_out
    layout = replace(
        _needed(records.layout, settings.truth_fields),
        has_merged=bool(statistics.records_merged),
        is_verified=is_clean,
    )
    return Pipeline(
        stream=RecordStream(
            files=records.files,
            num_records=statistics.images,
            compressions=tuple(compression_of(file) for file in records.files),
            left_out=statistics.records_skipped,
            merged=merged_objects(statistics.records_merged),
            seed=settings.seed,
            shuffle_records=buffers.shuffle_records if settings.shuffles else 1,
            buckets=Buckets(batch_size=settings.batch_size) if has_buckets else None,
        ),
        parse=record_parser(layout),
        resize=resize,
        batch_size=settings.batch_size,
        max_boxes=max(1, crowds.maximum if crowds else 0) * settings.boxes_factor,
        num_classes=settings.num_classes,
        judges_boxes=not is_clean or statistics.clipped > 0,
        augmentations=augmentations,
        parallel_calls=buffers.parallel_calls,
        prefetch_batches=buffers.prefetch_batches,
        truth_fields=settings.truth_fields,
    )


def _needed(layout: RecordLayout, truth_fields: frozenset[str]) -> RecordLayout:
    """Read of the records what the ground truth is to hold, and no more."""
    optional = frozenset(GroundTruth._fields) - ALWAYS_DELIVERED - {"mask_bits"}
    if unknown := sorted(truth_fields - optional):
        raise HoldfastError(
            f"The ground truth has no field {unknown[0]}.",
            fix=f"Optional fields: {', '.join(sorted(optional))}.",
        )
    if "masks" in truth_fields and layout.masks is None:
        raise HoldfastError(
            "The detector learns masks, and train_input_reader does not load them.",
            fix="Set train_input_reader.load_instance_masks: true.",
        )
    needs_keypoints = bool(truth_fields & {"keypoints", "visibilities"})
    if needs_keypoints and not layout.num_keypoints:
        raise HoldfastError(
            "The detector learns keypoints, and train_input_reader does not load them.",
            fix="Set train_input_reader.num_keypoints.",
        )
    return replace(
        layout,
        lists=frozenset({"weights"}) | truth_fields,
        masks=layout.masks if "masks" in truth_fields else None,
        num_keypoints=layout.num_keypoints if needs_keypoints else 0,
    )


def decoding_bytes(
    statistics: Statistics, truth_fields: frozenset[str], mask_copies: int = 1
) -> int:
    """Bound what one image takes while it is decoded: three bytes a pixel, and one a mask."""
    crowds = statistics.boxes_per_image
    masks = mask_copies * crowds.maximum if crowds and "masks" in truth_fields else 0
    return statistics.largest_image_bytes * (3 + masks) // 3


def buffers_of(statistics: Statistics, settings: InputSettings, has_buckets: bool) -> Buffers:
    """Share the budget among shuffling, decoding and batches."""
    image_bytes = settings.height * settings.width * _PIXEL_BYTES
    crowds = statistics.boxes_per_image
    if crowds and "masks" in settings.truth_fields:
        row_bytes = -(-settings.width // 8)
        image_bytes += crowds.maximum * settings.boxes_factor * settings.height * row_bytes
    buffers = plan_buffers(
        settings.budget_bytes,
        record_bytes=statistics.stored_bytes,
        largest_image_bytes=max(decoding_bytes(statistics, settings.truth_fields), image_bytes),
        batch_bytes=_BATCHES_ALIVE * settings.batch_size * image_bytes,
        cores=len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1,
        waiting_records=ASPECT_BUCKETS * settings.batch_size if has_buckets else 0,
    )
    if settings.shuffle_records is None:
        return buffers
    return replace(buffers, shuffle_records=min(buffers.shuffle_records, settings.shuffle_records))
