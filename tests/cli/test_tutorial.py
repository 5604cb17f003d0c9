"""The OD API tutorial's CSV of raccoons, from the first look to the first steps of a training."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

from .commands import holdfast

COLUMNS = ("filename", "width", "height", "class", "xmin", "ymin", "xmax", "ymax")
SMALLER = 4  # images and boxes are divided by it: reading them takes most of the time


@pytest.fixture(scope="module")
def raccoons(shared, tmp_path_factory) -> Path:
    """The folder as the tutorial leaves it: images, and the table that xml_to_csv.py makes."""
    folder = tmp_path_factory.mktemp("raccoons")
    (folder / "images").mkdir()
    rows = []
    for path in sorted((shared / "datasets/raccoon/annotations").glob("*.xml")):
        root = ElementTree.parse(path).getroot()
        name = root.findtext("filename")
        with Image.open(shared / "datasets/raccoon/images" / name) as image:
            small = image.convert("RGB").reduce(SMALLER)
        small.save(folder / "images" / name)
        for item in root.findall("object"):
            corners = [int(item.findtext(f"bndbox/{name}")) // SMALLER for name in COLUMNS[4:]]
            rows.append([name, *small.size, item.findtext("name"), *corners])
    with (folder / "raccoon_labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    return folder


def document(*arguments: object) -> dict[str, Any]:
    finished = holdfast(*arguments, "--json")
    assert finished.code == 0, finished.err
    return json.loads(finished.out)


def test_one_command_makes_the_config_and_the_others_take_it(raccoons, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = document("new", "ssd_mobilenet_v2", "--data", raccoons)
    splits = made["splits"]
    assert made["format"] == "csv"
    assert {name: split["images"] for name, split in splits.items()} == {"train": 160, "val": 40}
    assert sum(split["boxes"] for split in splits.values()) == 217
    config = made["config"]
    assert document("check", config)["ok"]
    seen = document("inspect", config)
    assert (seen["images"], seen["boxes"]) == (200, 217)
    assert Path(seen["sheet"]).exists()
    trained = document("train", config, "--run", "run", "--steps", 2, *smaller())
    assert trained["steps"] == 2
    assert "DetectionBoxes_Precision/mAP" in trained["metrics"]


def smaller() -> list[str]:
    """Train on small inputs: that the commands fit together is what is to be seen."""
    resizer = "model.ssd.image_resizer.fixed_shape_resizer"
    sizes = {f"{resizer}.height": 96, f"{resizer}.width": 96, "train_config.batch_size": 2}
    return [part for path, value in sizes.items() for part in ("--set", f"{path}={value}")]
