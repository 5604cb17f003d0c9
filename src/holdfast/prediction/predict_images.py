"""Detect in many images: in batches, in flat memory, passing over files that cannot be read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.geometry.image_tiles import Tiling
from holdfast.prediction.image_stream import DecodedFile, decoded_files
from holdfast.prediction.loaded_model import LoadedModel
from holdfast.prediction.predicted_image import PredictedImage, predicted_image


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


class SeenFile(NamedTuple):
    """One file of the many: what was found in it, or why it cannot be read."""

    path: Path
    pixels: NDArray[np.uint8] | None  # (H, W, 3)
    found: PredictedImage | None
    problem: str = ""


def predict_images(
    model: LoadedModel, files: Sequence[Path], settings: PredictionSettings
) -> Iterator[SeenFile]:
    """Detect in files, in their order."""
    if settings.tiling is not None:
        for file in decoded_files(files, lambda pixels: None, ahead=2):
            yield _in_tiles(model, file, settings, settings.tiling)
        return
    size = settings.batch_size if model.network.batches else 1
    stream = decoded_files(files, model.network.ready, ahead=2 * size + 2)
    while batch := list(islice(stream, size)):
        yield from _in_batch(model, batch, size, settings)


def _in_batch(
    model: LoadedModel, batch: Sequence[DecodedFile], size: int, settings: PredictionSettings
) -> Iterator[SeenFile]:
    whole = [file for file in batch if file.pixels is not None]
    if whole:
        # Always a full batch: another size would be traced again.
        filled = [file.ready for file in (*whole, *whole[:1] * (size - len(whole)))]
        found = model.network.detect(filled)
    rows = {file.path: row for row, file in enumerate(whole)}
    for file in batch:
        if file.pixels is None:
            yield SeenFile(file.path, None, None, file.problem)
            continue
        image = predicted_image(
            file.path,
            (file.pixels.shape[0], file.pixels.shape[1]),
            found,
            rows[file.path],
            names=model.names,
            least_score=settings.least_score,
            ids=settings.ids,
        )
        yield SeenFile(file.path, file.pixels, image)


def _in_tiles(
    model: LoadedModel, file: DecodedFile, settings: PredictionSettings, tiling: Tiling
) -> SeenFile:
    if file.pixels is None:
        return SeenFile(file.path, None, None, file.problem)
    found = model.in_tiles(file.pixels, tiling, at_once=settings.batch_size)
    image = predicted_image(
        file.path,
        (file.pixels.shape[0], file.pixels.shape[1]),
        found,
        0,
        names=model.names,
        least_score=settings.least_score,
        ids=settings.ids,
    )
    return SeenFile(file.path, file.pixels, image)
