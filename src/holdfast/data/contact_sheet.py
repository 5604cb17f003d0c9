"""A picture of some images of a data set with their boxes, before and after augmentation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.config.label_map import class_name
from holdfast.data.images import decode_image
from holdfast.data.inspection import Records
from holdfast.data.record_files import read_records
from holdfast.data.sample import Sample, Tensor
from holdfast.data.sources.source import Source
from holdfast.data.sources.tfrecord import MaskFormat, RecordLayout, record_parser
from holdfast.data.validity import Reason, judge
from holdfast.errors import HoldfastError
from holdfast.pictures import Cell, Objects, Pixels, contact_sheet, label_colors

_DEPTH = 500  # records of a file among which is chosen: a sheet must not read a terabyte again
_FILES = 16
_IMAGES, _IMAGES_AUGMENTED = 12, 8
_LEGEND = 60  # classes named below the pictures

Augment = Callable[[Sample, Tensor], Sample]


class Shown(NamedTuple):
    """A sample chosen to be shown."""

    sample: Sample  # decoded and judged, NumPy fields
    names: Mapping[int, str]  # label-map id -> name
    left_out: int  # boxes that are not shown


def draw_sheet(
    data: Records | Source,
    *,
    class_order: Sequence[str] = (),
    augmentations: Sequence[Augment] = (),
    versions: int = 2,
) -> Pixels:
    """Show some images from all over the data.

    With augmentations each image is followed by `versions` augmented ones. `class_order` decides
    the colours and the legend.
    """
    count = _IMAGES_AUGMENTED if augmentations else _IMAGES
    shown = list(islice(_prefer_boxes(list(_choose(data, 2 * count)), count), count))
    if not shown:
        raise HoldfastError("There is no image to draw.", fix="See what is left out, and why.")
    cells: list[Cell] = []
    for number, each in enumerate(shown):
        cells.append(_cell(each.sample, each.names, _caption(each)))
        for version in range(versions if augmentations else 0):
            changed = _augmented(each.sample, augmentations, seed=number * versions + version)
            cells.append(_cell(changed, each.names, f"augmented, {_count(len(changed.boxes))}"))
    legend = dict(islice(label_colors(class_order).items(), _LEGEND))
    columns, width = (2 * (1 + versions), 300) if augmentations else (4, 400)
    return contact_sheet(cells, columns=columns, cell_width=width, legend=legend)


def _choose(data: Records | Source, count: int) -> Iterator[Shown]:
    if isinstance(data, Source):
        yield from _choose_entries(data, count)
    else:
        yield from _choose_records(data, count)


def _choose_entries(source: Source, count: int) -> Iterator[Shown]:
    names = {item.id: class_name(item) for item in source.label_map.item}
    for entry in _spread(source.entries, count):
        try:
            sample = entry.read().sample
        except HoldfastError:
            continue
        yield from _shown(sample, names)


def _choose_records(data: Records, count: int) -> Iterator[Shown]:
    chosen_files = _spread(data.files, _FILES)
    each = -(-count // max(len(chosen_files), 1))
    records = [
        record
        for file in chosen_files
        for record in _spread(list(islice(read_records(file), _DEPTH)), each)
    ]
    examples = [tf.train.Example.FromString(record) for record in records]
    layout, names = _layout(data, examples)
    parse = record_parser(layout)
    for record in records:
        try:
            parsed = parse(tf.constant(record))
        except tf.errors.OpError:
            continue
        if int(parsed.reason) == Reason.KEPT:
            yield from _shown(_as_numpy(parsed.sample), names)


def _layout(
    data: Records, examples: Sequence[tf.train.Example]
) -> tuple[RecordLayout, Mapping[int, str]]:
    """Read masks and keypoints if there are any, and name classes by text without a label map."""
    layout = data.layout
    if layout.masks is None:
        layout = replace(layout, masks=_mask_format(examples))
    if not layout.num_keypoints:
        layout = replace(layout, num_keypoints=_num_keypoints(examples))
    if data.names is not None:
        return layout, data.names
    names: dict[int, str] = {}
    texts: dict[str, None] = {}
    for example in examples:
        text = _values(example, "image/object/class/text", "bytes_list")
        labels = _values(example, "image/object/class/label", "int64_list")
        decoded = [each.decode("utf-8", "replace") for each in text]
        texts |= dict.fromkeys(decoded)
        names |= dict(zip(labels, decoded, strict=False))
    if names or not texts:
        return layout, names
    class_ids = {text: number for number, text in enumerate(texts, start=1)}
    return replace(layout, class_ids=class_ids), {
        number: text for text, number in class_ids.items()
    }


def _mask_format(examples: Sequence[tf.train.Example]) -> MaskFormat | None:
    for example in examples:
        if _values(example, "image/object/mask", "bytes_list"):
            return MaskFormat.PNG
        if _values(example, "image/object/mask", "float_list"):
            return MaskFormat.NUMERICAL
    return None


def _num_keypoints(examples: Sequence[tf.train.Example]) -> int:
    for example in examples:
        points = _values(example, "image/object/keypoint/x", "float_list")
        boxes = _values(example, "image/object/bbox/xmin", "float_list")
        if points and boxes and len(points) % len(boxes) == 0:
            return len(points) // len(boxes)
    return 0


def _values(example: tf.train.Example, key: str, kind: str) -> list[Any]:
    feature = example.features.feature
    return list(getattr(feature[key], kind).value) if key in feature else []


def _shown(sample: Sample, names: Mapping[int, str]) -> Iterator[Shown]:
    """Decode and judge a sample; nothing if its image cannot be decoded."""
    try:
        image = decode_image(sample.image).numpy()
    except tf.errors.OpError:
        return
    judged = judge(_as_tensors(sample), max(names, default=0) or None)
    kept = _as_numpy(judged.sample)._replace(image=image)
    yield Shown(kept, names, len(sample.boxes) - len(kept.boxes))


def _prefer_boxes(shown: Sequence[Shown], count: int) -> Iterator[Shown]:
    """Drop images without boxes where there are enough others; the order stays."""
    spare = len(shown) - count
    for each in _spread(shown, len(shown)):
        if spare > 0 and not len(each.sample.boxes):
            spare -= 1
            continue
        yield each


def _augmented(sample: Sample, augmentations: Sequence[Augment], seed: int) -> Sample:
    changed = _as_tensors(sample)
    for index, augment in enumerate(augmentations):
        changed = augment(changed, tf.constant([seed, index], tf.int32))
    result: Sample = _as_numpy(changed)
    return result


def _cell(sample: Sample, names: Mapping[int, str], caption: str) -> Cell:
    labels = [names.get(number, str(number)) for number in (sample.classes + 1).tolist()]
    objects = Objects(
        boxes=_normalised(sample.boxes, sample.image.shape),
        labels=labels,
        masks=sample.masks,
        keypoints=sample.keypoints,
    )
    return Cell(_displayable(sample.image), caption, objects)


def _normalised(boxes: NDArray[np.float32], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Undo scale_boxes_to_pixel_coordinates, which some configs end with."""
    if len(boxes) and boxes.max() > 2.0:
        height, width = shape[:2]
        scale = np.array([height, width, height, width], np.float32)
        return np.divide(boxes, scale, dtype=np.float32)
    return boxes


def _displayable(image: NDArray[Any]) -> Pixels:
    """Bring pixels to 0..255; what was normalised is stretched, else it would be black."""
    if image.dtype == np.uint8:
        return image[:, :, :3]
    lowest, highest = float(image.min()), float(image.max())
    if lowest < -1.0 or highest <= 2.0:
        image = (image - lowest) * (255.0 / max(highest - lowest, 1e-6))
    pixels: Pixels = np.clip(np.round(image), 0, 255).astype(np.uint8)
    return pixels


def _caption(shown: Shown) -> str:
    source_id = shown.sample.source_id
    identity = source_id if isinstance(source_id, str) else source_id.decode("utf-8", "replace")
    height, width = shown.sample.image.shape[:2]
    left_out = f", {shown.left_out} left out" if shown.left_out else ""
    return f"{identity}  {width} x {height}, {_count(len(shown.sample.boxes))}{left_out}"


def _count(boxes: int) -> str:
    return f"{boxes} box{'' if boxes == 1 else 'es'}"


def _spread(items: Sequence[Any], count: int) -> list[Any]:
    """Choose up to `count` items, evenly from all over the list."""
    if len(items) <= count:
        return list(items)
    return [items[index * len(items) // count] for index in range(count)]


def _as_numpy(sample: Sample) -> Sample:
    values = {
        name: value.numpy() if tf.is_tensor(value) else value
        for name, value in sample._asdict().items()
    }
    return Sample(**values)


def _as_tensors(sample: Sample) -> Sample:
    values = {
        name: None if value is None else tf.convert_to_tensor(value)
        for name, value in sample._asdict().items()
    }
    return Sample(**values)
