"""From records to batches: parse, decode, augment, resize, pad, all inside tf.data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import tensorflow as tf

from holdfast.data.augment.views import view_of, with_pixels
from holdfast.data.input.batching import as_written, object_padding, planned_options, usable_sample
from holdfast.data.input.resize import Resized
from holdfast.data.records.stream import RecordStream
from holdfast.data.sample import Batch, GroundTruth, Sample, Tensor
from holdfast.data.sources.tfrecord import Parsed
from holdfast.data.survey.box_validity import judge
from holdfast.geometry.mask_bits import pack_masks

Augment = Callable[[Sample, Tensor], Sample]
ALWAYS_DELIVERED = frozenset({"boxes", "classes", "weights"})  # of the ground truth


@dataclass(frozen=True, kw_only=True)
class Part:
    """Which images of every batch: some of `count` equal parts, which come one after the other."""

    count: int = 1
    first: int = 0
    own: int = 1

    def holds(self, position: Tensor, batch_size: int) -> Tensor:
        """Tell whether the sample at a position is in these parts."""
        part = position % batch_size // (batch_size // self.count)
        return (part >= self.first) & (part < self.first + self.own)


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A training input: the same seed gives the same batches, from whatever batch it starts."""

    stream: RecordStream
    parse: Callable[[Tensor], Parsed]
    resize: Callable[[Tensor, Tensor], Resized]  # image, masks
    batch_size: int
    max_boxes: int
    num_classes: int | None = None
    augmentations: Sequence[Augment] = field(default=())
    parallel_calls: int = 2
    prefetch_batches: int = 1
    judges_boxes: bool = True  # not needed where statistics found none to leave out or to clip
    # Beyond boxes, classes and weights; `masks` are delivered as mask_bits.
    truth_fields: frozenset[str] = frozenset()

    def batches(self, start: int = 0, part: Part | None = None) -> tf.data.Dataset:
        """Give the endless batches, from batch number `start` on, or a part of each."""
        part = part or Part()
        records = self.stream.endless(start * self.batch_size)
        if part.count > 1:
            holds = as_written(lambda position, _: part.holds(position, self.batch_size))
            records = records.filter(holds)
        samples = records.map(
            as_written(lambda position, serialized: _present(self._sample(position, serialized))),
            num_parallel_calls=self.parallel_calls,
            deterministic=True,
        )
        # Padding costs a copy, so it is done only for images of unequal shape.
        is_static = all(spec.shape.is_fully_defined() for spec in samples.element_spec.values())
        group = samples.batch if is_static else samples.padded_batch
        batches = group(self.batch_size // part.count, drop_remainder=True)
        batches = batches.map(as_written(lambda present: _to_padded_frame(_restored(present))))
        return batches.prefetch(self.prefetch_batches).with_options(planned_options())

    def _sample(self, position: Tensor, serialized: Tensor) -> Batch:
        sample = usable_sample(self.parse(serialized))
        if self.judges_boxes:
            sample = judge(sample, self.num_classes).sample
        sample = sample._replace(image=view_of(sample.image))
        for index, augment in enumerate(self.augmentations):
            sample = augment(sample, self._seed(position, index))
        sample = with_pixels(sample)
        resized = self.resize(sample.image, sample.masks)
        sample = sample._replace(image=resized.image, masks=resized.masks)
        return Batch(
            images=resized.image,
            sizes=resized.size,
            truth=_padded_truth(sample, self.max_boxes, self.truth_fields),
            source_ids=sample.source_id,
            positions=position,
        )

    def _seed(self, position: Tensor, index: int) -> Tensor:
        """Give each augmentation of each sample its own seed, int32 (2,)."""
        base = tf.constant([self.stream.seed & 0x7FFFFFFF, index], tf.int64)
        mixed = tf.random.experimental.stateless_fold_in(base, position)
        return tf.cast(mixed & 0x7FFFFFFF, tf.int32)


def _padded_truth(sample: Sample, max_boxes: int, truth_fields: frozenset[str]) -> GroundTruth:
    """Pad the objects of one sample to a fixed number."""
    pad = object_padding(tf.shape(sample.boxes)[0], max_boxes)
    names = (ALWAYS_DELIVERED | truth_fields) - {"masks", "keypoints"}
    lists = {name: pad(getattr(sample, name)) for name in names}
    if "masks" in truth_fields:
        lists["mask_bits"] = pad(pack_masks(sample.masks))
    if "keypoints" in truth_fields:
        lists["keypoints"] = pad(sample.keypoints, float("nan"))
    return GroundTruth(**lists)


def _present(batch: Batch) -> dict[str, Tensor]:
    """Flatten to what is there: padded_batch takes no None."""
    values = batch._asdict() | batch.truth._asdict()
    return {name: value for name, value in values.items() if name != "truth" and value is not None}


def _restored(present: dict[str, Tensor]) -> Batch:
    truth = {name: present[name] for name in GroundTruth._fields if name in present}
    rest = {name: present[name] for name in Batch._fields if name in present}
    return Batch(truth=GroundTruth(**truth), **rest)


def _to_padded_frame(batch: Batch) -> Batch:
    """Boxes and keypoints of each image, normalized to it, become relative to the padded input."""
    true = tf.cast(batch.sizes[:, :2], tf.float32)  # (B, 2)
    padded = tf.cast(tf.shape(batch.images)[1:3], tf.float32)  # (2,)
    scale = (true / padded)[:, None, :]  # (B, 1, 2)
    truth = batch.truth._replace(boxes=batch.truth.boxes * tf.concat([scale, scale], axis=-1))
    if truth.keypoints is not None:
        truth = truth._replace(keypoints=truth.keypoints * scale[:, :, None, :])
    return batch._replace(truth=truth)
