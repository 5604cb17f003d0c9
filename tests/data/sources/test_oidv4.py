from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.sources.oidv4 import is_oidv4, open_oidv4
from holdfast.data.sources.open_source import find_format, open_source
from holdfast.errors import HoldfastError

from .pixel_boxes import pixel_boxes, write

LAYOUTS = {
    "one class": {
        "train/Apple/Label/0a.txt": "Apple 1.5 2.25 30 40\nApple 5 6 7 8.125\n",
        "validation/Apple/Label/0b.txt": "Apple 1 2 3 4\n",
    },
    "names with blanks": {
        "train/Human face/Label/0a.txt": "Human face 27.5 21.4 44.0 35.25\r\n\r\n",
        "test/Alarm clock/Label/0b.txt": "\ufeffAlarm clock 1 2 3 4",
    },
    "several classes in one folder": {
        "Dataset/train/Apple_Orange/Label/0a.txt": "Apple 1 2 3 4\nOrange 5 6 7 8\n",
        "Dataset/train/Apple_Orange/Label/0b.txt": "Orange   141.44 149.02449 636.16 684.36021\n",
    },
    "of OIDv6, with an empty file": {
        "multidata/train/labels/0a.txt": "apple 1 2 3 4\n",
        "multidata/train/labels/0b.txt": "",
    },
    "as ground truth for scoring scripts": {
        "ground-truth/0a.txt": "tvmonitor 2 10 173 238\nbook 1 2 3 4 difficult\n",
        "ground-truth/0b.txt": "book 1 2 3 4\n",
    },
}


def oracle(texts):
    """Read from the end of each line: four numbers, and the name is what is left of it."""
    found = {}
    for path, text in texts.items():
        rows = found.setdefault(f"{path.split('/')[-1][:-4]}.jpg", [])
        for line in text.lstrip("\ufeff").replace("difficult", "").splitlines():
            if line.strip():
                name, *sides = line.strip().rsplit(None, 4)
                rows.append((name, *(round(float(side), 3) for side in sides)))
    return {name: sorted(rows) for name, rows in found.items()}


def make_images(folder, texts, make_image):
    for seed, path in enumerate(texts):
        image = path.replace("Label/", "").replace("labels/", "").replace(".txt", ".jpg")
        make_image(folder / image, 80, 40, seed=seed)


@pytest.mark.parametrize("name", LAYOUTS)
def test_lines_give_the_boxes_that_are_written_in_them(tmp_path, make_image, name):
    make_images(tmp_path, LAYOUTS[name], make_image)
    write(tmp_path, LAYOUTS[name])
    assert find_format(str(tmp_path)) == "oidv4"
    assert pixel_boxes(open_source(str(tmp_path))) == oracle(LAYOUTS[name])


def test_folders_are_the_splits(tmp_path, make_image):
    make_images(tmp_path, LAYOUTS["one class"], make_image)
    write(tmp_path, LAYOUTS["one class"])
    entries = open_oidv4(str(tmp_path)).entries
    assert {entry.source_id: entry.split for entry in entries} == {
        "0a.jpg": "train",
        "0b.jpg": "val",
    }


def test_copies_of_an_image_in_the_folders_of_two_classes_are_one_image(tmp_path, make_image):
    """Else each copy would teach that the objects of the other class are background."""
    for label in ("Apple", "Orange"):
        make_image(tmp_path / f"train/{label}/0a.jpg", 80, 40, seed=1)
        write(tmp_path, {f"train/{label}/Label/0a.txt": f"{label} 1 2 3 4\n"})
    source = open_source(str(tmp_path))
    expected = [("Apple", 1, 2, 3, 4), ("Orange", 1, 2, 3, 4)]
    assert pixel_boxes(source) == {"0a.jpg": expected}
    assert source.notes == (
        "1 copy of images in folders of other classes: their boxes are joined.",
    )


def test_other_images_of_the_same_name_stay_apart(tmp_path, make_image):
    for seed, label in enumerate(("Apple", "Orange")):
        make_image(tmp_path / f"train/{label}/1.jpg", 80, 40, seed=seed)
        write(tmp_path, {f"train/{label}/Label/1.txt": f"{label} 1 2 3 4\n"})
    assert pixel_boxes(open_source(str(tmp_path))) == {
        f"train/{label}/1.jpg": [(label, 1, 2, 3, 4)] for label in ("Apple", "Orange")
    }


def test_a_bad_line_is_left_out_counted_and_named(tmp_path, make_image):
    make_image(tmp_path / "train/Apple/0a.jpg", 80, 40)
    write(tmp_path, {"train/Apple/Label/0a.txt": "Apple 1 2 3 4\nApple 1 2 three 4\n"})
    source = open_source(str(tmp_path))
    (sample,) = source
    assert np.isnan(sample.boxes).any(axis=1).tolist() == [False, True]
    expected = "1 line left out that cannot be read, such as train/Apple/Label/0a.txt, line 2"
    assert source.notes[0].startswith(expected)


def test_yolo_with_names_instead_of_numbers_is_not_taken_for_pixels(tmp_path, make_image):
    make_image(tmp_path / "1.jpg", 80, 40)
    write(tmp_path, {"1.txt": "dog 0.5 0.5 0.25 0.25\n"})
    with pytest.raises(HoldfastError, match=r"1\.txt: coordinates are all within 0\.\.1"):
        open_source(str(tmp_path))


@pytest.mark.parametrize(
    "line",
    [
        "Car 0.00 0 -1.57 599.41 156.40 629.75 189.25 2.85 2.63 12.34 0.47 1.49 69 -1.5",  # KITTI
        "0 0.5 0.5 0.1 0.1",  # YOLO
        "1 2 3 4",
        "Apple 1 2 3",
        "",
    ],
)
def test_lines_of_other_formats_are_not_taken_for_its_own(tmp_path, line):
    write(tmp_path, {"a.txt": line, "b.txt": "Apple 1 2 3 4"})
    assert not is_oidv4(str(tmp_path / "a.txt"))
    assert is_oidv4(str(tmp_path / "b.txt"))
