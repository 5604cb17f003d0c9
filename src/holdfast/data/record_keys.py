"""The keys of a record: which are read, and which are probably misspelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import tensorflow as tf

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
    usual = Counter(length for length in lengths.values() if length).most_common(1)
    usual_length = usual[0][0] if usual else 0
    odd = [f"{key} {length}" for key, length in lengths.items() if length != usual_length]
    missing = [
        f"{key} 0"
        for key in ("bbox/ymin", "bbox/xmin", "bbox/ymax", "bbox/xmax", "class/label")
        if key not in lengths
    ]
    return ", ".join([*odd, *missing, f"the others {usual_length}"])


def _features(record: bytes) -> dict[str, tf.train.Feature]:
    example = tf.train.Example()
    try:
        example.ParseFromString(record)
    except Exception:  # protobuf's DecodeError, which has no stubs; its type differs by backend
        return {}
    return dict(example.features.feature)


def _length(feature: tf.train.Feature) -> int:
    kind = feature.WhichOneof("kind")
    return len(getattr(feature, kind).value) if kind else 0
