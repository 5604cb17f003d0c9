"""Detection with a TFLite file, Holdfast's or the OD API's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.config.facts.networks import detector_of, extractor_of
from holdfast.config.schema.image_resizer import FixedShapeResizer, ImageResizer
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.ssd import Ssd
from holdfast.data.input.build_input import build_resizer
from holdfast.data.sample import Tensor
from holdfast.models.backbones.backbone_spec import BACKBONES
from holdfast.models.inference.detections import Detections
from holdfast.prediction.loaded_model import joined
from holdfast.runtimes.litert_model import LitertModel
from holdfast.runtimes.tflite_metadata import PIXELS, ImageInput

# H, W sides of the input, h, w of the image in it, N detections

_UNIT_RANGE = ImageInput((127.5,) * 3, (127.5,) * 3)  # of the OD API's SSDs, where no file says


class SentImage(NamedTuple):
    """An image as the file takes it."""

    values: NDArray[np.float32]  # (H, W, 3)
    size: NDArray[np.int32]  # (3,) height, width, channels before the padding


class LitertNetwork:
    """A TFLite file, called with one image at a time: it has no batches.

    With the config of its detector images are resized as in the training, else to the input's size
    whatever their shape, as other clients of TFLite do.
    """

    def __init__(self, path: Path, config: TrainEvalPipelineConfig | None = None) -> None:
        self._model = LitertModel(path)
        height, width = self._model.size
        resizer = ImageResizer(fixed_shape_resizer=FixedShapeResizer(height=height, width=width))
        self._input = self._model.image_input or (
            PIXELS if self._model.takes_pixels else _UNIT_RANGE
        )
        self._margin: NDArray[np.float32] | None = None
        if config is not None and _makes(_config_resizer(config), (height, width)):
            resizer = _config_resizer(config)
            self._margin = _margin(config, self._input)
        self._resize = build_resizer(resizer)
        self._run_resize = tf.function(
            self._resized,
            input_signature=[tf.TensorSpec([None, None, 3], tf.uint8)],
            autograph=False,
        )

    @property
    def labels(self) -> dict[int, str]:
        """Names of the classes from 0, as the file has them; {} without any."""
        return self._model.labels

    @property
    def batches(self) -> bool:
        """Whether images of any size can be detected in together: `detect` sees to it."""
        return True

    def ready(self, image: NDArray[np.uint8]) -> SentImage:
        """Resize and normalize an image."""
        pixels, size = (each.numpy() for each in self._run_resize(image))
        values = (pixels - _color(self._input.mean)) / _color(self._input.deviation)
        if self._margin is not None:
            values[size[0] :] = self._margin
            values[:, size[1] :] = self._margin
        return SentImage(values, size)

    def detect(self, images: Sequence[SentImage]) -> Detections:
        """Detect in one image after the other."""
        return joined([self._detect(image) for image in images])

    def _detect(self, image: SentImage) -> Detections:
        found = self._model(image.values).in_image(image.size, self._model.size)
        points, sure = found.keypoints, found.keypoint_scores
        return Detections(
            boxes=found.boxes[None],
            scores=found.scores[None],
            classes=found.classes.astype(np.int32)[None],
            count=np.array([found.count], np.int32),
            keypoints=None if points is None else points[None],
            keypoint_scores=None if sure is None else sure[None],
        )

    def _resized(self, image: Tensor) -> tuple[Tensor, Tensor]:
        resized = self._resize(image, None)
        return tf.cast(resized.image, tf.float32), tf.cast(resized.size, tf.int32)


def _config_resizer(config: TrainEvalPipelineConfig) -> ImageResizer:
    detector = detector_of(config.model) if config.model else None
    return (detector.image_resizer if detector else None) or ImageResizer()


def _makes(resizer: ImageResizer, size: tuple[int, int]) -> bool:
    """Tell whether a resizer makes images of this size: else it is another detector's."""
    if resizer.chosen("image_resizer_oneof") is None:
        return False
    made = build_resizer(resizer)(tf.zeros([2, 1, 3], tf.uint8), None).image
    return tuple(made.shape) == (*size, 3)


def _margin(config: TrainEvalPipelineConfig, image: ImageInput) -> NDArray[np.float32] | None:
    """Give what a client writes beside an image that does not fill the input; None: as resized.

    A single-stage detector pads what is normalized already; a CenterNet pads pixels.
    """
    detector = detector_of(config.model) if config.model else None
    known = extractor_of(detector)
    if not isinstance(detector, Ssd) or known is None:
        return None
    chosen = _config_resizer(config).chosen("image_resizer_oneof")
    color = _color(getattr(chosen, "per_channel_pad_value", ()) or (0.0,) * 3)
    by = BACKBONES[known.backbone].normalization
    if image == PIXELS:
        color = (color - _color(by.offset)) / _color(by.scale)
    turned: NDArray[np.float32] = color[::-1] if by.is_reversed else color
    return turned


def _color(values: Sequence[float]) -> NDArray[np.float32]:
    return np.array(values, np.float32)
