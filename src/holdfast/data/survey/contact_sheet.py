"""A picture of some images of a data set with their boxes, before and after augmentation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from numpy.typing import NDArray

from holdfast.config.label_map import class_name
from holdfast.data.input.decode_images import decoded_image, plain_reason
from holdfast.data.records.merged_records import MERGED, Place, merged_objects
from holdfast.data.records.record_files import read_records
from holdfast.data.records.record_shapes import mask_format, num_keypoints, values_of
from holdfast.data.sample import Sample, Tensor
from holdfast.data.sources.source import Source
from holdfast.data.sources.tfrecord import RecordLayout, record_parser
from holdfast.data.survey.box_validity import Reason, judge
from holdfast.data.survey.inspection import Records
from holdfast.errors import HoldfastError
from holdfast.lettering import lettering
from holdfast.pictures import Cell, Objects, Pixels, contact_sheet, label_colors
from holdfast.units import count_text

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
    records_merged: Sequence[tuple[Place, Place]] = (),
    tell: Callable[[str], None] = lambda text: None,
) -> Pixels:
    """Show some images from all over the data.

    With augmentations each image is followed by `versions` augmented ones. `class_order` decides
    the colors and the legend. `records_merged` is that of the statistics. `tell` hears what cannot
    be drawn.
    """
    count = _IMAGES_AUGMENTED if augmentations else _IMAGES
    chosen = list(_choose(data, 2 * count, records_merged))
    shown = list(islice(_prefer_boxes(chosen, count), count))
    if not shown:
        raise HoldfastError("There is no image to draw.", fix="See what is left out, and why.")
    cells: list[Cell] = []
    for number, each in enumerate(shown):
        cells.append(_cell(each.sample, each.names, _caption(each)))
        seeds = range(number * versions, (number + 1) * versions) if augmentations else ()
        try:
            cells += [_augmented_cell(each, augmentations, seed) for seed in seeds]
        except tf.errors.OpError as error:
            tell(f"{_caption(each)}: an augmentation failed ({plain_reason(error)}).")
    legend = dict(islice(label_colors(class_order).items(), _LEGEND))
    _tell_missing_letters(class_order, tell)
    columns, width = (2 * (1 + versions), 300) if augmentations else (4, 400)
    return contact_sheet(cells, columns=columns, cell_width=width, legend=legend)


def _tell_missing_letters(names: Sequence[str], tell: Callable[[str], None]) -> None:
    """Say which names are spelled out, and how many others."""
    spelled = [name for name in names if lettering(name).missing]
    if spelled:
        others = f" and {len(spelled) - 1} more" if len(spelled) > 1 else ""
        tell(
            f"No font here has all characters of {spelled[0]!r}{others}: written as "
            f"{lettering(spelled[0]).text}. A font with them, such as Noto Sans, helps."
        )


def _choose(
    data: Records | Source, count: int, records_merged: Sequence[tuple[Place, Place]] = ()
) -> Iterator[Shown]:
    if isinstance(data, Source):
        yield from _choose_entries(data, count)
    else:
        yield from _choose_records(data, count, records_merged)


def _choose_entries(source: Source, count: int) -> Iterator[Shown]:
    names = {item.id: class_name(item) for item in source.label_map.item}
    for entry in _spread(source.entries, count):
        try:
            sample = entry.read().sample
        except HoldfastError:
            continue
        identity = sample.source_id.encode(errors="surrogateescape")  # a name need not be UTF-8
        yield from _shown(sample._replace(source_id=identity), names)


def _choose_records(
    data: Records, count: int, records_merged: Sequence[tuple[Place, Place]]
) -> Iterator[Shown]:
    chosen_files = _spread(data.files, _FILES)
    each = -(-count // max(len(chosen_files), 1))
    skipped, behind = {place for place, _ in records_merged}, merged_objects(records_merged)
    records: list[bytes] = []
    for file in chosen_files:
        numbered = enumerate(islice(read_records(file), _DEPTH))
        found = [
            record + behind.get((file, number), b"")
            for number, record in numbered
            if (file, number) not in skipped
        ]
        records += _spread(found, each)
    layout, names = _layout(data, list(_examples(records)))
    parse = record_parser(replace(layout, has_merged=bool(behind)))
    for record in records:
        try:
            parsed = parse(tf.constant(record))
        except tf.errors.OpError:
            continue
        if int(parsed.reason) == Reason.KEPT:
            yield from _shown(_as_numpy(parsed.sample), names)


def _examples(records: Sequence[bytes]) -> Iterator[tf.train.Example]:
    for record in records:
        try:
            example = tf.train.Example.FromString(record)
        except DecodeError:  # told among what is left out
            continue
        features = example.features.feature
        for key in [key for key in features if key.startswith(MERGED)]:
            features[key.removeprefix(MERGED)].CopyFrom(features[key])
        yield example


def _layout(
    data: Records, examples: Sequence[tf.train.Example]
) -> tuple[RecordLayout, Mapping[int, str]]:
    """Read masks and keypoints if there are any, and name classes by text without a label map."""
    layout = data.layout
    if layout.masks is None:
        layout = replace(layout, masks=mask_format(examples))
    if not layout.num_keypoints:
        layout = replace(layout, num_keypoints=num_keypoints(examples))
    if data.names is not None:
        return layout, data.names
    names: dict[int, str] = {}
    texts: dict[str, None] = {}
    for example in examples:
        text = values_of(example, "image/object/class/text", "bytes_list")
        labels = values_of(example, "image/object/class/label", "int64_list")
        decoded = [each.decode("utf-8", "replace") for each in text]
        texts |= dict.fromkeys(decoded)
        names |= dict(zip(labels, decoded, strict=False))
    if names or not texts:
        return layout, names
    class_ids = {text: number for number, text in enumerate(texts, start=1)}
    return replace(layout, class_ids=class_ids), {
        number: text for text, number in class_ids.items()
    }


def _shown(sample: Sample, names: Mapping[int, str]) -> Iterator[Shown]:
    """Decode and judge a sample; nothing if its image cannot be decoded."""
    try:
        with decoded_image(sample.image) as image:
            pixels = image
    except HoldfastError:
        return
    judged = judge(_as_tensors(sample), max(names, default=0) or None)
    kept = _as_numpy(judged.sample)._replace(image=pixels)
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


def _augmented_cell(shown: Shown, augmentations: Sequence[Augment], seed: int) -> Cell:
    changed = _augmented(shown.sample, augmentations, seed)
    boxes = count_text(len(changed.boxes), "box", "boxes")
    return _cell(changed, shown.names, f"augmented, {boxes}")


def _cell(sample: Sample, names: Mapping[int, str], caption: str) -> Cell:
    labels = [names.get(number, str(number)) for number in (sample.classes + 1).tolist()]
    objects = Objects(
        boxes=_normalized(sample.boxes, sample.image.shape),
        labels=labels,
        masks=sample.masks,
        keypoints=sample.keypoints,
    )
    return Cell(_displayable(sample.image), caption, objects)


def _normalized(boxes: NDArray[np.float32], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Undo scale_boxes_to_pixel_coordinates, which some configs end with."""
    if len(boxes) and boxes.max() > 2.0:
        height, width = shape[:2]
        scale = np.array([height, width, height, width], np.float32)
        return np.divide(boxes, scale, dtype=np.float32)
    return boxes


def _displayable(image: NDArray[Any]) -> Pixels:
    """Bring pixels to 0..255; what was normalized is stretched, else it would be black."""
    if image.dtype == np.uint8:
        return image[:, :, :3]
    lowest, highest = float(image.min()), float(image.max())
    if lowest < -1.0 or highest <= 2.0:
        image = (image - lowest) * (255.0 / max(highest - lowest, 1e-6))
    pixels: Pixels = np.clip(np.round(image), 0, 255).astype(np.uint8)
    return pixels


def _caption(shown: Shown) -> str:
    identity = shown.sample.source_id.decode("utf-8", "replace")
    height, width = shown.sample.image.shape[:2]
    left_out = f", {shown.left_out} left out" if shown.left_out else ""
    boxes = count_text(len(shown.sample.boxes), "box", "boxes")
    return f"{identity}  {width} x {height}, {boxes}{left_out}"


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
