"""One sample as a tf.train.Example with the keys of the OD API's decoder."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from PIL import Image

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.sample import Sample
from holdfast.data.sources.classes import keypoint_names
from holdfast.data.sources.image_files import read_header
from holdfast.errors import HoldfastError

Features = Iterator[tuple[str, tf.train.Feature]]
# COCO's numbers for a keypoint. The decoder makes no difference between hidden (1) and visible.
_UNLABELED, _VISIBLE = 0, 2


def encode_example(sample: Sample, label_map: StringIntLabelMap, *, filename: str = "") -> bytes:
    """Serialize a sample with NumPy fields and an encoded image; equal samples give equal bytes.

    Weights and confidences are written only where they are not all 1. A class that the label map
    does not name is an error: the decoder could not read it back.
    """
    features = dict(
        (
            *_image_features(sample, filename),
            *_object_features(sample, label_map),
            *_mask_features(sample),
            *_keypoint_features(sample, keypoint_names(label_map)),
        )
    )
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return bytes(example.SerializeToString(deterministic=True))


def _image_features(sample: Sample, filename: str) -> Features:
    header = read_header(sample.image)
    yield "image/encoded", _bytes([sample.image])
    yield "image/format", _bytes([header.format.encode()])
    yield "image/height", _integers([header.size.height])
    yield "image/width", _integers([header.size.width])
    yield "image/filename", _bytes([filename.encode(errors="surrogateescape")])
    yield "image/source_id", _bytes([sample.source_id.encode(errors="surrogateescape")])
    yield "image/key/sha256", _bytes([hashlib.sha256(sample.image).hexdigest().encode()])


def _object_features(sample: Sample, label_map: StringIntLabelMap) -> Features:
    for column, name in enumerate(("ymin", "xmin", "ymax", "xmax")):
        yield f"image/object/bbox/{name}", _floats(sample.boxes[:, column])
    ids = (sample.classes + 1).tolist()
    yield "image/object/class/label", _integers(ids)
    yield "image/object/class/text", _bytes(_names(ids, label_map))
    yield "image/object/difficult", _integers(sample.difficult)
    yield "image/object/truncated", _integers(sample.truncated)
    yield "image/object/group_of", _integers(sample.group_of)
    yield "image/object/is_crowd", _integers(sample.is_crowd)
    yield "image/object/area", _floats(sample.areas)
    if (sample.weights != 1).any():
        yield "image/object/weight", _floats(sample.weights)
    if (sample.confidences != 1).any():
        yield "image/object/class/confidence", _floats(sample.confidences)
    if sample.multiclass_scores is not None:
        yield "image/object/class/multiclass_scores", _floats(sample.multiclass_scores.ravel())


def _names(ids: Iterable[int], label_map: StringIntLabelMap) -> Iterator[bytes]:
    names = {item.id: item.name for item in label_map.item}
    for number in ids:
        if number not in names:
            raise HoldfastError(f"Class id {number} is not in the label map.")
        yield names[number].encode()


def _mask_features(sample: Sample) -> Features:
    if sample.masks is not None:
        yield "image/object/mask", _bytes(_png(mask) for mask in sample.masks)


def _keypoint_features(sample: Sample, names: tuple[str, ...]) -> Features:
    if sample.keypoints is None:
        return
    labeled = sample.visibilities & ~np.isnan(sample.keypoints).any(axis=-1)  # (N, K)
    points = np.where(labeled[:, :, None], sample.keypoints, 0)  # (N, K, 2)
    yield "image/object/keypoint/y", _floats(points[:, :, 0].ravel())
    yield "image/object/keypoint/x", _floats(points[:, :, 1].ravel())
    visibility = np.where(labeled, _VISIBLE, _UNLABELED)
    yield "image/object/keypoint/visibility", _integers(visibility.ravel())
    yield "image/object/keypoint/num", _integers(labeled.sum(axis=1))
    if len(names) == labeled.shape[1]:
        texts = [name.encode() for name in names] * len(labeled)
        yield "image/object/keypoint/text", _bytes(texts)


def _png(mask: NDArray[np.uint8]) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(mask).save(stream, "PNG")
    return stream.getvalue()


def _bytes(values: Iterable[bytes]) -> tf.train.Feature:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=list(values)))


def _floats(values: Iterable[float]) -> tf.train.Feature:
    return tf.train.Feature(float_list=tf.train.FloatList(value=list(values)))


def _integers(values: Iterable[int]) -> tf.train.Feature:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[int(value) for value in values]))
