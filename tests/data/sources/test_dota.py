from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.sources.dota import open_dota, parse_object
from holdfast.data.sources.open_source import find_format, open_source
from holdfast.errors import HoldfastError

from .pixel_boxes import pixel_boxes, write

HEADER = "imagesource:GoogleEarth\ngsd:0.146343590398\n"
LAYOUTS = {
    "version 1.0": {
        "train/labelTxt/P0001.txt": HEADER
        + "10.0 5.0 30.0 9.0 28.0 20.0 8.0 16.0 large-vehicle 0\n"
        + "1.0 2.0 5.0 2.0 5.0 9.0 1.0 9.0 plane 1\n",
        "val/labelTxt/P0002.txt": HEADER + "3 4 9 1 12 6 6 9 ship 0\n",
    },
    "with CRLF, BOM and a null": {
        "labelTxt-v1.5/trainset/P0001.txt": "\ufeffimagesource:null\r\ngsd:null\r\n"
        "20 5 40 5 40 30 20 30 storage-tank 2\r\n\r\n",
        "labelTxt-v1.5/trainset/P0002.txt": "imagesource:GF\r\ngsd:null\r\n",
    },
    "without header and without difficulty": {
        "labels/P0001.txt": "3.5 4.25 9 1 12 6 6 9 ground-track-field\n",
        "labels/P0002.txt": "",
    },
    "with commas and names with blanks": {
        "labelTxt/P0001.txt": "3, 4, 9, 1, 12, 6, 6, 9, soccer ball field, 1\n",
        "labelTxt/P0002.txt": "'imagesource':GoogleEarth\n'gsd':0.1\n1 2 5 2 5 9 1 9 ship 0\n",
    },
}


def oracle(texts):
    """Take every other number as x, and the smallest and largest of each."""
    found = {}
    for path, text in texts.items():
        rows = found.setdefault(f"{path.split('/')[-1][:-4]}.png", [])
        for line in text.replace(",", " ").splitlines():
            words = line.split()
            if len(words) > 8:
                xs, ys = [float(x) for x in words[0:8:2]], [float(y) for y in words[1:8:2]]
                label = " ".join(word for word in words[8:] if not word.isdigit())
                rows.append((label, min(xs), min(ys), max(xs), max(ys)))
    return {name: sorted(rows) for name, rows in found.items()}


@pytest.fixture
def folder(tmp_path, make_image):
    make_image(tmp_path / "images/P0001.png", 80, 40)
    make_image(tmp_path / "images/P0002.png", 80, 40, seed=1)
    return tmp_path


@pytest.mark.parametrize("name", LAYOUTS)
def test_rotated_boxes_become_the_upright_boxes_around_them(folder, name):
    write(folder, LAYOUTS[name])
    assert find_format(str(folder)) == "dota"
    source = open_source(str(folder))
    assert pixel_boxes(source) == oracle(LAYOUTS[name])
    assert any("rotated" in note for note in source.notes) == ("null" not in name)


def test_the_number_of_rotated_boxes_and_the_difficult_ones_are_told(folder):
    write(folder, LAYOUTS["version 1.0"])
    source = open_dota(str(folder))
    assert source.notes[0] == "2 rotated boxes of 3: upright boxes around them are used instead."
    assert source.entries[0].read().sample.difficult.tolist() == [False, True]
    assert [entry.split for entry in source.entries] == ["train", "val"]


def test_two_versions_of_the_labels_are_not_mixed(folder):
    write(folder, {"labelTxt-v1.0/P0001.txt": HEADER, "labelTxt-v1.5/P0001.txt": HEADER})
    with pytest.raises(HoldfastError, match=r"both annotate the image .*P0001\.png"):
        open_source(str(folder))
    source = open_source(str(folder / "labelTxt-v1.5"), images=str(folder / "images"))
    assert pixel_boxes(source) == {"P0001.png": []}


def test_a_bad_line_is_left_out_counted_and_named(folder):
    lines = "1 2 5 2 5 9 1 9 ship 0\n1 2 5 2 x 9 1 9 ship 0\n1 2 5 2 5 9 1 9\n"
    write(folder, {"labelTxt/P0001.txt": HEADER + lines})
    source = open_source(str(folder))
    (sample,) = source
    assert np.isnan(sample.boxes).any(axis=1).tolist() == [False, True, True]
    assert source.notes[0].startswith(
        "2 lines left out that cannot be read, such as labelTxt/P0001.txt, "
    )
    assert "line 4 ('1 2 5 2 x 9 1 9 ship 0')" in source.notes[0]


def test_polygons_of_yolo_are_not_dota(folder):
    write(folder, {"labels/P0001.txt": "0 0.1 0.1 0.2 0.1 0.2 0.2 0.1 0.2\n"})
    assert find_format(str(folder)) == "yolo"


def test_numbers_without_a_class_are_refused():
    with pytest.raises(ValueError, match="no class"):
        parse_object("1 2 3 4 5 6 7 8")
