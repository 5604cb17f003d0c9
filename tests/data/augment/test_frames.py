"""Objects in the frame of a window, whatever boxes and window are."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from holdfast.data.augment.frames import change_frame, forget_keypoints_outside, keep_overlapping
from holdfast.data.sample import Sample

from .scenes import as_tensors, scene, without_optional

coordinates = st.floats(0.0, 1.0, width=32)


def sample_of(boxes: np.ndarray) -> Sample:
    order = np.arange(len(boxes)) % 4
    chosen = without_optional(scene()).with_objects(lambda value: value[order])
    return chosen._replace(boxes=boxes, weights=np.arange(len(boxes), dtype=np.float32))


@settings(max_examples=60, deadline=None)
@given(
    corners=arrays.arrays(np.float32, (6, 2, 2), elements=coordinates),
    window=arrays.arrays(np.float32, (2, 2), elements=st.floats(-0.5, 1.5, width=32)),
    overlap=st.sampled_from([0.0, 0.3, 0.999]),
)
def test_exactly_the_boxes_with_enough_overlap_are_kept_and_valid(
    corners: np.ndarray, window: np.ndarray, overlap: float
) -> None:
    low, high = window.min(axis=0), window.max(axis=0) + np.float32(0.01)
    boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
    sample = as_tensors(sample_of(boxes))
    result = keep_overlapping(sample, np.concatenate([low, high]), overlap=overlap, clip=True)
    new_boxes = result.boxes.numpy()
    assert new_boxes.min(initial=0.0) >= 0.0
    assert new_boxes.max(initial=1.0) <= 1.0
    assert (new_boxes[:, 2:] > new_boxes[:, :2]).all()
    wide = boxes.astype(np.float64)
    common = np.minimum(wide[:, 2:], high) - np.maximum(wide[:, :2], low)
    area = np.prod(wide[:, 2:] - wide[:, :2], axis=1)
    part = np.prod(np.maximum(common, 0.0), axis=1) / np.maximum(area, 1e-300)
    kept = set(result.weights.numpy().astype(int))
    for number in range(6):
        if abs(part[number] - overlap) > 1e-3 and common[number].min() > 1e-5:
            assert (number in kept) == (part[number] >= overlap)
        if common[number].min() <= 0.0:
            assert number not in kept


def test_a_frame_and_its_inverse_change_nothing() -> None:
    start = scene()
    there = change_frame(as_tensors(start), np.array([0.2, 0.1, 0.7, 0.5], np.float32))
    inverse = np.array([-0.4, -0.25, 1.6, 2.25], np.float32)
    back = change_frame(there, inverse)
    np.testing.assert_allclose(back.boxes, start.boxes, atol=1e-6)
    np.testing.assert_allclose(back.keypoints, start.keypoints, atol=1e-6)


def test_keypoints_beyond_the_image_become_unlabeled_and_invisible() -> None:
    start = scene(num_objects=1)
    start.keypoints[0] = [[0.5, 1.2], [0.0, 1.0], [np.nan, np.nan]]
    start.visibilities[:] = True
    result = forget_keypoints_outside(as_tensors(start))
    np.testing.assert_array_equal(result.keypoints[0, 0], [np.nan, np.nan])
    np.testing.assert_array_equal(result.keypoints[0, 1], [0.0, 1.0])
    np.testing.assert_array_equal(result.visibilities[0], [False, True, False])
    kept = forget_keypoints_outside(as_tensors(start), forget=False)
    np.testing.assert_array_equal(kept.keypoints, start.keypoints)
