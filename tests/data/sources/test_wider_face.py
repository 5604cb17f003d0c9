from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.sources.open_source import find_format, open_source

from .pixel_boxes import pixel_boxes, write

TRAIN = """\
0--Parade/0_Parade_1.jpg
2
10 5 20 10 0 0 0 0 0 0
1 2 3 4 1 0 0 1 0 0
0--Parade/0_Parade_2.jpg
0
0 0 0 0 0 0 0 0 0 0
"""
VAL = "61--Street_Battle/61_Street_3.jpg\n1\n7 8 9 10 0 0 0 0 2 0\n"
LISTS = {
    "as downloaded": {
        "wider_face_split/wider_face_train_bbx_gt.txt": TRAIN,
        "wider_face_split/wider_face_val_bbx_gt.txt": VAL,
        "wider_face_split/readme.txt": "Attached the mappings between attribute names",
    },
    "with CRLF, BOM and blank lines": {
        "train.txt": "\ufeff" + TRAIN.replace("\n", "\r\n\r\n"),
        "val.txt": VAL,
    },
    "boxes alone, in other folders": {
        "train.txt": "\n".join(
            " ".join(line.split()[:4]) for line in TRAIN.replace("0--Parade/", "").splitlines()
        ),
        "val.txt": VAL,
    },
}
IMAGES = (
    "WIDER_train/images/0--Parade/0_Parade_1.jpg",
    "WIDER_train/images/0--Parade/0_Parade_2.jpg",
    "WIDER_val/images/61--Street_Battle/61_Street_3.jpg",
)
# Worked out by hand: width and height are added to the corner.
EXPECTED = {
    "0_Parade_1.jpg": [("face", 1, 2, 4, 6), ("face", 10, 5, 30, 15)],
    "0_Parade_2.jpg": [],
    "61_Street_3.jpg": [("face", 7, 8, 16, 18)],
}


@pytest.fixture
def folder(tmp_path, make_image):
    for seed, name in enumerate(IMAGES):
        make_image(tmp_path / name, 80, 40, seed=seed)
    return tmp_path


@pytest.mark.parametrize("name", LISTS)
def test_faces_are_those_of_the_lists(folder, name):
    write(folder, LISTS[name])
    assert find_format(str(folder)) == "wider_face"
    source = open_source(str(folder))
    assert pixel_boxes(source) == EXPECTED
    assert [entry.split for entry in source.entries] == ["train", "train", "val"]


def test_invalid_faces_are_difficult(folder):
    write(folder, LISTS["as downloaded"])
    assert next(iter(open_source(str(folder)))).difficult.tolist() == [False, True]


def test_a_bad_line_is_left_out_counted_and_named(folder):
    write(folder, {"train.txt": TRAIN.replace("1 2 3 4 1", "1 2 x 4 1")})
    source = open_source(str(folder))
    assert np.isnan(source.entries[0].read().sample.boxes).any(axis=1).tolist() == [False, True]
    assert "1 line left out" in source.notes[0]
    assert "train.txt, line 4 ('1 2 x 4 1 0 0 1 0 0')" in source.notes[0]
