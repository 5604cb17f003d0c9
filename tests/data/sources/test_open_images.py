from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from holdfast.data.sources.open_images import open_open_images
from holdfast.data.sources.open_source import find_format, open_source
from holdfast.errors import HoldfastError

from .pixel_boxes import pixel_boxes, write

HEADER = (
    "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,"
    "IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside"
)
ROWS = """\
000026e7ee790996,xclick,/m/07j7r,1,0.071875,0.1453125,0.20625,0.39166668,0,1,1,0,0
000026e7ee790996,xclick,/m/0k4j,1,0.4390625,0.571875,0.26458332,0.43541667,0,0,0,0,0
000062a39995e348,xclick,/m/015p6,1,0.20620842,0.849224,0.15463917,1,0,-1,-1,0,0
"""
# The columns of the training set since version 6.
LONG_HEADER = HEADER + ",XClick1X,XClick2X,XClick3X,XClick4X,XClick1Y,XClick2Y,XClick3Y,XClick4Y"
LONG_ROWS = "".join(f"{row},0.1,0.2,0.3,0.4,0.1,0.2,0.3,0.4\n" for row in ROWS.splitlines())
CLASSES = "/m/07j7r,Tree\n/m/0k4j,Car\n/m/015p6,Bird\n/m/01g317,Person\n"
IDS = ("000026e7ee790996", "000062a39995e348")


@pytest.fixture
def folder(tmp_path, make_image):
    for name in IDS:
        make_image(tmp_path / f"images/{name}.jpg", 80, 40)
    return tmp_path


def oracle(text, classes):
    """Read by the places of the columns, with nothing but split; boxes in pixels of 80 x 40."""
    names = dict(line.split(",") for line in classes.splitlines())
    found = {}
    for line in text.splitlines():
        cells = line.split(",")
        if cells[0] in IDS:
            left, right, top, bottom = map(float, cells[4:8])
            box = (left * 80, top * 40, right * 80, bottom * 40)
            label = names.get(cells[2], cells[2])
            rows = found.setdefault(f"{cells[0]}.jpg", [])
            rows.append((label, *(round(value, 3) for value in box)))
    return {name: sorted(rows) for name, rows in found.items()}


def rounded(boxes):
    return {
        name: [(label, *(round(value, 2) for value in box)) for label, *box in rows]
        for name, rows in boxes.items()
    }


LAYOUTS = {
    "as downloaded": {
        "train-annotations-bbox.csv": f"{HEADER}\n{ROWS}",
        "class-descriptions-boxable.csv": CLASSES,
    },
    "of version 7": {
        "csv/oidv6-train-annotations-bbox.csv": f"{LONG_HEADER}\n{LONG_ROWS}",
        "csv/oidv7-class-descriptions-boxable.csv": f"LabelName,DisplayName\n{CLASSES}",
    },
    "of FiftyOne": {
        "train/labels/detections.csv": f"{HEADER}\n{ROWS}",
        "train/metadata/classes.csv": CLASSES,
        "train/metadata/image_ids.csv": "ImageID,Subset\n000026e7ee790996,train\n",
    },
    "with quotes, in another order": {
        "train.csv": "LabelName,ImageID,YMin,XMin,YMax,XMax\n"
        + "".join(
            f'{c[2]},"{c[0]}",{c[6]},{c[4]},{c[7]},{c[5]}\n'
            for c in (row.split(",") for row in ROWS.splitlines())
        ),
        "classes.csv": CLASSES,
    },
    "with BOM and CRLF": {
        "annotations/train-annotations-bbox.csv": "\ufeff"
        + f"{HEADER}\n{ROWS}".replace("\n", "\r\n"),
        "annotations/class-descriptions.csv": CLASSES,
    },
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_boxes_are_those_of_the_file_by_the_names_of_the_classes(folder, name):
    write(folder, LAYOUTS[name])
    assert find_format(str(folder)) == "open_images"
    source = open_source(str(folder))
    rows = LONG_ROWS if "7" in name else ROWS
    assert rounded(pixel_boxes(source)) == rounded(oracle(rows, CLASSES))
    assert [item.name for item in source.label_map.item] == ["Bird", "Car", "Tree"]
    assert {entry.split for entry in source.entries} == {"train"}
    assert source.notes == ()


def test_groups_and_truncated_objects_are_marked(folder):
    write(folder, LAYOUTS["as downloaded"])
    first, second = open_open_images(str(folder))
    assert first.group_of.tolist() == first.truncated.tolist() == [True, False]
    assert second.group_of.tolist() == second.truncated.tolist() == [False]  # -1 is unknown


def test_files_of_splits_are_the_splits(folder):
    train, val = ROWS.splitlines()[:2], ROWS.splitlines()[2:]
    write(folder, {"train-annotations-bbox.csv": "\n".join([HEADER, *train])})
    write(folder, {"validation-annotations-bbox.csv": "\n".join([HEADER, *val])})
    source = open_source(str(folder))
    assert Counter(entry.split for entry in source.entries) == {"train": 1, "val": 1}


def test_images_that_are_not_there_are_counted_and_no_matter(folder):
    other = ROWS.replace("000026e7ee790996", "0123456789abcdef")
    write(folder, {"train.csv": f"{HEADER}\n{ROWS}{other}", "classes.csv": CLASSES})
    source = open_source(str(folder))
    assert set(pixel_boxes(source)) == {f"{name}.jpg" for name in IDS}
    assert "Not there: 1 image" in source.notes[0]


def test_classes_without_a_name_are_called_by_their_id(folder):
    write(folder, {"train.csv": f"{HEADER}\n{ROWS}"})
    source = open_source(str(folder))
    assert [item.name for item in source.label_map.item] == ["/m/015p6", "/m/07j7r", "/m/0k4j"]
    assert "3 classes named by id" in source.notes[0]


def test_a_bad_row_is_left_out_counted_and_named(folder):
    rows = f"{IDS[0]},xclick,/m/0k4j,1,a,0.2,0.3,0.4,0,0,0,0,0\n,xclick,/m/0k4j,1,0,1,0,1\n"
    write(folder, {"train.csv": f"{HEADER}\n{ROWS}{rows}", "classes.csv": CLASSES})
    source = open_open_images(str(folder))
    assert (
        "train.csv: 1 row left out, a coordinate is not a number, as in line 5" in source.notes[0]
    )
    assert np.isnan(source.entries[0].read().sample.boxes[2, 1])
    assert source.entries[-1].place == "train.csv, line 6"
    with pytest.raises(HoldfastError, match="names no image"):
        source.entries[-1].read()


def test_annotations_of_no_image_that_is_there_are_told(tmp_path, make_image):
    make_image(tmp_path / "1.jpg", 80, 40)
    write(tmp_path, {"train.csv": f"{HEADER}\n{ROWS}"})
    with pytest.raises(HoldfastError, match=r"none of an image that is there[\s\S]*--images"):
        open_source(str(tmp_path))
