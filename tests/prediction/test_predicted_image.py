"""What is found in an image in the forms that others read: JSON, and COCO's results."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from faster_coco_eval.core import mask as mask_api

from holdfast.evaluation.pasted_masks import dense_mask, paste_mask
from holdfast.models.inference.detections import Detections
from holdfast.pictures import label_colors
from holdfast.prediction.drawn_image import drawn_image
from holdfast.prediction.predicted_image import predicted_image

BOXES = np.array([[0.1, 0.2, 0.5, 0.8], [0.5, 0.5, 1.0, 1.0], [0, 0, 1, 1], [0, 0, 0, 0]])
FOUND = Detections(
    boxes=BOXES[None].astype(np.float32),
    scores=np.array([[0.9, 0.6, 0.3, 0.0]], np.float32),
    classes=np.array([[1, 0, 1, 0]], np.int32),
    count=np.array([3], np.int32),
    masks=np.ones((1, 4, 7, 7), np.float32),
    keypoints=np.full((1, 4, 2, 2), 0.25, np.float32),
    keypoint_scores=np.array([[[0.9, 0.1]] * 4], np.float32),
)
NAMES = {1: "cat"}
SIZE = (40, 60)


def image(**changes):
    settings = {"names": NAMES, "least_score": 0.5} | changes
    return predicted_image(Path("a/0007.jpg"), SIZE, FOUND, 0, **settings)


def test_objects_below_the_score_and_of_other_classes_are_left_out():
    assert [each["score"] for each in image().document()["detections"]] == [
        *(np.float32(0.9), np.float32(0.6))
    ]
    assert image(least_score=0.0).ids.tolist() == [2, 1, 2]  # the empty place is none
    assert image(ids={1}).ids.tolist() == [1]


def test_ids_are_those_of_the_label_map_and_an_unnamed_class_is_called_by_its_id():
    assert image().ids.tolist() == [2, 1]
    assert image().names == ("2", "cat")


def test_masks_are_run_lengths_of_the_whole_image_that_json_can_carry():
    document = json.loads(json.dumps(image().document()))
    mask = document["detections"][0]["mask"]
    assert mask["size"] == list(SIZE)
    decoded = mask_api.decode({"size": SIZE, "counts": mask["counts"].encode()})
    crop = np.ones((7, 7), np.float32)
    expected = dense_mask(paste_mask(crop, FOUND.boxes[0, 0], *SIZE), *SIZE)
    np.testing.assert_array_equal(decoded, expected)
    assert expected.any()


def test_keypoints_are_y_x_and_score_and_in_pixels_x_y_for_coco():
    points = image().document()["detections"][0]["keypoints"]
    np.testing.assert_allclose(points, [[0.25, 0.25, 0.9], [0.25, 0.25, 0.1]])
    (first, _) = image().coco_results()
    np.testing.assert_allclose(first["keypoints"], [15, 10, 0.9, 15, 10, 0.1], rtol=1e-6)
    np.testing.assert_allclose(first["bbox"], [12, 4, 36, 16], rtol=1e-5)
    assert (first["image_id"], first["category_id"]) == (7, 2)


def test_a_picture_shows_masks_and_boxes_and_leaves_the_image_as_it_was():
    pixels = np.full((*SIZE, 3), 128, np.uint8)
    picture = drawn_image(pixels, image(), label_colors(["2", "cat"]))
    assert (picture[10, 30] != 128).any()  # inside of the first mask
    assert (picture[38, 2] == 128).all()  # outside of all
    assert (pixels == 128).all()
