"""Instance masks on their whole way: from COCO polygons to the bits of a training batch."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import numpy as np
import pytest
from pycocotools.coco import COCO

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.input.build_input import build_training_input, open_reader
from holdfast.data.sources.open_source import open_source
from holdfast.data.survey.statistics_cache import record_statistics

RESIZERS = {
    "fixed": "fixed_shape_resizer { height: 160 width: 250 }",
    "aspect kept": "keep_aspect_ratio_resizer { min_dimension: 120 max_dimension: 200 }",
}


@pytest.fixture(scope="module")
def fruits(shared) -> Path:
    return shared / "datasets" / "fruits_nuts_coco_seg"


@pytest.fixture(scope="module")
def records(fruits, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("fruits")
    convert(open_source(str(fruits)), str(folder), val=0.0, seed=0, num_shards=1)
    return folder


def batches(folder: Path, resizer: str):
    text = f"""
    model {{ faster_rcnn {{ num_classes: 3 number_of_stages: 3
      image_resizer {{ {resizer} }}
      second_stage_box_predictor {{ mask_rcnn_box_predictor {{ predict_instance_masks: true }} }}
    }} }}
    train_config {{ batch_size: 2 }}
    train_input_reader {{
      label_map_path: "{folder}/label_map.pbtxt"
      load_instance_masks: true mask_type: PNG_MASKS
      tf_record_input_reader {{ input_path: "{folder}/train.record-*" }}
    }}"""
    config = decode(text, TrainEvalPipelineConfig).message
    found = open_reader(config.train_input_reader, folder)
    statistics = record_statistics(found.files, found.layout, found.names)
    made = build_training_input(config, found, statistics)
    return made.batches().take(9).as_numpy_iterator()


def nearest(mask: np.ndarray, height: int, width: int) -> np.ndarray:
    """Resize by TensorFlow 1's grid: pixel i is taken from floor(i * scale)."""
    rows, columns = (
        np.floor(np.arange(side, dtype=np.float32) * np.float32(stored / side)).astype(int)
        for side, stored in zip((height, width), mask.shape, strict=True)
    )
    return mask[rows][:, columns]


@pytest.mark.filterwarnings("ignore:__array__:DeprecationWarning")  # of pycocotools itself
@pytest.mark.parametrize("resizer", RESIZERS.values(), ids=RESIZERS)
def test_masks_of_polygons_reach_the_batch_as_pycocotools_decodes_them(fruits, records, resizer):
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO(str(fruits / "data" / "trainval.json"))
    images = {image["file_name"]: image for image in coco.dataset["images"]}
    seen = 0
    for batch in batches(records, resizer):
        for row, source_id in enumerate(batch.source_ids):
            image = images.get(Path(source_id.decode()).name) or coco.imgs[int(source_id)]
            annotations = coco.imgToAnns[image["id"]]
            height, width = batch.sizes[row, :2]
            expected = np.zeros((len(annotations), *batch.images.shape[1:3]), np.uint8)
            for mask, annotation in zip(expected, annotations, strict=True):
                mask[:height, :width] = nearest(coco.annToMask(annotation), height, width)
            bits = batch.truth.mask_bits[row]
            np.testing.assert_array_equal(bits[: len(expected)], np.packbits(expected, axis=-1))
            assert not bits[len(expected) :].any()
            assert (batch.truth.weights[row] > 0).sum() == len(annotations)
            seen += len(annotations)
    assert seen == len(coco.anns)
