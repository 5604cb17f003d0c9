"""Published weights, trained on COCO, find in two photographs what the original graph finds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.config.load import load_config
from holdfast.models.detectors.build_detector import build_detector

MODEL = "ssdlite_mobilenet_v2_coco"
LOWEST_SCORE = 0.3  # of the detections that are stored


@pytest.fixture(scope="module")
def pretrained(shared):
    config = load_config(shared / "corpus" / "zoo_configs" / "tf1" / f"{MODEL}.config")
    detector = build_detector(config)
    return detector, load_checkpoint(detector, shared / "weights" / MODEL / "model.ckpt")


@pytest.fixture(scope="module")
def stored(shared):
    """Detections by image; boxes are those of the image, in 0..1."""
    return json.loads((shared / "weights" / MODEL / "expected_detections.json").read_text())


@pytest.fixture(scope="module")
def found(shared, stored, pretrained):
    detector, _ = pretrained
    images = [pixels(shared / "weights" / MODEL / name) for name in stored]
    assert [list(image.shape[:2]) for image in images] == [
        each["image_size_height_width"] for each in stored.values()
    ]
    inputs, sizes = detector.preprocess(images)
    return detector.detections(detector(inputs, sizes=sizes), sizes)


def pixels(path) -> np.ndarray:
    # By Pillow: tf.io.decode_jpeg takes a faster transform whose pixels are a gray level off on
    # average, and moves scores by up to 0.02.
    with Image.open(path) as image:
        return np.asarray(image)


def test_every_variable_finds_its_place(pretrained):
    _, report = pretrained
    assert report.is_whole
    assert report.other == ("global_step",)


def test_the_same_things_are_found_in_the_same_order(stored, found):
    for image, name in enumerate(stored):
        wanted = stored[name]["detections"]
        is_found = np.asarray(found.scores[image]) > LOWEST_SCORE
        ids = np.asarray(found.classes[image])[is_found] + 1
        assert ids.tolist() == [each["class_id"] for each in wanted]


def test_scores_and_boxes_are_those_of_the_original_graph(stored, found):
    for image, name in enumerate(stored):
        wanted = stored[name]["detections"]
        scores = np.asarray(found.scores[image])[: len(wanted)]
        boxes = np.asarray(found.boxes[image])[: len(wanted)]
        # They are stored with five digits.
        np.testing.assert_allclose(scores, [each["score"] for each in wanted], atol=1e-4)
        np.testing.assert_allclose(
            boxes, [each["box_ymin_xmin_ymax_xmax"] for each in wanted], atol=1e-4
        )
