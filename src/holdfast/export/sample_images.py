"""Images to try an export on: of the config's data, with their labels, or made on the spot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.input.build_input import open_reader
from holdfast.data.input.decode_images import decoded_image
from holdfast.data.records.record_files import read_records
from holdfast.data.sample import Sample
from holdfast.data.sources.tfrecord import record_parser
from holdfast.data.survey.inspection import Records
from holdfast.errors import HoldfastError

EVALUATION, TRAINING = "eval_input_reader", "train_input_reader"
_SIZES = ((240, 320), (320, 240), (333, 500), (128, 128))  # height, width of what is made
_BLOCK = 16


class SampleImages(NamedTuple):
    """Images and where they are from."""

    images: list[NDArray[np.uint8]]  # (H, W, 3) each
    source: str
    labels: list[Sample]  # what each image shows; [] of images that were made


def sample_images(config: TrainEvalPipelineConfig, folder: Path, count: int) -> SampleImages:
    """Take the first images of the evaluation or training data, or make some.

    folder: where the config lies.
    """
    for name in (EVALUATION, TRAINING):
        found = list(islice(images_of_reader(config, folder, name), count))
        if found:
            images, labels = zip(*found, strict=True)
            return SampleImages(list(images), name, list(labels))
    made = [made_image(*_SIZES[index % len(_SIZES)], seed=index) for index in range(count)]
    return SampleImages(made, "made on the spot", [])


def images_of_reader(
    config: TrainEvalPipelineConfig, folder: Path, name: str
) -> Iterator[tuple[NDArray[np.uint8], Sample]]:
    """Read the images of a reader of the config that can be read, one by one, with their labels.

    There is none without data: an export can do without.
    """
    readers: dict[str, InputReader | None] = {
        EVALUATION: next(iter(config.eval_input_reader), None),
        TRAINING: config.train_input_reader,
    }
    reader = readers[name]
    if reader is None:
        return
    try:
        records = open_reader(reader, folder, name=name)
    except (HoldfastError, OSError):
        return
    for sample in _samples(records):
        try:
            with decoded_image(sample.image) as decoded:
                pixels = np.asarray(decoded)
        except HoldfastError:
            continue
        yield pixels, sample


def made_image(height: int, width: int, seed: int) -> NDArray[np.uint8]:
    """Make an image of colored blocks on a gradient: it has edges, and no two are alike."""
    draw = np.random.default_rng(seed)
    rows, columns = -(-height // _BLOCK), -(-width // _BLOCK)
    blocks = draw.integers(0, 256, (rows, columns, 3)).repeat(_BLOCK, 0).repeat(_BLOCK, 1)
    slope = np.linspace(0, 255, width)[None, :, None]
    mixed: NDArray[np.uint8] = ((blocks[:height, :width] + slope) / 2).astype(np.uint8)
    return mixed


def _samples(records: Records) -> Iterator[Sample]:
    """Parse the records that can be read; their masks and keypoints are left."""
    layout = replace(records.layout, masks=None, num_keypoints=0)
    parse = tf.function(
        record_parser(layout), input_signature=[tf.TensorSpec((), tf.string)], autograph=False
    )
    for file in records.files:
        try:
            for record in read_records(file):
                parsed = parse(record).sample
                yield Sample(*(each.numpy() if tf.is_tensor(each) else each for each in parsed))
        except (HoldfastError, tf.errors.OpError):
            continue  # told by `holdfast inspect`
