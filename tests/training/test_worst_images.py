"""One image with very many boxes, one with very many pixels: planned for, and trained on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.training.small_training import config_text

import holdfast
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.runs.run import Run
from holdfast.training.training_settings import TrainingSettings

BATCH_SIZE = 8
CROWD = 1000
HUGE = (6000, 4000)  # width, height


def write_coco(folder: Path, sizes: list[tuple[int, int]], boxes: list[int]) -> None:
    """Write images of these sizes with so many boxes each, as COCO has them."""
    random = np.random.default_rng(0)
    images, annotations = [], []
    for number, ((width, height), count) in enumerate(zip(sizes, boxes, strict=True)):
        name = f"image_{number}.jpg"
        pixels = np.tile(random.integers(0, 255, (8, 8, 3), np.uint8), (height // 8, width // 8, 1))
        Image.fromarray(pixels).save(folder / name)
        images.append({"id": number, "file_name": name, "width": width, "height": height})
        for _ in range(count):
            x, y = random.random(2) * (width / 2, height / 2)
            box = [float(x), float(y), width / 4, height / 4]
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": 1 + len(annotations) % 4,
                    "bbox": box,
                    "area": box[2] * box[3],
                    "iscrowd": 0,
                }
            )
    categories = [{"id": number, "name": f"class {number}"} for number in range(1, 5)]
    document = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "instances.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("odd_size", "odd_count", "named"),
    [
        ((64, 64), CROWD, r"fullest image: 1000 boxes in .*, record \d+ \(3\)"),
        pytest.param(
            HUGE,
            2,
            r"largest image: .*, record \d+ \(3\) \(at most 6000 x 4000 pixels\)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_plan_names_the_worst_image_and_the_training_passes_it(
    tmp_path, odd_size, odd_count, named
):
    sizes, counts = [(64, 64)] * 7, [2] * 7
    sizes.insert(3, odd_size)
    counts.insert(3, odd_count)
    source, data = tmp_path / "source", tmp_path / "data"
    source.mkdir()
    write_coco(source, sizes, counts)
    convert(open_source(str(source)), str(data), val=0.0, seed=0)
    config = decode(config_text(), TrainEvalPipelineConfig).message

    plan = holdfast.plan(config, "8GiB", device="cpu", folder=data)
    assert any(re.fullmatch(named, text) for text in plan.assumptions), plan.assumptions

    # Every batch has all eight images.
    settings = TrainingSettings(steps=3)
    result = holdfast.train(config, tmp_path / "run", plan, settings=settings, folder=data)
    steps = [event for event in Run.open(result.run).read_events() if event.kind == "step"]
    assert len(steps) == 3
    assert all(np.isfinite(event.values["losses"]["Loss/total_loss"]) for event in steps)
    assert result.metrics  # evaluated on the same images
