"""Data sets of ten images, each with a cat of 20 x 30 pixels; every other one has a dog too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

from ...data.example_records import png, record, write

LABEL_MAP = 'item { id: 1 name: "cat" } item { id: 2 name: "dog" }'
SIZE = 64


def picture(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (SIZE, SIZE, 3), np.uint8)
    Image.fromarray(pixels).save(path)


def objects(index: int) -> dict[str, tuple[int, int, int, int]]:
    """Boxes of an image by class: left, top, right, bottom."""
    cat = {"cat": (5, 5, 25, 35)}
    return cat | ({"dog": (30, 30, 60, 60)} if index % 2 else {})


def voc(folder: Path, box: tuple[int, int, int, int] | None = None) -> None:
    for index in range(10):
        picture(folder / f"{index}.jpg", index)
        found = ""
        for name, (left, top, right, bottom) in objects(index).items():
            if box:
                left, top, right, bottom = box
            corners = f"<xmin>{left}</xmin><ymin>{top}</ymin><xmax>{right}</xmax><ymax>{bottom}"
            found += f"<object><name>{name}</name><bndbox>{corners}</ymax></bndbox></object>"
        size = f"<size><width>{SIZE}</width><height>{SIZE}</height><depth>3</depth></size>"
        text = f"<annotation><filename>{index}.jpg</filename>{size}{found}</annotation>"
        (folder / f"{index}.xml").write_text(text)


def coco(folder: Path) -> None:
    annotations = []
    for index in range(10):
        picture(folder / f"{index}.jpg", index)
        for name, (left, top, right, bottom) in objects(index).items():
            box = [left, top, right - left, bottom - top]
            number = ("cat", "dog").index(name) + 1
            annotations.append(
                {"id": len(annotations), "image_id": index, "category_id": number, "bbox": box}
            )
    images = [
        {"id": index, "file_name": f"{index}.jpg", "width": SIZE, "height": SIZE}
        for index in range(10)
    ]
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    document = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(document))


def yolo(folder: Path, splits: tuple[str, ...] = ("",)) -> None:
    for index in range(10):
        split = splits[index % len(splits)]
        picture(folder / split / "images" / f"{index}.jpg", index)
        lines = []
        for name, box in objects(index).items():
            left, top, right, bottom = (side / SIZE for side in box)
            center = ((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)
            lines.append(f"{('cat', 'dog').index(name)} {' '.join(map(str, center))}")
        labels = folder / split / "labels" / f"{index}.txt"
        labels.parent.mkdir(parents=True, exist_ok=True)
        labels.write_text("\n".join(lines))
    (folder / "data.yaml").write_text("names: [cat, dog]\n")


def labelme(folder: Path) -> None:
    for index in range(10):
        picture(folder / f"{index}.jpg", index)
        shapes = [
            {"label": name, "shape_type": "rectangle", "points": [box[:2], box[2:]]}
            for name, box in objects(index).items()
        ]
        document = {"shapes": shapes, "imagePath": f"{index}.jpg", "imageData": None}
        document |= {"imageHeight": SIZE, "imageWidth": SIZE}
        (folder / f"{index}.json").write_text(json.dumps(document))


def records(folder: Path, *names: str) -> None:
    """Two records a file, and a label map."""
    for number, name in enumerate(names):
        examples = [
            record(
                labels=[1 + index], source_id=f"{name}{index}", image=png(seed=2 * number + index)
            )
            for index in range(2)
        ]
        write(folder / name, examples)
    (folder / "map.pbtxt").write_text(LABEL_MAP)
