"""What tiling costs: a run's accuracy on whole images, and on tiles of the same images enlarged.

The images that the run is evaluated on are enlarged, and detected in tiles whose input is chosen so
that objects are as large in it as they were in training. The difference is what cutting and putting
together cost. Networks whose anchors are shares of the input (plain SSD) see other anchors in a
smaller input: give a run with a pyramid.

    python benchmarks/tiling.py runs/cells --side 2048 --tile 640 --overlap 0.2
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf
from PIL import Image

import holdfast
from holdfast.checkpoints.own import saved_checkpoints
from holdfast.config.facts.input_sizes import input_multiple, input_shape
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.input.build_input import open_reader
from holdfast.data.records.record_files import read_records
from holdfast.geometry.image_tiles import Tiling
from holdfast.projects.adapting.change_input import input_changes
from holdfast.projects.adapting.field_change import changed
from holdfast.runs.run import Run

MAP = "DetectionBoxes_Precision/mAP"
MAP_50 = "DetectionBoxes_Precision/mAP@.50IOU"


def main() -> None:
    options = _arguments()
    run = Run.open(options.run)
    config = holdfast.load_config(run.config_path).replace(folder=str(run.config_folder))
    found = saved_checkpoints.checkpoints_in(run.checkpoints)
    chosen = saved_checkpoints.best_of(found) or found[-1]
    whole = holdfast.evaluate(config, chosen.path)
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "enlarged.record"
        _enlarge(config, records, options.side)
        tiling = Tiling(size=options.tile, overlap=options.overlap)
        tiled_config = _for_tiles(config, records, options)
        tiled = holdfast.evaluate(tiled_config, chosen.path, tiling=tiling)
    document = {
        "run": str(options.run),
        "images": whole.images,
        "tile_input": _side(tiled_config),
        "map": {"whole": whole.metrics[MAP], "tiled": tiled.metrics[MAP]},
        "map_50": {"whole": whole.metrics[MAP_50], "tiled": tiled.metrics[MAP_50]},
    }
    print(json.dumps(document, indent=1))


def _enlarge(config: TrainEvalPipelineConfig, path: Path, side: int) -> None:
    """Write the evaluation's records with images whose longer side is `side`."""
    reader = open_reader(config.eval_input_reader[0], Path(config.folder), name="eval")
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in _records(reader.files):
            example = tf.train.Example.FromString(record)
            feature = example.features.feature
            image = Image.open(io.BytesIO(feature["image/encoded"].bytes_list.value[0]))
            scale = side / max(image.size)
            size = (round(image.width * scale), round(image.height * scale))
            stream = io.BytesIO()
            image.convert("RGB").resize(size, Image.Resampling.BICUBIC).save(stream, "PNG")
            feature["image/encoded"].bytes_list.value[:] = [stream.getvalue()]
            feature["image/format"].bytes_list.value[:] = [b"png"]
            feature["image/width"].int64_list.value[:] = [size[0]]
            feature["image/height"].int64_list.value[:] = [size[1]]
            areas = feature["image/object/area"].float_list.value
            areas[:] = [area * scale**2 for area in areas]
            writer.write(example.SerializeToString())


def _records(files: tuple[str, ...]) -> Iterator[bytes]:
    for file in files:
        yield from read_records(file)


def _for_tiles(
    config: TrainEvalPipelineConfig, records: Path, options: argparse.Namespace
) -> TrainEvalPipelineConfig:
    """Give tiles an input in which objects are as large as in the whole image's."""
    assert config.model is not None
    shape = input_shape(config.model)
    assert shape is not None
    multiple = input_multiple(config.model) or 1
    side = options.tile * max(shape.height, shape.width) / options.side
    side = max(multiple, round(side / multiple) * multiple)
    sized = changed(config, input_changes(config, (side, side)))
    reader = sized.eval_input_reader[0]
    inputs = reader.tf_record_input_reader
    assert inputs is not None
    read = reader.replace(tf_record_input_reader=inputs.replace(input_path=(str(records),)))
    return sized.replace(eval_input_reader=(read,))


def _side(config: TrainEvalPipelineConfig) -> int:
    assert config.model is not None
    shape = input_shape(config.model)
    assert shape is not None
    return shape.width


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path, help="a finished run of `holdfast train`")
    parser.add_argument("--side", type=int, default=2048, help="longer side, enlarged")
    parser.add_argument("--tile", type=int, default=640)
    parser.add_argument("--overlap", type=float, default=0.2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
