"""Regions are cut in ONNX as TensorFlow cuts them, beyond the border of a map and back to front."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
import tf2onnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.export.onnx_crops import convert_crops

DRAW = np.random.default_rng(0)
MAPS = DRAW.normal(size=(2, 9, 13, 3)).astype(np.float32)


@pytest.fixture(scope="module", params=[(4, 5), (1, 7), (14, 1)])
def session(request):
    def crop(maps, boxes, images):
        return tf.image.crop_and_resize(maps, boxes, images, request.param, extrapolation_value=0.5)

    signature = [
        tf.TensorSpec([None, None, None, 3]),
        tf.TensorSpec([None, 4]),
        tf.TensorSpec([None], tf.int32),
    ]
    model, _ = tf2onnx.convert.from_function(
        tf.function(crop),
        signature,
        opset=17,
        custom_op_handlers={"CropAndResize": (convert_crops, [])},
    )
    kinds = {node.op_type for node in model.graph.node}
    assert "RoiAlign" in kinds
    assert "Loop" not in kinds
    return onnxruntime.InferenceSession(model.SerializeToString()), crop


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(0, 6))
def test_regions_are_those_of_tensorflow(session, seed, count):
    draw = np.random.default_rng(seed)
    # Some end beyond the image, some before they begin, some on its border.
    boxes = draw.uniform(-0.3, 1.3, (count, 4)).astype(np.float32)
    images = draw.integers(0, 2, count).astype(np.int32)
    run, crop = session
    names = [each.name for each in run.get_inputs()]
    (found,) = run.run(None, dict(zip(names, (MAPS, boxes, images), strict=True)))
    np.testing.assert_allclose(found, crop(MAPS, boxes, images), atol=1e-4)


def test_a_region_of_the_whole_map_is_the_map(session):
    run, crop = session
    boxes, images = np.array([[0, 0, 1, 1]], np.float32), np.zeros(1, np.int32)
    names = [each.name for each in run.get_inputs()]
    (found,) = run.run(None, dict(zip(names, (MAPS, boxes, images), strict=True)))
    np.testing.assert_allclose(found, crop(MAPS, boxes, images), atol=1e-5)
