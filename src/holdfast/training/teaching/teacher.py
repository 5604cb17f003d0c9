"""A trained detector that looks at the images of a batch, as large and normalized as it wants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import tensorflow as tf

from holdfast.data.input.resize import Resized
from holdfast.data.sample import Batch
from holdfast.geometry.tensor import Tensor
from holdfast.memory.predict.items import TEACHER
from holdfast.models.detectors.interface import Detector, Predictions
from holdfast.models.inference.detections import Detections


class Opinion(NamedTuple):
    """What a teacher says about images."""

    detections: Detections
    predictions: Predictions | None  # None: an exported detector keeps them to itself


class Teacher(Protocol):
    """A detector that is not trained."""

    @property
    def variables(self) -> list[Any]:
        """What it holds in memory."""

    def look(self, batch: Batch) -> Opinion:
        """Detect in the images of a batch."""


class DetectorTeacher:
    """A detector that was built and filled here.

    resize: the teacher's own; None: images are as large as it wants them already. largest: height
    and width that its images are padded to. is_padded: the student's images have a margin.
    """

    def __init__(
        self,
        detector: Detector,
        *,
        resize: Callable[[Tensor, Tensor], Resized] | None,
        largest: tuple[int, int],
        is_padded: bool,
    ) -> None:
        self.detector = detector
        self._resize = resize
        self._largest = largest
        self._is_padded = is_padded

    @property
    def variables(self) -> list[Any]:
        """What it holds in memory."""
        return list(self.detector.variables)

    def look(self, batch: Batch) -> Opinion:
        """Detect in the images of a batch, with statistics that stay as they are."""
        with tf.name_scope(TEACHER):
            images, sizes = self._ready(batch)
            inputs = self.detector.normalize(images, sizes)
            predictions = self.detector(inputs, sizes=sizes, training=False)
            found = self.detector.detections(predictions, sizes)
        return Opinion(found, predictions)

    def _ready(self, batch: Batch) -> tuple[Tensor, Tensor]:
        if self._resize is None:
            return batch.images, batch.sizes
        images: Tensor
        sizes: Tensor
        images, sizes = tf.map_fn(
            lambda each: self._resized(*each),
            (batch.images, batch.sizes),
            fn_output_signature=(
                tf.TensorSpec((*self._largest, 3), tf.float32),
                tf.TensorSpec((3,), tf.int32),
            ),
        )
        return images, sizes

    def _resized(self, image: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
        assert self._resize is not None
        resized = self._resize(true_image(image, size) if self._is_padded else image, None)
        height, width = self._largest
        shape = tf.shape(resized.image)
        margins = [[0, height - shape[0]], [0, width - shape[1]], [0, 0]]
        padded = tf.pad(tf.cast(resized.image, tf.float32), margins)
        padded.set_shape((height, width, 3))
        return padded, tf.cast(resized.size, tf.int32)


class ExportedTeacher:
    """A SavedModel with the OD API's signature that takes pixels; it looks at one image at a time.

    model: as it was loaded. signature: the name of the function that detects.
    """

    def __init__(self, model: Any, signature: str) -> None:
        self._model = model  # its variables live as long as it does
        self._function = model.signatures[signature]
        _, inputs = self._function.structured_input_signature
        ((self._name, self.input),) = inputs.items()

    @property
    def variables(self) -> list[Any]:
        """What it holds in memory."""
        return list(self._function.variables)

    def look(self, batch: Batch) -> Opinion:
        """Detect in the images of a batch."""
        shapes = {name: each.shape for name, each in self._function.structured_outputs.items()}
        places = shapes["detection_scores"][1]
        with tf.name_scope(TEACHER):
            found = tf.map_fn(
                lambda each: self._found(*each),
                (batch.images, batch.sizes),
                fn_output_signature=Detections(
                    boxes=tf.TensorSpec((places, 4), tf.float32),
                    scores=tf.TensorSpec((places,), tf.float32),
                    classes=tf.TensorSpec((places,), tf.int32),
                    count=tf.TensorSpec((), tf.int32),
                ),
            )
        return Opinion(found, None)

    def _found(self, image: Tensor, size: Tensor) -> Detections:
        pixels = tf.clip_by_value(tf.round(true_image(image, size)), 0.0, 255.0)
        found = self._function(**{self._name: tf.cast(pixels, tf.uint8)[None]})
        return Detections(
            boxes=found["detection_boxes"][0],
            scores=found["detection_scores"][0],
            classes=tf.cast(found["detection_classes"][0], tf.int32) - 1,  # ids count from 1
            count=tf.cast(found["num_detections"][0], tf.int32),
        )


def true_image(image: Tensor, size: Tensor) -> Tensor:
    """Leave out the padding of an image (H, W, 3)."""
    return image[: size[0], : size[1]]
