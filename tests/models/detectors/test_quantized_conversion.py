"""A detector that was trained quantized converts to integers without any image."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.layers.fake_quantization import (
    fake_quantizers,
    joined_ranges,
    observed_ranges,
)

from .small_configs import small_config
from .test_build_quantization import asked

SIDE = 64
CHANGES = {
    "inception_v2": ("ssd", "ssd_inception_v2"),
    "mobilenet_v3": ("ssdlite", "ssd_mobilenet_v3_large"),
}


def observed_detector(name: str):
    """Build a detector with weights that say something, and ranges of one batch."""
    config = asked(small_config(CHANGES.get(name, (name,))[0], SIDE, SIDE), delay=1)
    if name in CHANGES:
        features = config.model.ssd.feature_extractor.replace(type=CHANGES[name][1])
        model = config.model.replace(ssd=config.model.ssd.replace(feature_extractor=features))
        config = config.replace(model=model)
    detector = build_detector(config, freeze_batch_norm=True)
    chance = np.random.default_rng(1)
    for each in detector.trainable_variables:
        if "kernel" in each.path:
            spread = 1.5 / np.sqrt(np.prod(each.shape[:-1]) if each.shape[-1] > 1 else 9)
            each.assign(chance.normal(0, spread, each.shape))
    inputs = tf.constant(chance.uniform(-1, 1, (2, SIDE, SIDE, 3)), tf.float32)
    with observed_ranges() as seen:
        detector(inputs, training=True)
    quantizers = fake_quantizers(detector)
    for quantizer, reach in zip(
        quantizers,
        joined_ranges(quantizers, [tf.zeros(2)] * len(quantizers), seen),
        strict=True,
    ):
        quantizer.follow(reach)
    detector.clock.step.assign(1)
    return detector, inputs[:1]


def converted(detector) -> bytes:
    def network(x):
        found = detector(x)
        return {
            "boxes": found.box_encodings,
            "classes": found.class_predictions_with_background,
        }

    traced = tf.function(network, autograph=False).get_concrete_function(
        tf.TensorSpec((1, SIDE, SIDE, 3), name="x")
    )
    module = tf.Module()
    module.kept = [variable.value for variable in detector.variables]
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced], module)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]  # and no representative data
    return converter.convert()


def float_operations(interpreter: Interpreter) -> Counter[str]:
    """Count the operations that give floats; DEQUANTIZE of the two outputs are two of them."""
    kinds = {each["index"]: each["dtype"] for each in interpreter.get_tensor_details()}
    return Counter(
        each["op_name"]
        for each in interpreter._get_ops_details()
        if each["op_name"] != "DELEGATE"  # which stands for operations that are listed, too
        and any(kinds.get(index) is np.float32 for index in each["outputs"])
    )


@pytest.mark.parametrize(
    "name",
    [
        "ssdlite",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("ssd", "fpn", "fpnlite", "bifpn", "inception_v2", "mobilenet_v3")
        ),
    ],
)
def test_a_quantized_detector_becomes_integers_without_representative_data(name):
    random.seed(0)
    detector, inputs = observed_detector(name)
    rounded = detector(inputs)
    assert detector.clock.settle()
    settled = detector(inputs)
    np.testing.assert_allclose(settled.box_encodings, rounded.box_encodings, atol=1e-5)
    interpreter = Interpreter(model_content=converted(detector))
    interpreter.allocate_tensors()
    assert float_operations(interpreter) == {"DEQUANTIZE": 2}
    found = interpreter.get_signature_runner()(x=inputs.numpy())
    expected = {
        "boxes": settled.box_encodings.numpy(),
        "classes": settled.class_predictions_with_background.numpy(),
    }
    for output, values in expected.items():
        assert np.ptp(values) > 0.1
        # Integers are rounded where the simulation is exact: a step here and there.
        step = np.ptp(values) / 255
        assert np.mean(np.abs(found[output] - values)) < 2 * step
