"""A .tflite file that is not a whole detector is an error that says so."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import tensorflow as tf

import holdfast
from holdfast.runtimes.litert_model import LitertModel

SIDE = 8


def converted(function, *shape):
    signature = [tf.TensorSpec(shape, tf.float32)]
    concrete = tf.function(function, input_signature=signature).get_concrete_function()
    return tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert()


@pytest.fixture(scope="module")
def classifier():
    kernel = tf.constant(np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32))
    return converted(lambda image: tf.reduce_mean(image, [1, 2]) @ kernel, 1, SIDE, SIDE, 3)


def test_another_network_is_named(classifier, tmp_path):
    (tmp_path / "other.tflite").write_bytes(classifier)
    with pytest.raises(holdfast.HoldfastError, match="is not a detector: it gives no boxes"):
        LitertModel(tmp_path / "other.tflite")


def test_an_input_that_is_not_an_image_is_named(tmp_path):
    (tmp_path / "other.tflite").write_bytes(converted(lambda values: values * 2.0, 1, 4))
    with pytest.raises(holdfast.HoldfastError, match="its input is not one RGB image"):
        LitertModel(tmp_path / "other.tflite")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9])
def test_a_file_that_is_cut_is_an_error(classifier, share, tmp_path):
    (tmp_path / "cut.tflite").write_bytes(classifier[: int(len(classifier) * share)])
    with pytest.raises(holdfast.HoldfastError, match="cannot be run"):
        LitertModel(tmp_path / "cut.tflite")


def test_a_file_of_something_else_is_an_error(tmp_path):
    (tmp_path / "other.tflite").write_bytes(b"\x89PNG not a model at all" * 20)
    with pytest.raises(holdfast.HoldfastError, match="it is not a TFLite file"):
        LitertModel(tmp_path / "other.tflite")


def test_without_litert_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    with pytest.raises(holdfast.HoldfastError) as caught:
        LitertModel(tmp_path / "model.tflite")
    assert caught.value.fix == 'Run `pip install "holdfast[tflite]"`.'
