"""In a notebook what a model finds is a picture; to programs it is what it was."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image
from tests.prediction.spread_weights import noise

from holdfast.models.inference.detections import Detections
from holdfast.prediction.loaded_model import LoadedModel

FOUND = Detections(
    boxes=np.array([[[0.2, 0.2, 0.8, 0.8], [0, 0, 1, 1]]], np.float32),
    scores=np.array([[0.9, 0.1]], np.float32),
    classes=np.array([[0, 1]], np.int32),
    count=np.array([2], np.int32),
)


class _Network:
    batches = True

    def ready(self, image):
        return image

    def detect(self, images):
        values = (None if each is None else np.repeat(each, len(images), 0) for each in FOUND)
        return Detections(*values)


MODEL = LoadedModel(network=_Network(), names={1: "cat"}, description="")


def picture(found):
    with Image.open(io.BytesIO(found._repr_png_())) as image:
        assert image.format == "PNG"
        return np.asarray(image.convert("RGB"))


def test_the_picture_of_one_image_is_the_image_with_its_sure_boxes():
    image = np.full((60, 80, 3), 128, np.uint8)
    shown = picture(MODEL([image]))
    assert shown.shape == (300, 400, 3)  # enlarged five times: labels would cover it
    assert (shown[60:240, 80] != 128).any()  # the left side of the box of score 0.9
    assert (shown[:40, :40] == 128).all()  # none of the one of score 0.1


def test_several_images_are_a_sheet():
    shown = picture(MODEL([noise(60, 80), noise(40, 30, 1)]))
    assert shown.shape[1] > 2 * 300


def test_a_program_sees_plain_detections():
    found = MODEL(np.stack([noise(60, 80)] * 2))
    assert isinstance(found, Detections)
    assert found._fields == Detections._fields
    boxes, scores, *_ = found
    assert boxes.shape == (2, 2, 4)
    assert scores is found.scores
