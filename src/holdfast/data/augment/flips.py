"""Mirror images and quarter turns."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from holdfast.data.augment.augmentations import augmentation, view_augmentation
from holdfast.data.augment.draws import sometimes, uniforms
from holdfast.data.augment.views import mirror_image
from holdfast.data.sample import Sample, Tensor
from holdfast.errors import HoldfastError


@view_augmentation
def random_horizontal_flip(
    sample: Sample,
    seed: Tensor,
    *,
    keypoint_flip_permutation: Sequence[int] = (),
    probability: float = 0.5,
) -> Sample:
    """Mirror left and right; the permutation says which keypoint takes each keypoint's place."""
    return _random_flip(sample, seed, 1, keypoint_flip_permutation, probability)


@view_augmentation
def random_vertical_flip(
    sample: Sample,
    seed: Tensor,
    *,
    keypoint_flip_permutation: Sequence[int] = (),
    probability: float = 0.5,
) -> Sample:
    """Mirror top and bottom; the permutation says which keypoint takes each keypoint's place."""
    return _random_flip(sample, seed, 0, keypoint_flip_permutation, probability)


@augmentation
def random_rotation90(
    sample: Sample,
    seed: Tensor,
    *,
    keypoint_rot_permutation: Sequence[int] = (),
    probability: float = 0.5,
) -> Sample:
    """Turn by a quarter, counter-clockwise."""

    def turn(sample: Sample) -> Sample:
        y_min, x_min, y_max, x_max = tf.unstack(sample.boxes, axis=1)
        masks, keypoints = sample.masks, sample.keypoints
        if masks is not None:
            masks = tf.reverse(tf.transpose(masks, [0, 2, 1]), axis=[1])
        if keypoints is not None:
            keypoints = tf.stack([1.0 - keypoints[..., 1], keypoints[..., 0]], axis=-1)
        turned = sample._replace(
            image=tf.reverse(tf.transpose(sample.image, [1, 0, 2]), axis=[0]),
            boxes=tf.stack([1.0 - x_max, y_min, 1.0 - x_min, y_max], axis=1),
            masks=masks,
            keypoints=keypoints,
        )
        return _permute_keypoints(turned, keypoint_rot_permutation)

    return sometimes(uniforms(seed, 1)[0], probability, turn, sample)


def _random_flip(
    sample: Sample, seed: Tensor, axis: int, permutation: Sequence[int], probability: float
) -> Sample:
    """Mirror along an axis of the image: 0 top and bottom, 1 left and right."""
    if sample.keypoints is not None and not permutation:
        raise HoldfastError(
            "The data has keypoints, and a flip has no keypoint_flip_permutation: a left eye "
            "would become a left eye on the right side.",
            fix="List, for each keypoint, the keypoint whose place it takes (0-based; its own "
            "number if it has no partner), or read the data without keypoints.",
        )

    def flip(sample: Sample) -> Sample:
        # Each side s becomes 1 - s, and the low side of the axis is now its high side.
        mirrored = tf.gather(sample.boxes, [2, 1, 0, 3] if axis == 0 else [0, 3, 2, 1], axis=1)
        is_mirrored = tf.constant([axis == 0, axis == 1] * 2)
        masks, keypoints = sample.masks, sample.keypoints
        if masks is not None:
            masks = tf.reverse(masks, axis=[axis + 1])
        if keypoints is not None:
            places = list(tf.unstack(keypoints, axis=-1))
            places[axis] = 1.0 - places[axis]
            keypoints = tf.stack(places, axis=-1)
        flipped = sample._replace(
            image=mirror_image(sample.image, axis),
            boxes=tf.where(is_mirrored, 1.0 - mirrored, mirrored),
            masks=masks,
            keypoints=keypoints,
        )
        return _permute_keypoints(flipped, permutation)

    return sometimes(uniforms(seed, 1)[0], probability, flip, sample)


def _permute_keypoints(sample: Sample, permutation: Sequence[int]) -> Sample:
    """Reorder keypoints and visibilities alike (the OD API forgets the latter but in one flip)."""
    if not permutation or sample.keypoints is None:
        return sample
    order = list(permutation)
    visibilities = sample.visibilities
    if visibilities is not None:
        visibilities = tf.gather(visibilities, order, axis=1)
    keypoints = tf.gather(sample.keypoints, order, axis=1)
    return sample._replace(keypoints=keypoints, visibilities=visibilities)
