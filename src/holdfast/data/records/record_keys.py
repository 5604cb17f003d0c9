"""The keys of a record: which are read, and which are probably misspelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import tensorflow as tf
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from holdfast.errors import nearest

# What the OD API's decoder and its generators know; not all of it is needed to train.
KNOWN_KEYS = frozenset(
    (
        *("image/encoded", "image/format", "image/filename", "image/source_id"),
        *("image/height", "image/width", "image/channels", "image/key/sha256"),
        *("image/colorspace", "image/timestamp", "image/additional_channels/encoded"),
        *("image/class/text", "image/class/label", "image/class/confidence"),
        *("image/neg_category_ids", "image/not_exhaustive_category_ids"),
        *(
            "image/context_features",
            "image/context_feature_length",
            "image/context_features_image_id_list",
        ),
        *(f"image/object/bbox/{side}" for side in ("ymin", "xmin", "ymax", "xmax")),
        *(
            f"image/object/class/{what}"
            for what in ("text", "label", "confidence", "multiclass_scores")
        ),
        *(f"image/object/{flag}" for flag in ("difficult", "truncated", "group_of", "is_crowd")),
        *("image/object/area", "image/object/weight", "image/object/view", "image/object/mask"),
        *(f"image/object/keypoint/{what}" for what in ("x", "y", "visibility", "num", "text", "z")),
        *("image/object/densepose/num", "image/object/densepose/part_index"),
        *(f"image/object/densepose/{what}" for what in ("x", "y", "u", "v")),
        *("image/object/track/label", "image/object/class/parts"),
    )
)


_NEEDED = ("bbox/ymin", "bbox/xmin", "bbox/ymax", "bbox/xmax", "class/label")


class StrangeKey(NamedTuple):
    """A key that nothing reads."""

    key: str
    meant: str  # the known key that looks most like it; "" if none does
    records: int  # of those looked at


def strange_keys(records: Iterable[bytes]) -> list[StrangeKey]:
    """List the keys that are not read, and which were probably meant; the likely ones first."""
    counts: Counter[str] = Counter()
    for record in records:
        counts.update(set(_features(record)) - KNOWN_KEYS)
    found = [StrangeKey(key, "".join(nearest(key, KNOWN_KEYS)), n) for key, n in counts.items()]
    return sorted(found, key=lambda each: (not each.meant, each.key))


def describe_counts(record: bytes) -> str:
    """Say how many entries the lists of a record have, e.g. `bbox/ymin 3, class/label 2`."""
    lengths = {
        key.removeprefix("image/object/"): _length(feature)
        for key, feature in sorted(_features(record).items())
        if key.startswith("image/object/")
    }
    usual = Counter(filter(None, lengths.values())).most_common(1)
    usual_length = usual[0][0] if usual else 0
    odd = {key: length for key, length in lengths.items() if length not in (0, usual_length)}
    odd |= {key: 0 for key in _NEEDED if not lengths.get(key)}
    return ", ".join(
        [*(f"{key} {length}" for key, length in odd.items()), f"others {usual_length}"]
    )


def count_boxes(record: bytes) -> int:
    """Count the boxes of a record that may not be readable otherwise."""
    features = _features(record)
    keys = (f"image/object/{key}" for key in _NEEDED if key.startswith("bbox/"))
    return max((_length(features[key]) for key in keys if key in features), default=0)


def encoded_image(record: bytes) -> bytes:
    """Give the image of a record as stored, without parsing the rest; b"" if there is none."""
    stored = _features(record).get("image/encoded")
    values = stored.bytes_list.value if stored is not None else ()
    return bytes(values[0]) if values else b""


def _features(record: bytes) -> dict[str, tf.train.Feature]:
    example = tf.train.Example()
    try:
        example.ParseFromString(record)
    except DecodeError:
        return {}
    return dict(example.features.feature)


def _length(feature: tf.train.Feature) -> int:
    kind = feature.WhichOneof("kind")
    return len(getattr(feature, kind).value) if kind else 0
