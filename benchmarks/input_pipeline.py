"""How fast the input pipeline is, against reading and decoding the same files, in one run."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.cli.quiet import load_tensorflow

load_tensorflow()

import tensorflow as tf  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig  # noqa: E402
from holdfast.config.text.decode import decode  # noqa: E402
from holdfast.data.conversion.to_records import convert  # noqa: E402
from holdfast.data.input.build_input import build_training_input, open_reader  # noqa: E402
from holdfast.data.input.decode_images import decode_image  # noqa: E402
from holdfast.data.input.resize import fixed_shape  # noqa: E402
from holdfast.data.sources.open_source import open_source  # noqa: E402
from holdfast.data.survey.statistics_cache import record_statistics  # noqa: E402

ROUNDS = 7
IMAGES = 800
BATCH = 8
FLIP = "data_augmentation_options { random_horizontal_flip { } }"
CROP = f"{FLIP} data_augmentation_options {{ ssd_random_crop {{ }} }}"
PROJECT = Path(__file__).resolve().parent.parent


def main() -> None:
    shared = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
    bccd = shared / "datasets" / "bccd"
    with tempfile.TemporaryDirectory() as folder:
        if bccd.is_dir():
            source = open_source(str(bccd))
        else:
            source = open_source("200@640", format_name="synthetic", seed=0)
        convert(source, folder)
        rates = measure(Path(folder))
    plain = statistics.median(rates["read, parse and decode"])
    table = Table("pipeline", "images/s", "ratio", title=f"{source.format} data, 300 x 300")
    for name, each in rates.items():
        median = statistics.median(each)
        table.add_row(name, f"{median:.0f}", f"{median / plain:.2f}")
    Console().print(table)


def measure(folder: Path) -> dict[str, list[float]]:
    files = tuple(str(path) for path in sorted(folder.glob("train.record-*")))
    runs: dict[str, Callable[[], tf.data.Dataset]] = {
        "read, parse and decode": lambda: decoding_only(files),
        "read, parse, decode and resize": lambda: decoding_and_resizing(files),
        "flip": lambda: pipeline(folder, FLIP),
        "flip + ssd_random_crop": lambda: pipeline(folder, CROP),
    }
    datasets = {name: make() for name, make in runs.items()}
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, dataset in datasets.items():
            each = 1 if name.startswith("read") else BATCH
            rates[name].append(rate(dataset, each))
    return rates


def decoding_only(files: tuple[str, ...]) -> tf.data.Dataset:
    features = {"image/encoded": tf.io.FixedLenFeature((), tf.string)}

    def decode_record(serialized: tf.Tensor) -> tf.Tensor:
        return decode_image(tf.io.parse_single_example(serialized, features)["image/encoded"])

    dataset = tf.data.TFRecordDataset(list(files)).repeat()
    return dataset.map(decode_record, num_parallel_calls=2, deterministic=True).prefetch(BATCH)


def decoding_and_resizing(files: tuple[str, ...]) -> tf.data.Dataset:
    """Show the share that no pipeline can do without: the resize of the whole image."""
    features = {"image/encoded": tf.io.FixedLenFeature((), tf.string)}

    def resized(serialized: tf.Tensor) -> tf.Tensor:
        image = decode_image(tf.io.parse_single_example(serialized, features)["image/encoded"])
        return fixed_shape(image, height=300, width=300).image

    dataset = tf.data.TFRecordDataset(list(files)).repeat()
    return dataset.map(resized, num_parallel_calls=2, deterministic=True).prefetch(BATCH)


def pipeline(folder: Path, options: str) -> tf.data.Dataset:
    text = f"""
    model {{ ssd {{ num_classes: 8
      image_resizer {{ fixed_shape_resizer {{ height: 300 width: 300 }} }} }} }}
    train_config {{ batch_size: {BATCH} {options} }}
    train_input_reader {{ label_map_path: "{folder}/label_map.pbtxt"
      tf_record_input_reader {{ input_path: "{folder}/train.record-*" }} }}
    """
    config = decode(text, TrainEvalPipelineConfig).message
    records = open_reader(config.train_input_reader, folder)
    statistics = record_statistics(records.files, records.layout, records.names)
    return build_training_input(config, records, statistics).batches()


def rate(dataset: tf.data.Dataset, images_each: int) -> float:
    """Count images a second inside the graph; the first ones, which fill buffers, do not count."""

    def seconds(count: int) -> float:
        start = time.perf_counter()
        dataset.take(count // images_each).reduce(0, lambda total, *element: total + 1).numpy()
        return time.perf_counter() - start

    return IMAGES / (seconds(2 * IMAGES) - seconds(IMAGES))


if __name__ == "__main__":
    main()
