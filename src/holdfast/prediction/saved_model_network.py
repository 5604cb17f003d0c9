"""Detection with a SavedModel that has the OD API's signature, Holdfast's or the OD API's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.errors import HoldfastError
from holdfast.models.inference.detections import Detections
from holdfast.prediction.loaded_model import joined
from holdfast.prediction.od_api_outputs import NEEDED_OUTPUTS, as_detections

_SIGNATURE = "serving_default"


class SavedModelNetwork:
    """The function of a SavedModel, called with images as they are."""

    def __init__(self, folder: Path, *, takes_examples: bool = False) -> None:
        """Load it; takes_examples: of strings, that they are records and not images."""
        self._takes_examples = takes_examples
        try:
            self._model = tf.saved_model.load(str(folder))  # kept: it holds the variables
        except (OSError, ValueError, KeyError, tf.errors.OpError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise HoldfastError(
                f"{folder} is not a SavedModel that can be loaded: {reason}",
                fix="Export the detector again with `holdfast export`.",
            ) from error
        self._function = self._model.signatures.get(_SIGNATURE)
        outputs = self._function.structured_outputs if self._function is not None else {}
        if lacking := [name for name in NEEDED_OUTPUTS if name not in outputs]:
            raise HoldfastError(
                f"{folder} is not a detector: its {_SIGNATURE} has no {lacking[0]}.",
                fix="Give a SavedModel of `holdfast export` or of the OD API's exporter.",
            )
        _, inputs = self._function.structured_input_signature
        ((self._name, self._input),) = inputs.items()

    @property
    def batches(self) -> bool:
        """Whether images of any size can be detected in together: `detect` sees to it."""
        return True

    def ready(self, image: NDArray[np.uint8]) -> Any:
        """Encode the image where the model decodes it itself."""
        if self._input.dtype != tf.string:
            return image
        encoded = tf.io.encode_png(image).numpy()
        return _as_example(encoded) if self._takes_examples else encoded

    def detect(self, images: Sequence[Any]) -> Detections:
        """Detect in all images at once, if they have one size and the model takes several."""
        takes_one = self._input.shape.rank and self._input.shape[0] == 1
        if takes_one or len({np.shape(image) for image in images}) > 1:
            return joined([self._run([image]) for image in images])
        return self._run(images)

    def _run(self, images: Sequence[Any]) -> Detections:
        batch = tf.constant(np.stack(images) if self._input.dtype != tf.string else images)
        found = {
            name: each.numpy()
            for name, each in self._function(
                **{self._name: tf.cast(batch, self._input.dtype)}
            ).items()
        }
        return as_detections(found)


def _as_example(encoded: bytes) -> bytes:
    feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[encoded]))
    example = tf.train.Example(features=tf.train.Features(feature={"image/encoded": feature}))
    return bytes(example.SerializeToString())
