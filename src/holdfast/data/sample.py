"""One image with its ground truth: the only thing that sources yield and augmentations change."""

from __future__ import annotations

from typing import Any, NamedTuple

Tensor = Any  # a tf.Tensor inside tf.data, a NumPy array or Python scalar outside


class Sample(NamedTuple):
    """An image and its objects; N objects, K keypoints an object, C classes.

    Outside of tf.data the fields are NumPy arrays. What was not read at all is None.
    """

    image: (
        Tensor  # encoded bytes (scalar string), or once decoded uint8 / float32 (H, W, 3), 0..255
    )
    source_id: Tensor  # string: what the data calls the image
    boxes: Tensor  # float32 (N, 4) y_min, x_min, y_max, x_max, normalized to the image
    classes: Tensor  # int32 (N,) 0-based: label-map id - 1
    weights: Tensor = None  # float32 (N,)
    confidences: Tensor = None  # float32 (N,)
    difficult: Tensor = None  # bool (N,)
    truncated: Tensor = None  # bool (N,)
    group_of: Tensor = None  # bool (N,)
    is_crowd: Tensor = None  # bool (N,)
    areas: Tensor = None  # float32 (N,) in pixels of the original image
    masks: Tensor = None  # uint8 (N, H, W) 0 or 1
    keypoints: Tensor = None  # float32 (N, K, 2) y, x normalized to the image; NaN = unlabeled
    visibilities: Tensor = None  # bool (N, K)
    multiclass_scores: Tensor = None  # float32 (N, C + 1)
    encoded_masks: Tensor = None  # string (N,) each a PNG as large as the image; "" = no mask

    def with_objects(self, choose: Any) -> Sample:
        """Apply a function to every field that has one entry per object, e.g. to select some."""
        per_object = {
            name: choose(value)
            for name, value in self._asdict().items()
            if name not in ("image", "source_id") and value is not None
        }
        return self._replace(**per_object)


class GroundTruth(NamedTuple):
    """What the images of a batch show; B images, G boxes an image, padded with weight 0."""

    boxes: Tensor  # float32 (B, G, 4) y_min, x_min, y_max, x_max, normalized to the padded input
    classes: Tensor  # int32 (B, G) 0-based
    weights: Tensor  # float32 (B, G); 0 = padding
    masks: Tensor = None  # uint8 (B, G, H, W) at input size; a Batch carries mask_bits instead
    keypoints: Tensor = None  # float32 (B, G, K, 2) y, x normalized to the padded input; NaN = none
    visibilities: Tensor = None  # bool (B, G, K)
    is_crowd: Tensor = None  # bool (B, G)
    group_of: Tensor = None  # bool (B, G)
    difficult: Tensor = None  # bool (B, G)
    confidences: Tensor = None  # float32 (B, G)
    mask_bits: Tensor = None  # uint8 (B, G, H, ceil(W / 8)): the masks, by geometry/mask_bits


class Batch(NamedTuple):
    """What one training step takes."""

    images: Tensor  # float32 or uint8 (B, H, W, C) 0..255, resized and padded, not normalized
    sizes: Tensor  # int32 (B, 3) height, width, channels after the resize, before the padding
    truth: GroundTruth
    source_ids: Tensor  # string (B,)
    positions: Tensor  # int64 (B,) which sample of the endless stream each is
