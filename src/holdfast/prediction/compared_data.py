"""The data that models are compared on: images to time, and labels to judge by."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.config.load import load_config
from holdfast.config.schema.image_resizer import IdentityResizer, ImageResizer
from holdfast.config.schema.input_reader import InputReader, TFRecordInputReader
from holdfast.data.input.build_input import build_resizer, largest_image, open_reader
from holdfast.data.input.evaluation_input import EvaluationBatch, EvaluationInput, evaluation_input
from holdfast.data.survey.inspection import Records
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.errors import HoldfastError
from holdfast.evaluation.evaluate import evaluate_step
from holdfast.evaluation.evaluation_step import EvaluatedBatch
from holdfast.evaluation.metrics.metrics_set import COCO, MetricsSet
from holdfast.evaluation.result import EvaluationResult
from holdfast.prediction.loaded_model import LoadedModel
from holdfast.runs.run import Run, is_run

_MADE = ((480, 640), (640, 480), (375, 500))  # height, width of images where there is no data
_CONFIG_NAME = "pipeline.config"


@dataclass(frozen=True, kw_only=True)
class ComparedData:
    """A data set, opened."""

    records: Records
    classes: dict[int, str]  # label-map id -> name
    images: EvaluationInput  # one at a time, as large as they are

    def samples(self, count: int) -> list[NDArray[np.uint8]]:
        """Give the first images."""
        return [_image(batch) for batch in islice(iter(self.images.batches()), count)]

    def judge(self, model: LoadedModel) -> EvaluationResult:
        """Give COCO's metrics of a model's boxes."""

        def step(batch: EvaluationBatch) -> EvaluatedBatch:
            return EvaluatedBatch(model([_image(batch)]), {})

        metrics = MetricsSet(classes=self.classes, names=(COCO,))
        return evaluate_step(step, self.images, metrics)


def open_data(place: str, label_map: str | None = None) -> ComparedData:
    """Open the evaluation data of a config or a run, or records with their label map."""
    reader, folder = _reader(place, label_map)
    records = open_reader(reader, folder, name="the data to compare on")
    statistics = record_statistics(records.files, records.layout, records.names)
    shape = largest_image(statistics)
    classes = dict(records.names or {})
    if not classes:
        raise HoldfastError(f"{place} has no label map.", fix="Give it with --label-map.")
    images = evaluation_input(
        records,
        statistics,
        resize=build_resizer(ImageResizer(identity_resizer=IdentityResizer())),
        num_classes=max(classes),
        height=shape.height,
        width=shape.width,
        has_fixed_shape=False,
        sample_1_of_n=max(1, reader.sample_1_of_n_examples),
    )
    return ComparedData(records=records, classes=classes, images=images)


def made_images(count: int) -> list[NDArray[np.uint8]]:
    """Make images of noise, where there is no data."""
    draw = np.random.default_rng(0)
    sizes = (_MADE[index % len(_MADE)] for index in range(count))
    return [draw.integers(0, 256, (*size, 3), np.uint8) for size in sizes]


def names_data(place: str) -> bool:
    """Tell whether a model's place says what to evaluate on: a run, or a folder with a config."""
    try:
        _config_reader(Path(place))
    except (HoldfastError, OSError):
        return False
    return True


def _reader(place: str, label_map: str | None) -> tuple[InputReader, Path]:
    path = Path(place)
    if path.is_dir() or path.suffix == ".config":
        return _config_reader(path)
    source = TFRecordInputReader(input_path=(place,))
    reader = InputReader(label_map_path=label_map or "", tf_record_input_reader=source)
    return reader, Path()


def _config_reader(path: Path) -> tuple[InputReader, Path]:
    if is_run(path):
        run = Run.open(path)
        config, folder = load_config(run.config_path, {}, run.part_choices), run.config_folder
    else:
        file = path / _CONFIG_NAME if path.is_dir() else path
        config, folder = load_config(file), file.parent
    reader = next(iter(config.eval_input_reader), None)
    if reader is None:
        raise HoldfastError(
            f"{path} has no data to evaluate on.",
            fix="Add eval_input_reader { … }, or name other data with --data.",
        )
    return reader, folder


def _image(batch: EvaluationBatch) -> NDArray[np.uint8]:
    height, width = np.asarray(batch.sizes)[0, :2]
    return np.asarray(np.asarray(batch.images)[0, :height, :width], np.uint8)
