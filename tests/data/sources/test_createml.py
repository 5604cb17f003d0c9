from __future__ import annotations

import json

import pytest

from holdfast.data.sources.createml import open_createml
from holdfast.data.sources.open_source import open_source
from holdfast.errors import HoldfastError

from .reading import assert_same, problems, read_boxes


def box(label, x, y, width, height):
    coordinates = {"x": x, "y": y, "width": width, "height": height}
    return {"label": label, "coordinates": coordinates}


# As Roboflow exports it, a file in the folder of each split.
ROBOFLOW = [
    {
        "image": "a_jpg.rf.0123456789abcdef0123456789abcdef.jpg",
        "annotations": [box("red car", 20, 15.5, 10, 9), box("Größe", 40.25, 20, 8.5, 30)],
    },
    {"image": "b_jpg.rf.fedcba9876543210fedcba9876543210.jpg", "annotations": []},
]
# As Apple's documentation has it; numbers as text, a path of another machine, an image twice.
APPLE = [
    {"imagefilename": "cat and dog.png", "annotation": [box(" cat", "20.0", "11", "8", "6")]},
    {"imagefilename": "C:\\data\\fish.png", "annotation": [box("fish", 9, 9, 4, 0)]},
    {"imagefilename": "cat and dog.png", "annotation": [box("dog", 30, 20, 12, 8)]},
    {"imagefilename": "gone.png", "annotation": [box("dog", 30, 20, 12, 8)]},
]
# As RectLabel writes shares of the image, with more fields than anybody needs.
SHARES = [
    {
        "image": "cat and dog.png",
        "verified": True,
        "annotations": [{**box("dog", 0.5, 0.25, 0.2, 0.1), "id": 3}, box("cat", 0.1, 0.1, 0.2, 1)],
    },
    {"image": "fish.png", "verified": False, "annotations": []},
]


def parse(content, *, across=1.0, down=1.0):
    """Read all boxes: image -> class, left, top, right, bottom."""
    found = {}
    for image in content:
        name = (image.get("image") or image.get("imagefilename")).split("\\")[-1]
        boxes = found.setdefault(name, [])
        for item in image.get("annotations", image.get("annotation")):
            values = {key: float(value) for key, value in item["coordinates"].items()}
            half = values["width"] / 2, values["height"] / 2
            left, right = values["x"] - half[0], values["x"] + half[0]
            top, bottom = values["y"] - half[1], values["y"] + half[1]
            label = item["label"].strip()
            boxes.append((label, left * across, top * down, right * across, bottom * down))
    return found


@pytest.fixture
def folder(tmp_path, make_image):
    make_image(tmp_path / "cat and dog.png", 60, 40)
    make_image(tmp_path / "pond/fish.png", 60, 40)
    return tmp_path


def write(folder, content, name="boxes.json", encoding="utf-8"):
    (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding=encoding)
    return str(folder)


def test_roboflows_export_is_read_as_another_parser_reads_it(tmp_path, make_image):
    for split in ("train", "valid"):
        for item in ROBOFLOW:
            make_image(tmp_path / split / f"{split}_{item['image']}", 60, 40)
        content = [{**item, "image": f"{split}_{item['image']}"} for item in ROBOFLOW]
        write(tmp_path / split, content, "_annotations.createml.json")
    source = open_source(str(tmp_path))
    both = [
        {**item, "image": f"{split}_{item['image']}"}
        for split in ("train", "valid")
        for item in ROBOFLOW
    ]
    assert_same(read_boxes(source), parse(both))
    assert source.format == "createml"
    assert [item.name for item in source.label_map.item] == ["Größe", "red car"]
    assert [entry.split for entry in source.entries] == ["train", "train", "val", "val"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_apples_form_is_read_as_another_parser_reads_it(folder, encoding):
    source = open_source(write(folder, APPLE, encoding=encoding))
    expected = parse(APPLE)
    del expected["gone.png"]
    assert_same(read_boxes(source), expected)
    ((place, message),) = problems(source).items()
    assert place == "boxes.json, [3] (gone.png)"
    assert "not found" in message
    assert any("described more than once: 1" in note for note in source.notes)


def test_shares_of_the_image_are_read_as_another_parser_reads_them(folder):
    source = open_source(write(folder, SHARES))
    assert_same(read_boxes(source), parse(SHARES, across=60, down=40))
    assert any("taken as shares of the image" in note for note in source.notes)


def test_one_box_of_pixels_makes_all_of_them_pixels(folder):
    content = [*SHARES, {"image": "fish.png", "annotations": [box("fish", 30, 20, 10, 10)]}]
    source = open_createml(write(folder, content))
    assert_same(read_boxes(source), parse(content))


@pytest.mark.parametrize(
    ("annotations", "reason"),
    [
        ([{"coordinates": {}}], r"annotations[0] has no label"),
        ([box("a", 1, 1, 1, 1), 7], r"annotations[1] has no label"),
        ({}, "are not a list"),
    ],
)
def test_a_broken_image_is_the_only_one_lost(folder, annotations, reason):
    content = [
        {"image": "fish.png", "annotations": annotations or {"a": 1}},
        {"image": "cat and dog.png", "annotations": []},
    ]
    source = open_createml(write(folder, content))
    (message,) = problems(source).values()
    assert reason in message
    assert read_boxes(source) == {"cat and dog.png": []}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"image": "a.jpg", "annotations": [', r"boxes\.json is not valid JSON: .*line 1"),
        ('[{"image": "a", "annotations": []}, 5]', r"boxes\.json: \[1\] names no image"),
        ('[{"image": 5, "annotations": []}]', r"boxes\.json: \[0\] names no image"),
    ],
)
def test_files_that_cannot_be_read_are_named_with_the_place(tmp_path, text, reason):
    (tmp_path / "boxes.json").write_text(text)
    with pytest.raises(HoldfastError, match=reason):
        open_createml(str(tmp_path))
