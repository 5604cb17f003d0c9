"""Detect in many images: in batches, in flat memory, passing over files that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.geometry.image_tiles import Tiling
from holdfast.models.inference.detections import Detections
from holdfast.prediction.image_stream import DecodedImage, decoded_files
from holdfast.prediction.loaded_model import LoadedModel
from holdfast.prediction.predicted_image import PredictedImage, predicted_image
from holdfast.prediction.video_file import VideoFile, decoded_frames


@dataclass(frozen=True, kw_only=True)
class PredictionSettings:
    """What to keep, and how many images to detect in at once.

    ids: label-map ids of the classes that are kept; None: all. tiling: detect in tiles of each
    image, batch_size of them at a time.
    """

    least_score: float = 0.5
    ids: Collection[int] | None = None
    batch_size: int = 8
    tiling: Tiling | None = None


class ImageOutcome(NamedTuple):
    """One image of the many: what was found in it, or why it cannot be read."""

    path: Path
    pixels: NDArray[np.uint8] | None  # (H, W, 3)
    found: PredictedImage | None
    problem: str = ""


def predict_images(
    model: LoadedModel, files: Sequence[Path], settings: PredictionSettings
) -> Iterator[ImageOutcome]:
    """Detect in files, in their order."""
    ahead = 2 if settings.tiling is not None else 2 * _at_once(model, settings) + 2
    yield from _seen(model, decoded_files(files, _prepare(model, settings), ahead), settings)


def predict_frames(
    model: LoadedModel, video: VideoFile, settings: PredictionSettings, *, every: int = 1
) -> Iterator[ImageOutcome]:
    """Detect in the frames of a video, in their order; of `every` frames in the first."""
    ahead = _at_once(model, settings) + 2
    frames = decoded_frames(video, _prepare(model, settings), every=every, ahead=ahead)
    yield from _seen(model, frames, settings)


def _at_once(model: LoadedModel, settings: PredictionSettings) -> int:
    """Give how many images make a batch."""
    return settings.batch_size if settings.tiling is None and model.network.batches else 1


def _prepare(
    model: LoadedModel, settings: PredictionSettings
) -> Callable[[NDArray[np.uint8]], Any]:
    """Give what is done to an image beside the network."""
    return model.network.ready if settings.tiling is None else lambda pixels: None


def _seen(
    model: LoadedModel, stream: Iterator[DecodedImage], settings: PredictionSettings
) -> Iterator[ImageOutcome]:
    size = _at_once(model, settings)
    while batch := list(islice(stream, size)):
        whole = [image for image in batch if image.pixels is not None]
        found = _found(model, whole, size, settings)
        for image in batch:
            if image.pixels is None:
                yield ImageOutcome(image.path, None, None, image.problem)
            else:
                yield _chosen(image, image.pixels, *next(found), model, settings)


def _found(
    model: LoadedModel, images: Sequence[DecodedImage], size: int, settings: PredictionSettings
) -> Iterator[tuple[Detections, int]]:
    """Give for each image the detections of the batch that it was in, and its row."""
    if settings.tiling is not None:
        for pixels in (image.pixels for image in images if image.pixels is not None):
            yield model.in_tiles(pixels, settings.tiling, at_once=settings.batch_size), 0
    elif images:
        # Always a full batch: another size would be traced again.
        filled = [image.ready for image in (*images, *[images[0]] * (size - len(images)))]
        found = model.network.detect(filled)
        yield from ((found, row) for row in range(len(images)))


def _chosen(
    image: DecodedImage,
    pixels: NDArray[np.uint8],
    found: Detections,
    row: int,
    model: LoadedModel,
    settings: PredictionSettings,
) -> ImageOutcome:
    """Keep what the settings ask for."""
    chosen = predicted_image(
        image.path,
        (pixels.shape[0], pixels.shape[1]),
        found,
        row,
        names=model.names,
        least_score=settings.least_score,
        ids=settings.ids,
    )
    return ImageOutcome(image.path, pixels, chosen._replace(moment=image.moment))
