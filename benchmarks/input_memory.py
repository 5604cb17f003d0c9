"""How much host memory the input pipeline takes: flat over epochs, and within its budget.

Each figure is the resident memory of a fresh process, in the allocator's environment of a training.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MEBIBYTE = 2**20
BUDGET_BYTES = 256 * MEBIBYTE
BATCH = 4
SIDE = 300
PROJECT = Path(__file__).resolve().parent.parent
EPOCHS = (2, 20)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--large-only", action="store_true", help="leave the epochs of BCCD out")
    parser.add_argument("--width", type=int, default=4000, help="of the large images; 4:3")
    parser.add_argument("--images", type=int, default=48)
    parser.add_argument("--child", nargs=3, metavar=("FOLDER", "BATCHES", "BUDGET"))
    options = parser.parse_args()
    if options.child:
        folder, batches, budget = options.child
        child(Path(folder), [int(each) for each in batches.split(",")], int(budget))
        return
    with tempfile.TemporaryDirectory() as folder:
        if not options.large_only:
            print_epochs(Path(folder) / "bccd")
        print_large(Path(folder) / "large", options.width, options.images)


def print_epochs(folder: Path) -> None:
    shared = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
    bccd = shared / "datasets" / "bccd"
    source = [str(bccd)] if bccd.is_dir() else ["200@640", "--format", "synthetic"]
    from holdfast.data.records.record_files import read_records

    run = [sys.executable, "-m", "holdfast", "convert", *source, str(folder), "--val", "0"]
    subprocess.run(run, check=True, capture_output=True)
    images = sum(1 for _ in read_records(str(folder / "train.record-00000-of-00001")))
    marks = [epochs * images // BATCH for epochs in EPOCHS]
    few, many = measure(folder, marks, 512 * MEBIBYTE)["resident_bytes"]
    print(f"{'BCCD' if bccd.is_dir() else 'synthetic data'}, {SIDE} x {SIDE}, resident memory")
    print(
        f"  after {EPOCHS[0]} epochs {few / MEBIBYTE:.0f} MiB, after {EPOCHS[1]} epochs "
        f"{many / MEBIBYTE:.0f} MiB, ratio: {many / few:.3f}"
    )


def print_large(folder: Path, width: int, images: int) -> None:
    write_large(folder, width, images)
    measured = measure(folder, [2 * images // BATCH], BUDGET_BYTES)
    growth = measured["peak_bytes"] - measured["base_bytes"]
    batch_bytes = BATCH * SIDE * SIDE * 3 * 4
    allowed = BUDGET_BYTES + batch_bytes
    print(f"{images} images of {width} x {width * 3 // 4}, shuffled, budget 256 MiB")
    print(
        f"  shuffle {measured['shuffle_records']} records, {measured['parallel_calls']} calls; "
        f"peak growth {growth / MEBIBYTE:.0f} MiB, of what is allowed: {growth / allowed:.3f}"
    )


def measure(folder: Path, marks: list[int], budget_bytes: int) -> dict:
    numbers = ",".join(str(mark) for mark in marks)
    run = subprocess.run(
        [sys.executable, __file__, "--child", str(folder), numbers, str(budget_bytes)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"},
    )
    return json.loads(run.stdout.splitlines()[-1])


def write_large(folder: Path, width: int, images: int) -> None:
    """Write noise on gradients: JPEGs as large as those of a camera."""
    import numpy as np
    import tensorflow as tf

    folder.mkdir()
    (folder / "label_map.pbtxt").write_text('item { id: 1 name: "one" }')
    height = width * 3 // 4
    random = np.random.default_rng(0)
    with tf.io.TFRecordWriter(str(folder / "train.record-00000-of-00001")) as writer:
        for number in range(images):
            slope = np.linspace(0, 200, width)[None, :, None]
            pixels = (slope + random.integers(0, 55, (height, width, 3))).astype(np.uint8)
            writer.write(_record(str(number), tf.io.encode_jpeg(pixels).numpy(), height, width))


def _record(name: str, image: bytes, height: int, width: int) -> bytes:
    import tensorflow as tf

    def strings(value):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))

    def integers(value):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))

    def floats(value):
        return tf.train.Feature(float_list=tf.train.FloatList(value=[value]))

    features = {
        "image/encoded": strings(image),
        "image/source_id": strings(name.encode()),
        "image/height": integers(height),
        "image/width": integers(width),
        "image/object/class/label": integers(1),
        "image/object/bbox/ymin": floats(0.1),
        "image/object/bbox/xmin": floats(0.1),
        "image/object/bbox/ymax": floats(0.9),
        "image/object/bbox/xmax": floats(0.9),
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def child(folder: Path, marks: list[int], budget_bytes: int) -> None:
    """Read batches and print what the process held before, at most, and at the marks."""
    from holdfast.cli.quiet import load_tensorflow

    load_tensorflow()
    from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
    from holdfast.config.text.decode import decode
    from holdfast.data.input.build_input import build_training_input, open_reader
    from holdfast.data.survey.statistics_cache import record_statistics

    text = f"""
    model {{ ssd {{ num_classes: 3
      image_resizer {{ fixed_shape_resizer {{ height: {SIDE} width: {SIDE} }} }} }} }}
    train_config {{ batch_size: {BATCH}
      data_augmentation_options {{ random_horizontal_flip {{ }} }}
      data_augmentation_options {{ ssd_random_crop {{ }} }} }}
    train_input_reader {{ label_map_path: "{folder}/label_map.pbtxt"
      tf_record_input_reader {{ input_path: "{folder}/train.record-*" }} }}
    """
    config = decode(text, TrainEvalPipelineConfig).message
    records = open_reader(config.train_input_reader, folder)
    statistics = record_statistics(records.files, records.layout, records.names)
    pipeline = build_training_input(config, records, statistics, budget_bytes=budget_bytes)
    base = resident_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    resident = []
    for number, _ in enumerate(pipeline.batches().take(marks[-1]), start=1):
        if number in marks:
            resident.append(resident_bytes("VmRSS"))
    print(
        json.dumps(
            {
                "base_bytes": base,
                "peak_bytes": resident_bytes("VmHWM"),
                "resident_bytes": resident,
                "shuffle_records": pipeline.stream.shuffle_records,
                "parallel_calls": pipeline.parallel_calls,
            }
        )
    )


def resident_bytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])


if __name__ == "__main__":
    main()
