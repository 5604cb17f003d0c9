"""Write a detector as a SavedModel with the OD API's signature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from holdfast.data.input.decode_images import decode_image
from holdfast.data.sample import Tensor
from holdfast.export.client_input import ClientInput
from holdfast.export.detection_outputs import detection_outputs
from holdfast.models.detectors.interface import Detector


def write_saved_model(detector: Detector, folder: Path, input_type: ClientInput) -> None:
    """Write a SavedModel whose only input is called input_tensor, as those of the OD API.

    It can be called itself, or by its signature serving_default. Only the values of the variables
    are kept, not the layers: it is smaller, loads faster, and needs no Holdfast.
    """

    def prepare_one(image: Tensor) -> tuple[Tensor, Tensor]:
        inputs, sizes = detector.preprocess(_pixels(image, input_type)[tf.newaxis])
        return inputs[0], sizes[0]

    def detect(input_tensor: Tensor) -> dict[str, Tensor]:
        if input_type is ClientInput.IMAGE_TENSOR:
            inputs, sizes = detector.preprocess(input_tensor)
        else:
            # Each is decoded and resized by itself: before the resize, sizes differ.
            one = tf.function(prepare_one, autograph=False)
            traced = one.get_concrete_function(tf.TensorSpec([], tf.string)).structured_outputs
            specifications = tuple(tf.TensorSpec(each.shape, each.dtype) for each in traced)
            inputs, sizes = tf.map_fn(prepare_one, input_tensor, fn_output_signature=specifications)
        outputs = detection_outputs(detector, inputs, sizes)
        return {name: tf.identity(value, name=name) for name, value in outputs.items()}

    module: Any = tf.Module()
    module.kept = [variable.value for variable in detector.variables]
    call = tf.function(detect, input_signature=[_specification(input_type)], autograph=False)
    module.__call__ = call
    signatures = {"serving_default": call.get_concrete_function()}
    tf.saved_model.save(module, str(folder), signatures=signatures)


def _specification(input_type: ClientInput) -> tf.TensorSpec:
    if input_type is ClientInput.IMAGE_TENSOR:
        return tf.TensorSpec([None, None, None, 3], tf.uint8, name="input_tensor")
    return tf.TensorSpec([None], tf.string, name="input_tensor")


def _pixels(sent: Tensor, input_type: ClientInput) -> Tensor:
    """Decode what a client sends of one image."""
    if input_type is ClientInput.EXAMPLE:
        features = {"image/encoded": tf.io.FixedLenFeature([], tf.string)}
        sent = tf.io.parse_single_example(sent, features)["image/encoded"]
    return decode_image(sent)
