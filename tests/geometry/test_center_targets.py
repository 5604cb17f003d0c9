"""What the cells of CenterNet's maps have to learn."""

from __future__ import annotations

import numpy as np

from holdfast.geometry.center_targets import (
    LabeledKeypoints,
    box_targets,
    center_maps_of_keypoints,
    keypoint_targets,
    labeled_keypoints,
)

SHAPE = (8, 10)


def test_a_box_is_learned_in_the_cell_of_its_center():
    boxes = np.array([[[1.0, 2.0, 4.5, 7.0], [8.0, 10.0, 8.0, 10.0]]], np.float32)
    found = box_targets(boxes, SHAPE)
    assert found.cells.numpy().tolist() == [[2 * 10 + 4, 7 * 10 + 9]]  # the last one is at the end
    np.testing.assert_allclose(found.sizes, [[[3.5, 5.0], [0.0, 0.0]]])
    np.testing.assert_allclose(found.offsets, [[[0.75, 0.5], [1.0, 1.0]]])


def test_only_labeled_keypoints_of_the_tasks_class_count():
    keypoints = np.full((1, 3, 4, 2), 0.5, np.float32)
    keypoints[0, 0, 2] = np.nan
    found = labeled_keypoints(
        keypoints,
        np.array([[1, 1, 0]], np.int32),
        np.array([[1.0, 0.5, 1.0]], np.float32),
        scale=np.array(SHAPE, np.float32),
        class_index=1,
        chosen=(3, 2),
    )
    np.testing.assert_array_equal(found.weights, [[[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]]])
    np.testing.assert_array_equal(found.points[0, 0], [[4.0, 5.0], [0.0, 0.0]])


def one_object() -> tuple[LabeledKeypoints, np.ndarray]:
    points = np.array([[[[0.5, 3.2], [7.9, 9.9]]]], np.float32)
    return LabeledKeypoints(points, np.ones((1, 1, 2), np.float32)), np.array(
        [[[2.0, 2.0, 6.0, 7.0]]], np.float32
    )


def seen_from(targets, row: int, num_keypoints: int) -> np.ndarray:
    """Give the point that the target of a row of predictions leads to."""
    cell = np.asarray(targets.rows)[0] // num_keypoints
    corner = np.stack([cell // SHAPE[1], cell % SHAPE[1]], axis=-1)
    return (corner + np.asarray(targets.offsets)[0])[row]


def test_all_cells_around_a_keypoint_lead_to_it():
    keypoints, boxes = one_object()
    found = keypoint_targets(
        keypoints, boxes, SHAPE, deviations=(1.0, 0.5), radius=1, is_offset_per_keypoint=True
    )
    weights = np.asarray(found.offsets.weights)[0]
    assert weights.tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 0, 0]  # up; right and down are outside
    for row in np.flatnonzero(weights):
        point = keypoints.points[0, 0, row // 5]
        np.testing.assert_allclose(seen_from(found.offsets, row, 2), point, rtol=1e-5)
        assert np.asarray(found.offsets.rows)[0, row] % 2 == row // 5  # the keypoint's own channel


def test_all_cells_around_a_center_lead_to_its_keypoints():
    keypoints, boxes = one_object()
    found = keypoint_targets(
        keypoints, boxes, SHAPE, deviations=(1.0, 0.5), radius=1, is_offset_per_keypoint=False
    )
    assert np.asarray(found.regressions.weights).all()
    for row in range(10):
        point = keypoints.points[0, 0, row // 5]
        np.testing.assert_allclose(seen_from(found.regressions, row, 2), point, rtol=1e-5)
    assert np.asarray(found.offsets.rows).max() < SHAPE[0] * SHAPE[1]  # one channel for all


def test_a_center_can_be_the_mean_of_keypoints():
    points = np.array([[[[1.0, 2.0], [5.0, 6.0], [7.0, 9.0]], [[0.0, 0.0]] * 3]], np.float32)
    weights = np.array([[[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]], np.float32)
    found = center_maps_of_keypoints(
        LabeledKeypoints(points, weights),
        np.array([[1, 0]], np.int32),
        np.ones((1, 2), np.float32),
        SHAPE,
        num_classes=2,
        min_overlap=0.7,
        keypoint_weights=(1.0, 1.0, 0.0),
    )
    found = np.asarray(found)
    assert found[0, 3, 4, 1] == 1.0  # the mean of the first two
    assert not found[..., 0].any()  # an object without keypoints has no center
