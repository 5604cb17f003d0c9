"""Images to try an export on: of the config's data, or made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.input.build_input import open_reader
from holdfast.data.input.decode_images import decoded_image
from holdfast.data.records.record_shapes import first_examples
from holdfast.errors import HoldfastError

_SIZES = ((240, 320), (320, 240), (333, 500), (128, 128))  # height, width of what is made
_BLOCK = 16


class SampleImages(NamedTuple):
    """Images and where they are from."""

    images: list[NDArray[np.uint8]]  # (H, W, 3) each
    source: str


def sample_images(config: TrainEvalPipelineConfig, folder: Path, count: int) -> SampleImages:
    """Take the first images of the evaluation or training data, or make some.

    folder: where the config lies.
    """
    readers = {
        "eval_input_reader": next(iter(config.eval_input_reader), None),
        "train_input_reader": config.train_input_reader,
    }
    for name, reader in readers.items():
        if reader is None:
            continue
        try:
            files = open_reader(reader, folder, name=name).files
        except (HoldfastError, OSError):
            continue  # an export needs no data
        if images := _images_of(list(files), count):
            return SampleImages(images, name)
    made = [made_image(*_SIZES[index % len(_SIZES)], seed=index) for index in range(count)]
    return SampleImages(made, "made on the spot")


def made_image(height: int, width: int, seed: int) -> NDArray[np.uint8]:
    """Make an image of colored blocks on a gradient: it has edges, and no two are alike."""
    draw = np.random.default_rng(seed)
    rows, columns = -(-height // _BLOCK), -(-width // _BLOCK)
    blocks = draw.integers(0, 256, (rows, columns, 3)).repeat(_BLOCK, 0).repeat(_BLOCK, 1)
    slope = np.linspace(0, 255, width)[None, :, None]
    mixed: NDArray[np.uint8] = ((blocks[:height, :width] + slope) / 2).astype(np.uint8)
    return mixed


def _images_of(files: list[str], count: int) -> list[NDArray[np.uint8]]:
    images: list[NDArray[np.uint8]] = []
    for example in first_examples(files):
        encoded = example.features.feature["image/encoded"].bytes_list.value
        try:
            with decoded_image(encoded[0] if encoded else b"") as pixels:
                images.append(np.asarray(pixels))
        except HoldfastError:
            continue
        if len(images) == count:
            break
    return images
