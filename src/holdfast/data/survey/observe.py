"""Look at every image of a data set once: its boxes, its size, what is wrong with it."""

from __future__ import annotations

import hashlib
import os
import re
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.config.label_map import class_name
from holdfast.data.input.decode_images import decoded_image
from holdfast.data.records.merged_records import box_keys
from holdfast.data.records.record_files import read_records
from holdfast.data.records.record_keys import count_boxes, describe_counts
from holdfast.data.sample import Sample
from holdfast.data.sources.decode_gate import BUDGET_BYTES
from holdfast.data.sources.image_files import read_header, why_not_decodable, why_too_large
from holdfast.data.sources.record_masks import MaskForm, MaskFormat
from holdfast.data.sources.source import Entry, Source
from holdfast.data.sources.tfrecord import UNKNOWN_ID, Parsed, RecordLayout, record_parser
from holdfast.data.survey.box_validity import Judgment, Reason, judge
from holdfast.data.survey.mask_faults import first_mask_fault
from holdfast.errors import HoldfastError

# Of larger images every second, third, … pixel is measured: no mean needs more than this.
MEASURED_PIXELS = 500_000

_TYPE_FAULT = re.compile(r"Key: \S+?\.? +Data types don't match.*?expected type: \w+")

Item = TypeVar("Item")
Result = TypeVar("Result")
Function = Callable[..., Any]  # of TensorFlow, traced


class First(NamedTuple):
    """The first record of an image that was written in several."""

    record: tuple[str, int]  # file and number in it
    image: int  # its number among the images that are kept


class Observation(NamedTuple):
    """What one image shows."""

    place: str  # file and record number, or annotation file
    source_id: str
    content: bytes  # hash of the encoded image; b"" if there is none
    reason: Reason  # why the whole image is left out; KEPT if it is not
    detail: str  # what else there is to say about the reason
    box_reasons: tuple[Reason, ...]  # for each box as written
    boxes: NDArray[np.float32]  # (N, 4) the boxes that are kept
    class_names: tuple[str, ...]  # of the boxes that are kept: name, text, or the id as text
    clipped: int  # of the kept boxes, those whose part outside of the image was cut off
    height: int  # of the decoded image; 0 if it was not decoded
    width: int
    stored_bytes: int  # of the record or the image file
    pixel_mean: NDArray[np.float64]  # (3,) 0..255
    pixel_square_mean: NDArray[np.float64]  # (3,)
    remarks: tuple[str, ...] = ()  # what the source did not take as the files say it
    record: tuple[str, int] | None = None  # file and number in it, if it is a record
    unknown_classes: tuple[str, ...] = ()  # of the boxes whose class the label map lacks
    box_keys: tuple[
        bytes, ...
    ] = ()  # of the boxes of a record that are kept: what tells them apart
    merged_into: First | None = None  # the record of the same image that was there before


def observe_records(
    files: Sequence[str],
    layout: RecordLayout,
    names: Mapping[int, str] | None = None,
    *,
    decodes: bool = True,
) -> Iterator[Observation]:
    """Observe TFRecord files, record by record, in their order.

    `names` is the label map, id -> name: other ids are left out then, and boxes are named by it.
    A damaged file, or one of another kind, raises HoldfastError. Without `decodes` no pixel is
    looked at: it is much faster, and an image counts as good if its header is.
    """
    # All masks of an image at once could be more than the memory holds: they are seen one by one.
    form: MaskForm = "encoded" if layout.masks is MaskFormat.PNG else "counted"
    parse = tf.function(
        record_parser(replace(layout, mask_form=form)),
        input_signature=[tf.TensorSpec((), tf.string)],
        autograph=False,
    )
    judge_boxes = _judge_function(names)

    def look(file: str, number: int, serialized: bytes) -> Observation:
        place = f"{file}, record {number}"
        try:
            parsed = _as_numpy(parse(serialized))
            picture = _seen(parsed.sample.image) if decodes else _announced(parsed.sample.image)
            observation = _observe(place, parsed.sample, picture, judge_boxes, names, parsed)
            masks = parsed.sample.encoded_masks
            if decodes and masks is not None and observation.reason is Reason.KEPT:
                detail = first_mask_fault(masks.tolist(), picture.width, picture.height)
                if detail:
                    observation = _left_out(observation, Reason.BAD_MASK)._replace(detail=detail)
        except (tf.errors.OpError, UnicodeDecodeError) as error:
            # TensorFlow's message may quote the record, which is not text.
            fault = _TYPE_FAULT.search(str(error))
            detail = fault[0] if fault else "it is not a tf.train.Example"
            observation = _unreadable(place, boxes=count_boxes(serialized), detail=detail)
        if observation.reason is Reason.COUNTS_DIFFER:
            observation = observation._replace(detail=describe_counts(serialized))
        return observation._replace(stored_bytes=len(serialized), record=(file, number))

    for file in files:
        records = ((file, number, each) for number, each in enumerate(read_records(file)))
        yield from _in_order(lambda record: look(*record), records, lambda record: len(record[2]))


def observe_source(source: Source) -> Iterator[Observation]:
    """Observe a data set of any other format."""
    names = {item.id: class_name(item) for item in source.label_map.item}
    judge_boxes = _judge_function(names)
    first_of = {entry.source_id: entry for entry in reversed(source.entries)}

    def look(entry: Entry) -> Observation:
        if first_of[entry.source_id] is not entry:  # as converting does, without reading it
            boxes = sum(entry.class_counts.values())
            seen = _unreadable(entry.place, entry.source_id, boxes=boxes, detail="")
            return _left_out(seen, Reason.SAME_ID)
        try:
            sample, remarks = entry.read()
            sample = sample._replace(classes=_known(sample.classes, names))
        except HoldfastError as error:
            boxes = sum(entry.class_counts.values())
            detail = error.message.rstrip(".")
            return _unreadable(entry.place, entry.source_id, boxes=boxes, detail=detail)
        observation = _observe(entry.place, sample, _seen(sample.image), judge_boxes, names)
        return observation._replace(remarks=remarks)

    yield from _in_order(look, source.entries)


def repeated_images_merged(observations: Iterable[Observation]) -> Iterator[Observation]:
    """Mark what shows an image that was there before: the same id and the same content.

    Some tools write one id for all images, so the id alone says nothing. Others write a record for
    each box: boxes that were not there before are kept, and merged into the first record.
    """
    seen: dict[tuple[str, bytes], tuple[First | None, array[int]]] = {}  # 8 bytes a box
    for each in observations:
        if each.reason is not Reason.KEPT:
            yield each
            continue
        key, boxes = (each.source_id, each.content), array("q", map(hash, each.box_keys))
        if key not in seen:
            first = First(each.record, len(seen)) if each.record else None
            seen[key] = (first, boxes)
            yield each
            continue
        first, known = seen[key]
        is_new = [box not in known for box in boxes]
        if first is None or not any(is_new):
            yield _left_out(each, Reason.DUPLICATE_ID)
        else:
            known.extend(boxes)
            yield _merged(each, first, np.array(is_new))


def _merged(observation: Observation, first: First, new: NDArray[np.bool_]) -> Observation:
    """Keep the boxes of a record that its image does not have yet."""
    kept = iter(new.tolist())
    reasons = [why if why or next(kept) else Reason.DUPLICATE_ID for why in observation.box_reasons]
    pairs = zip(observation.class_names, new.tolist(), strict=True)
    return observation._replace(
        box_reasons=tuple(reasons),
        boxes=observation.boxes[new],
        class_names=tuple(name for name, is_new in pairs if is_new),
        merged_into=first,
    )


def _known(classes: NDArray[np.int32], names: Mapping[int, str]) -> NDArray[np.int32]:
    """Mark classes that the label map does not have, also where they are in a gap of its ids."""
    is_known = np.isin(classes + 1, list(names)) | (classes < 0)
    return np.where(is_known, classes, UNKNOWN_ID - 1).astype(np.int32)


def _in_order(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    weigh: Callable[[Item], int] = lambda item: 0,
) -> Iterator[Result]:
    """Work on items in parallel, a few at a time, and give the results in order.

    weigh: how many bytes an item holds while it waits.
    """
    threads = os.cpu_count() or 1
    waiting: deque[tuple[Future[Result], int]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append((pool.submit(work, item), weigh(item)))
                while len(waiting) > 2 * threads or sum(held for _, held in waiting) > BUDGET_BYTES:
                    yield waiting.popleft()[0].result()
            while waiting:
                yield waiting.popleft()[0].result()
        finally:
            for future, _ in waiting:
                future.cancel()


def _judge_function(names: Mapping[int, str] | None) -> Function:
    num_classes = None if names is None else max(names, default=0)

    def judge_boxes(boxes: Any, classes: Any) -> Judgment:
        fill = tf.zeros_like(classes)
        return judge(Sample("", "", boxes, classes, *(fill,) * 7), num_classes)

    signature = (tf.TensorSpec((None, 4), tf.float32), tf.TensorSpec((None,), tf.int32))
    function: Function = tf.function(judge_boxes, input_signature=signature, autograph=False)
    return function


class _Picture(NamedTuple):
    """What is known of an image; all 0 if it is none."""

    height: int = 0
    width: int = 0
    mean: NDArray[np.float64] = np.zeros(3)
    square_mean: NDArray[np.float64] = np.zeros(3)


def _observe(
    place: str,
    sample: Sample,
    picture: _Picture,
    judge_boxes: Function,
    names: Mapping[int, str] | None,
    parsed: Parsed | None = None,
) -> Observation:
    """Judge the boxes of a sample with NumPy fields."""
    judged = _as_numpy(judge_boxes(sample.boxes, sample.classes))
    text = parsed.class_text if parsed else np.zeros(0, object)
    reasons = tuple(Reason(number) for number in judged.reasons.tolist())
    observation = Observation(
        place=place,
        source_id=_text(sample.source_id),
        content=hashlib.sha256(sample.image).digest()[:16] if sample.image else b"",
        reason=Reason.KEPT,
        detail="",
        box_reasons=reasons,
        boxes=judged.sample.boxes,
        class_names=_names(sample.classes, text, names, judged.reasons == Reason.KEPT),
        clipped=int(judged.clipped),
        height=picture.height,
        width=picture.width,
        stored_bytes=len(sample.image),
        pixel_mean=picture.mean,
        pixel_square_mean=picture.square_mean,
        unknown_classes=_written_classes(parsed, judged.reasons == Reason.UNKNOWN_CLASS),
        box_keys=_keys(sample, parsed, judged.reasons == Reason.KEPT) if parsed else (),
    )
    reason = Reason(int(parsed.reason)) if parsed else Reason.KEPT
    if not sample.image:
        reason = Reason.NO_IMAGE
    elif reason is Reason.KEPT and not picture.height:
        reason = Reason.NOT_DECODABLE
    if reason is Reason.KEPT:
        return observation
    written = int(parsed.boxes_written) if parsed else len(reasons)
    if reason is Reason.NOT_DECODABLE:
        observation = observation._replace(detail=why_not_decodable(sample.image))
    return _left_out(observation, reason, boxes=written)


def _seen(encoded: bytes) -> _Picture:
    """Decode an image and measure its pixels."""
    try:
        with decoded_image(encoded) as image:
            height, width, _ = image.shape
            return _Picture(height, width, *_measured(image))
    except HoldfastError:
        return _Picture()


def _announced(encoded: bytes) -> _Picture:
    """Read the size of an image from its header."""
    try:
        size = read_header(encoded).size
    except HoldfastError:
        return _Picture()
    return _Picture() if why_too_large(size, len(encoded)) else _Picture(size.height, size.width)


def _measured(image: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the mean and the mean square of each channel."""
    step = int(np.ceil(np.sqrt(image.shape[0] * image.shape[1] / MEASURED_PIXELS)))
    pixels = image[:: max(step, 1), :: max(step, 1)].reshape(-1, 3)
    values = np.arange(256)
    shares = [np.bincount(pixels[:, channel], minlength=256) / len(pixels) for channel in range(3)]
    return np.array(shares) @ values, np.array(shares) @ values**2


def _names(
    classes: NDArray[np.int32],
    text: NDArray[np.object_],
    names: Mapping[int, str] | None,
    kept: NDArray[np.bool_],
) -> tuple[str, ...]:
    if names is None and len(text) == len(kept):
        return tuple(_text(each) for each in text[kept])
    ids = (classes[kept] + 1).tolist()
    return tuple((names or {}).get(number, str(number)) for number in ids)


def _keys(sample: Sample, parsed: Parsed, kept: NDArray[np.bool_]) -> tuple[bytes, ...]:
    every = box_keys(sample.boxes, parsed.class_text, parsed.class_numbers)
    return tuple(key for key, is_kept in zip(every, kept.tolist(), strict=True) if is_kept)


def _written_classes(parsed: Parsed | None, chosen: NDArray[np.bool_]) -> tuple[str, ...]:
    """Give the classes of some boxes as the record writes them: by text if there is one."""
    if parsed is None or not chosen.any():
        return ()
    written = parsed.class_text if len(parsed.class_text) else parsed.class_numbers
    return tuple(_text(each) if isinstance(each, bytes) else str(each) for each in written[chosen])


def _left_out(observation: Observation, reason: Reason, *, boxes: int | None = None) -> Observation:
    count = len(observation.box_reasons) if boxes is None else boxes
    return observation._replace(
        reason=reason,
        box_reasons=(reason,) * count,
        boxes=np.zeros((0, 4), np.float32),
        class_names=(),
        clipped=0,
        unknown_classes=(),
    )


def _unreadable(place: str, source_id: str = "", *, boxes: int = 0, detail: str) -> Observation:
    return Observation(
        place=place,
        source_id=source_id,
        content=b"",
        reason=Reason.UNREADABLE,
        detail=detail,
        box_reasons=(Reason.UNREADABLE,) * boxes,
        boxes=np.zeros((0, 4), np.float32),
        class_names=(),
        clipped=0,
        height=0,
        width=0,
        stored_bytes=0,
        pixel_mean=np.zeros(3),
        pixel_square_mean=np.zeros(3),
    )


def _as_numpy(value: Any) -> Any:
    return tf.nest.map_structure(lambda each: each.numpy() if tf.is_tensor(each) else each, value)


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else bytes(value).decode("utf-8", "replace")
