"""The evaluation input of a data set: every usable image once, in order, as it is labeled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import tensorflow as tf

from holdfast.data.input.batching import as_written, object_padding, planned_options, usable_sample
from holdfast.data.input.budget import DEFAULT_BUDGET_BYTES
from holdfast.data.input.decode_images import decode_image
from holdfast.data.input.resize import Resized
from holdfast.data.input.training_input import InputSettings, buffers_of
from holdfast.data.records.merged_records import merged_objects
from holdfast.data.records.record_files import compression_of
from holdfast.data.records.stream import RecordStream
from holdfast.data.sample import Sample, Tensor
from holdfast.data.sources.tfrecord import Parsed, RecordLayout, record_parser
from holdfast.data.survey.box_validity import judge
from holdfast.data.survey.inspection import Records
from holdfast.data.survey.statistics import Statistics
from holdfast.errors import HoldfastError
from holdfast.geometry.mask_bits import pack_masks

# B images, G objects an image, padded with zeros behind `counts`


class LabeledTruth(NamedTuple):
    """What the images of a batch show, in each image's own frame."""

    boxes: Tensor  # float32 (B, G, 4) y_min, x_min, y_max, x_max, normalized to the image
    classes: Tensor  # int32 (B, G) 0-based
    weights: Tensor  # float32 (B, G)
    confidences: Tensor  # float32 (B, G)
    is_crowd: Tensor  # bool (B, G)
    group_of: Tensor  # bool (B, G)
    difficult: Tensor  # bool (B, G)
    areas: Tensor  # float32 (B, G) in pixels of the original image; 0 where the record has none
    counts: Tensor  # int32 (B,) objects of each image
    keypoints: Tensor = None  # float32 (B, G, K, 2) y, x normalized to the image; NaN = none
    visibilities: Tensor = None  # bool (B, G, K)
    mask_bits: Tensor = None  # uint8 (B, G, H, ceil(W / 8)) resized and padded like the images
    encoded_masks: Tensor = None  # string (B, G) PNGs as large as the original image; "" = none


class EvaluationBatch(NamedTuple):
    """What one evaluation step takes."""

    images: Tensor  # float32 or uint8 (B, H, W, C) 0..255, resized and padded, not normalized
    sizes: Tensor  # int32 (B, 3) height, width, channels after the resize, before the padding
    original_sizes: Tensor  # int32 (B, 2) height and width as stored
    truth: LabeledTruth
    source_ids: Tensor  # string (B,)
    is_real: Tensor  # bool (B,) False: an image that only fills the last batch


@dataclass(frozen=True, kw_only=True)
class EvaluationInput:
    """One pass over a data set, as often as asked for.

    The last batch is filled with copies of the first image, which are not real.
    """

    stream: RecordStream
    parse: Callable[[Tensor], Parsed]
    resize: Callable[[Tensor, Tensor], Resized]  # image, masks
    batch_size: int
    max_boxes: int
    num_classes: int | None = None
    sample_1_of_n: int = 1
    judges_boxes: bool = True  # not needed where statistics found none to leave out or to clip
    truth_fields: frozenset[str] = frozenset()  # masks, keypoints: what is evaluated beside boxes
    parallel_calls: int = 2
    prefetch_batches: int = 1

    @property
    def num_images(self) -> int:
        """How many images a pass shows."""
        return -(-self.stream.num_records // self.sample_1_of_n)

    def batches(self, first: int = 0, every: int = 1) -> tf.data.Dataset:
        """Give the batches of one pass, each an EvaluationBatch, or every n-th from one on."""
        records = self.stream.epoch(0).shard(self.sample_1_of_n, 0)
        if missing := -self.num_images % self.batch_size:
            records = records.concatenate(records.take(1).repeat(missing))
        records = records.enumerate()
        if every > 1:  # what others evaluate is read, but not decoded
            batches = records.batch(self.batch_size, drop_remainder=True)
            records = batches.shard(every, first).unbatch()
        images = records.map(
            as_written(self._image), num_parallel_calls=self.parallel_calls, deterministic=True
        )
        batches = images.batch(self.batch_size, drop_remainder=True)
        return batches.prefetch(self.prefetch_batches).with_options(planned_options())

    def _image(self, position: Tensor, serialized: Tensor) -> EvaluationBatch:
        sample = usable_sample(self.parse(serialized))
        if self.judges_boxes:
            sample = judge(sample, self.num_classes).sample
        image = decode_image(sample.image)
        resized = self.resize(image, sample.masks)
        sample = sample._replace(masks=resized.masks)
        return EvaluationBatch(
            images=resized.image,
            sizes=resized.size,
            original_sizes=tf.shape(image)[:2],
            truth=_padded_truth(sample, self.max_boxes, self.truth_fields),
            source_ids=sample.source_id,
            is_real=position < self.num_images,
        )


def evaluation_input(
    records: Records,
    statistics: Statistics,
    *,
    resize: Callable[[Tensor, Tensor], Resized],
    num_classes: int,
    height: int,
    width: int,
    has_fixed_shape: bool,
    batch_size: int = 1,
    sample_1_of_n: int = 1,
    budget_bytes: int = DEFAULT_BUDGET_BYTES,
    truth_fields: frozenset[str] = frozenset(),
) -> EvaluationInput:
    """Make the input from records and their statistics; what cannot be used is left out.

    height and width are those of the network's input, the largest that can occur. Where images come
    out of the resizer in unequal shapes, each is a batch of its own. truth_fields: `masks` and
    `keypoints` are read where they are named and the records' layout has them.
    """
    if not statistics.images:
        raise HoldfastError(
            "The evaluation data has no usable image.",
            fix="Look with `holdfast inspect` at what is left out and why.",
        )
    settings = InputSettings(
        batch_size=batch_size if has_fixed_shape else 1,
        num_classes=num_classes,
        height=height,
        width=width,
        has_fixed_shape=has_fixed_shape,
        budget_bytes=budget_bytes,
        truth_fields=_read_fields(records.layout, truth_fields),
    )
    buffers = buffers_of(statistics, settings, has_buckets=False)
    crowds = statistics.boxes_per_image
    return EvaluationInput(
        stream=_stream(records, statistics),
        parse=record_parser(_layout(records, statistics, settings.truth_fields)),
        resize=resize,
        batch_size=settings.batch_size,
        max_boxes=max(1, crowds.maximum if crowds else 0),
        num_classes=num_classes,
        sample_1_of_n=sample_1_of_n,
        judges_boxes=bool(statistics.boxes_left_out or statistics.clipped),
        truth_fields=settings.truth_fields,
        parallel_calls=buffers.parallel_calls,
        prefetch_batches=buffers.prefetch_batches,
    )


def _stream(records: Records, statistics: Statistics) -> RecordStream:
    return RecordStream(
        files=records.files,
        num_records=statistics.images,
        compressions=tuple(compression_of(file) for file in records.files),
        left_out=statistics.records_skipped,
        merged=merged_objects(statistics.records_merged),
    )


def _read_fields(layout: RecordLayout, truth_fields: frozenset[str]) -> frozenset[str]:
    """Name what is wanted, of masks and keypoints, and that the layout reads."""
    is_read = {"masks": layout.masks is not None, "keypoints": layout.num_keypoints > 0}
    return frozenset(name for name in truth_fields if is_read.get(name, False))


def _layout(records: Records, statistics: Statistics, truth_fields: frozenset[str]) -> RecordLayout:
    return replace(
        records.layout,
        lists=frozenset(LabeledTruth._fields),
        masks=records.layout.masks if "masks" in truth_fields else None,
        mask_form="both",
        num_keypoints=records.layout.num_keypoints if "keypoints" in truth_fields else 0,
        has_merged=bool(statistics.records_merged),
        # Statistics have seen every record; where nothing was left out, nothing needs judging.
        is_verified=not statistics.boxes_left_out,
    )


def _padded_truth(sample: Sample, max_boxes: int, truth_fields: frozenset[str]) -> LabeledTruth:
    """Pad the objects of one image to a fixed number."""
    count = tf.shape(sample.boxes)[0]
    pad = object_padding(count, max_boxes)
    names = set(LabeledTruth._fields) - set(LabeledTruth._field_defaults) - {"counts"}
    lists = {name: pad(getattr(sample, name)) for name in names}
    if "masks" in truth_fields:
        lists["encoded_masks"] = pad(sample.encoded_masks)
        lists["mask_bits"] = pad(pack_masks(sample.masks))
    if "keypoints" in truth_fields:
        lists["keypoints"] = pad(sample.keypoints, float("nan"))
        lists["visibilities"] = pad(sample.visibilities)
    return LabeledTruth(counts=count, **lists)
