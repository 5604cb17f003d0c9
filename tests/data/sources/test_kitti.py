from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.sources.open_source import find_format, open_source

from .pixel_boxes import pixel_boxes, write

REST = "2.85 2.63 12.34 0.47 1.49 69.44 -1.56"
LAYOUTS = {
    "as downloaded": {
        "training/label_2/000000.txt": f"Car 0.00 0 -1.57 10.0 5.0 30.5 20.25 {REST}\n"
        f"DontCare -1 -1 -10 1 2 3 4 -1 -1 -1 -1000 -1000 -1000 -10\n",
        "training/label_2/000001.txt": f"Person_sitting 0.88 3 -0.69 0 19.8 40.2 37.4 {REST}\n",
    },
    "with scores, CRLF and blank lines": {
        "labels/000000.txt": f"Car 0 0 0 1 2 3 4 {REST} 0.98\r\n\r\n"
        f"Van 0 0 0 5 6 7 8 {REST} 0.5\r\n",
        "labels/000001.txt": "",
    },
    "of DetectNet, names with blanks": {
        "train/labels/000000.txt": "traffic light 0.0 0 0.0 1 2 3 4 0 0 0 0 0 0 0\n",
        "val/labels/000001.txt": "\ufeffcar 0 0 0 5 6 7 8 0 0 0 0 0 0 0",
    },
}


def oracle(texts):
    """Count from the first number of each line."""
    found = {}
    for path, text in texts.items():
        rows = found.setdefault(f"{path.split('/')[-1][:-4]}.png", [])
        for line in text.lstrip("\ufeff").splitlines():
            words = line.split()
            if words and words[0] != "DontCare":
                first = 2 if words[0] == "traffic" else 1
                sides = words[first + 3 : first + 7]
                rows.append((" ".join(words[:first]), *(round(float(one), 3) for one in sides)))
    return {name: sorted(rows) for name, rows in found.items()}


@pytest.fixture
def folder(tmp_path, make_image):
    for number in (0, 1):
        make_image(tmp_path / f"training/image_2/00000{number}.png", 80, 40, seed=number)
    return tmp_path


@pytest.mark.parametrize("name", LAYOUTS)
def test_boxes_are_those_of_the_lines(folder, name):
    write(folder, LAYOUTS[name])
    assert find_format(str(folder)) == "kitti"
    assert pixel_boxes(open_source(str(folder))) == oracle(LAYOUTS[name])


def test_regions_that_nobody_labeled_are_left_out_and_counted(folder):
    write(folder, LAYOUTS["as downloaded"])
    source = open_source(str(folder))
    assert source.notes == ("1 region of DontCare left out.",)
    assert [item.name for item in source.label_map.item] == ["Car", "Person_sitting"]
    assert [sample.truncated.tolist() for sample in source] == [[False], [True]]


def test_a_bad_line_is_left_out_counted_and_named(folder):
    lines = f"Car 0 0 0 1 2 3 4 {REST}\nCar 0 0 0 1 2 3\n"
    write(folder, {"training/label_2/000000.txt": lines})
    source = open_source(str(folder))
    (sample,) = source
    assert np.isnan(sample.boxes).any(axis=1).tolist() == [False, True]
    assert "1 line left out" in source.notes[0]
    assert "training/label_2/000000.txt, line 2 ('Car 0 0 0 1 2 3')" in source.notes[0]
