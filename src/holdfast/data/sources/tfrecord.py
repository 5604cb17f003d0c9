"""OD API TFRecords: each record parsed inside the TensorFlow graph, whatever tool wrote it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import tensorflow as tf

from holdfast.data.records.merged_records import MERGED, OBJECT_KEYS
from holdfast.data.sample import Sample, Tensor
from holdfast.data.sources.record_masks import MaskForm, MaskFormat, mask_files, mask_pixels
from holdfast.data.survey.box_validity import Reason

UNKNOWN_ID = 2**31 - 1  # what a class text that the label map does not have is looked up as


FLAGS = {
    "difficult": "image/object/difficult",
    "truncated": "image/object/truncated",
    "group_of": "image/object/group_of",
    "is_crowd": "image/object/is_crowd",
}
NUMBERS = {
    "weights": "image/object/weight",
    "confidences": "image/object/class/confidence",
    "areas": "image/object/area",
}


@dataclass(frozen=True, kw_only=True)
class RecordLayout:
    """What to read from a record."""

    class_ids: Mapping[str, int] | None = None  # class text -> label-map id; None: numbers only
    known_ids: tuple[int, ...] | None = None  # label-map ids; others become UNKNOWN_ID. None: all
    masks: MaskFormat | None = None
    mask_form: MaskForm = "pixels"
    num_keypoints: int = 0
    num_multiclass_scores: int = 0
    # Which of the lists that stand beside the boxes to read; the sample's other ones are None.
    lists: frozenset[str] = frozenset((*FLAGS, *NUMBERS))
    has_merged: bool = False  # some records are followed by objects of others, see merged_records
    is_verified: bool = False  # every record was seen to be well-formed: that is not judged again


class Parsed(NamedTuple):
    """A record as written, before any judgment."""

    sample: Sample  # `image` holds the encoded bytes
    reason: Tensor  # int32 () a Reason: KEPT, NO_IMAGE or COUNTS_DIFFER (then without boxes)
    boxes_written: Tensor  # int32 ()
    height: Tensor  # int32 () as the record says; 0 if it does not
    width: Tensor  # int32 ()
    class_text: Tensor  # string (N,), or (0,) if the record has none
    class_numbers: Tensor  # int64 (N,) as written, whatever the label map says; or (0,)


def record_parser(layout: RecordLayout) -> Callable[[Tensor], Parsed]:
    """Make the function that parses one serialized record; usable inside Dataset.map."""
    lookup = _class_lookup(layout.class_ids)
    features = _features(layout)

    def parse(serialized: Tensor) -> Parsed:
        values = tf.io.parse_single_example(serialized, features)
        return _parsed(_with_merged(values) if layout.has_merged else values, layout, lookup)

    return parse


_BOX_KEYS = tuple(f"image/object/bbox/{side}" for side in ("ymin", "xmin", "ymax", "xmax"))


def _features(layout: RecordLayout) -> dict[str, object]:
    features: dict[str, object] = {
        "image/encoded": tf.io.FixedLenFeature((), tf.string, ""),
        "image/source_id": tf.io.FixedLenFeature((), tf.string, ""),
        "image/filename": tf.io.FixedLenFeature((), tf.string, ""),
        "image/height": tf.io.FixedLenFeature((), tf.int64, 0),
        "image/width": tf.io.FixedLenFeature((), tf.int64, 0),
        "image/object/class/text": _list_of(tf.string),
        "image/object/class/label": _list_of(tf.int64),
    }
    features |= {key: _list_of(tf.float32) for key in _BOX_KEYS}
    features |= {key: _list_of(tf.float32) for key in _read(NUMBERS, layout).values()}
    features |= {key: _list_of(tf.int64) for key in _read(FLAGS, layout).values()}
    if layout.masks is not None:
        is_png = layout.masks is MaskFormat.PNG
        features["image/object/mask"] = _list_of(tf.string if is_png else tf.float32)
    if layout.num_keypoints:
        for axis in ("x", "y"):
            features[f"image/object/keypoint/{axis}"] = _list_of(tf.float32)
        features["image/object/keypoint/visibility"] = _list_of(tf.int64)
    if layout.num_multiclass_scores:
        features["image/object/class/multiclass_scores"] = _list_of(tf.float32)
    if layout.has_merged:
        lists = {key: each for key, each in features.items() if key.startswith(OBJECT_KEYS)}
        features |= {MERGED + key: each for key, each in lists.items()}
    return features


def _with_merged(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Take the lists that were joined instead of the record's own, where there are any."""
    is_merged = tf.size(values[MERGED + _BOX_KEYS[0]]) > 0
    own = {key: value for key, value in values.items() if not key.startswith(MERGED)}
    lists = [key for key in own if MERGED + key in values]
    chosen = tf.cond(
        is_merged,
        lambda: [values[MERGED + key] for key in lists],
        lambda: [own[key] for key in lists],
    )
    return own | dict(zip(lists, chosen, strict=True))


def _read(keys: Mapping[str, str], layout: RecordLayout) -> dict[str, str]:
    return {name: key for name, key in keys.items() if name in layout.lists}


def _list_of(dtype: tf.DType) -> tf.io.FixedLenSequenceFeature:
    """Read a list of any length, () where it is absent, as one dense tensor."""
    return tf.io.FixedLenSequenceFeature((), dtype, allow_missing=True)


def _class_lookup(class_ids: Mapping[str, int] | None) -> tf.lookup.StaticHashTable | None:
    if not class_ids:
        return None
    return tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(
            list(class_ids), tf.constant(list(class_ids.values()), tf.int64)
        ),
        default_value=UNKNOWN_ID,
    )


def _parsed(
    values: Mapping[str, Tensor], layout: RecordLayout, lookup: tf.lookup.StaticHashTable | None
) -> Parsed:
    labels = _labels(values, lookup)
    boxes_written = tf.size(values[_BOX_KEYS[0]])
    reason = tf.constant(int(Reason.KEPT))
    if not layout.is_verified:
        labels = _known(labels, layout.known_ids)
        boxes_written = tf.reduce_max([tf.size(values[key]) for key in _BOX_KEYS])
        fits = _lists_fit(values, layout, tf.size(labels))
        # A record whose lists do not fit each other keeps none of them.
        labels = labels[: tf.where(fits, tf.size(labels), 0)]
        values = {key: _emptied(value, fits) for key, value in values.items()}
        reason = tf.where(fits, reason, int(Reason.COUNTS_DIFFER))
        has_image = tf.strings.length(values["image/encoded"]) > 0
        reason = tf.where(has_image, reason, int(Reason.NO_IMAGE))
    return Parsed(
        sample=_sample(values, layout, labels),
        reason=reason,
        boxes_written=boxes_written,
        height=tf.cast(values["image/height"], tf.int32),
        width=tf.cast(values["image/width"], tf.int32),
        class_text=values["image/object/class/text"],
        class_numbers=values["image/object/class/label"],
    )


def _emptied(value: Tensor, fits: Tensor) -> Tensor:
    return value if value.shape.rank == 0 else value[: tf.where(fits, tf.size(value), 0)]


def _labels(values: Mapping[str, Tensor], lookup: tf.lookup.StaticHashTable | None) -> Tensor:
    """Give the label-map id of each box: by its text if there is one, as the OD API does."""
    text, numbers = values["image/object/class/text"], values["image/object/class/label"]
    if lookup is not None:
        return tf.cond(tf.size(text) > 0, lambda: lookup.lookup(text), lambda: numbers)
    # Text alone is a class too; without a label map any id stands for it.
    return tf.cond(
        tf.size(numbers) > 0, lambda: numbers, lambda: tf.ones_like(text, dtype=tf.int64)
    )


def _known(labels: Tensor, known_ids: tuple[int, ...] | None) -> Tensor:
    """Mark ids above 0 that the label map does not have, and those no int32 can hold."""
    too_large = labels > UNKNOWN_ID
    if known_ids is not None:
        ids = tf.constant(known_ids, tf.int64, (len(known_ids),))
        too_large |= (labels > 0) & ~tf.reduce_any(labels[:, None] == ids, axis=-1)
    return tf.where(too_large, tf.constant(UNKNOWN_ID, tf.int64), tf.maximum(labels, -1))


def _lists_fit(values: Mapping[str, Tensor], layout: RecordLayout, count: Tensor) -> Tensor:
    """Tell whether the coordinates, and every list that is there, have an entry for each label."""
    per_box: dict[str, int | Tensor] = dict.fromkeys(_read(FLAGS | NUMBERS, layout).values(), 1)
    if layout.masks is MaskFormat.PNG:
        per_box["image/object/mask"] = 1
    if layout.masks is MaskFormat.NUMERICAL:
        pixels = tf.cast(values["image/height"] * values["image/width"], tf.int32)
        per_box["image/object/mask"] = pixels
    if layout.num_keypoints:
        names = ("x", "y", "visibility")
        per_box |= {f"image/object/keypoint/{name}": layout.num_keypoints for name in names}
    if layout.num_multiclass_scores:
        per_box["image/object/class/multiclass_scores"] = layout.num_multiclass_scores
    sizes = tf.stack([tf.size(values[key]) for key in per_box])
    expected = tf.stack([count * entries for entries in per_box.values()])
    sides = tf.stack([tf.size(values[key]) for key in _BOX_KEYS])
    return tf.reduce_all(sides == count) & tf.reduce_all((sizes == 0) | (sizes == expected))


def _sample(values: Mapping[str, Tensor], layout: RecordLayout, labels: Tensor) -> Sample:
    boxes = tf.stack([values[key] for key in _BOX_KEYS], axis=-1)
    count = tf.size(labels)
    source_id = values["image/source_id"]
    return Sample(
        image=values["image/encoded"],
        source_id=tf.where(source_id == "", values["image/filename"], source_id),
        boxes=boxes,
        classes=tf.cast(labels, tf.int32) - 1,
        **_masks(values, layout, count),
        **_lists(values, layout, boxes, count),
        **_keypoints(values, layout, count),
        multiclass_scores=_multiclass_scores(values, layout, count),
    )


def _lists(
    values: Mapping[str, Tensor], layout: RecordLayout, boxes: Tensor, count: Tensor
) -> dict[str, Tensor]:
    """Read flags, which default to false, weights and confidences, to 1, and areas, to the box."""
    flags = {
        name: tf.cast(_filled(values[key], count, 0), tf.bool)
        for name, key in _read(FLAGS, layout).items()
    }
    numbers = {
        name: _filled(values[key], count, 1.0)
        for name, key in _read(NUMBERS, layout).items()
        if name != "areas"
    }
    if "areas" not in layout.lists:
        return flags | numbers
    extent = tf.stack([values["image/height"], values["image/width"]])
    box_areas = tf.reduce_prod((boxes[:, 2:] - boxes[:, :2]) * tf.cast(extent, tf.float32), axis=-1)
    areas = values[NUMBERS["areas"]]
    areas = tf.cond(tf.size(areas) > 0, lambda: areas, lambda: box_areas)
    return flags | numbers | {"areas": areas}


def _filled(values: Tensor, count: Tensor, default: float) -> Tensor:
    """Give a list that is absent its entries, each the default."""
    fill = tf.fill([count - tf.size(values)], tf.cast(default, values.dtype))
    return tf.concat([values, fill], axis=0)


def _masks(values: Mapping[str, Tensor], layout: RecordLayout, count: Tensor) -> dict[str, Tensor]:
    """Read masks in the forms that are asked for."""
    if layout.masks is None:
        return {}
    stored = values["image/object/mask"]
    size = tf.cast(tf.stack([values["image/height"], values["image/width"]]), tf.int32)
    masks = {}
    if layout.mask_form in ("pixels", "both"):
        masks["masks"] = mask_pixels(stored, layout.masks, count, size)
    if layout.mask_form in ("encoded", "both"):
        masks["encoded_masks"] = mask_files(stored, layout.masks, count, size)
    return masks


def _keypoints(
    values: Mapping[str, Tensor], layout: RecordLayout, count: Tensor
) -> dict[str, Tensor]:
    """Read keypoints; those marked as not labeled (visibility 0) become NaN."""
    each = layout.num_keypoints
    if not each:
        return {}
    names = ("y", "x")
    numbers = [
        _filled(values[f"image/object/keypoint/{name}"], count * each, float("nan"))
        for name in names
    ]
    seen = _filled(values["image/object/keypoint/visibility"], count * each, 2) != 0
    points = tf.where(seen[:, None], tf.stack(numbers, axis=-1), float("nan"))  # (N * K, 2)
    return {
        "keypoints": tf.reshape(points, [-1, each, 2]),
        "visibilities": tf.reshape(seen, [-1, each]),
    }


def _multiclass_scores(values: Mapping[str, Tensor], layout: RecordLayout, count: Tensor) -> Tensor:
    each = layout.num_multiclass_scores
    if not each:
        return None
    scores = _filled(values["image/object/class/multiclass_scores"], count * each, 0.0)
    return tf.reshape(scores, [-1, each])
