"""Text annotations with bytes changed at random: an error in words, or what is left of them."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.sources.open_source import open_source
from holdfast.errors import HoldfastError

from .pixel_boxes import write

FILES = {
    "csv": (
        "all.csv",
        b"filename,width,height,class,xmin,ymin,xmax,ymax\n" + b"1.jpg,8,4,a,1,2,3,4\n" * 3,
    ),
    "open_images": (
        "train.csv",
        b"ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsGroupOf\n"
        + b"1,x,/m/0k4j,1,0.1,0.2,0.3,0.4,0\n" * 3,
    ),
    "oidv4": ("Label/1.txt", b"Alarm clock 1.5 2 3 4\n" * 3),
    "dota": ("labelTxt/1.txt", b"imagesource:a\ngsd:0.1\n" + b"1 2 5 2 5 9 1 9 ship 0\n" * 3),
    "kitti": ("label_2/1.txt", b"Car 0 0 0 1 2 3 4 0 0 0 0 0 0 0\n" * 3),
    "wider_face": ("train.txt", b"1.jpg\n2\n1 2 3 4 0 0 0 0 0 0\n5 6 7 8 0 0 0 0 0 0\n"),
}
ODD = [
    b"\0",
    b"\xff",
    b'"',
    b",",
    b";",
    b"\n",
    b"\r",
    b"\t",
    b"nan",
    b"1e999",
    b"-",
    b"\xef\xbb\xbf",
    b"\xf0\x9f\xa6\x9d",
]


def damage(content, random):
    """Change, put in or take out a few bytes."""
    for _ in range(random.integers(1, 6)):
        place = int(random.integers(0, len(content) + 1))
        match random.integers(0, 3):
            case 0:
                content = content[:place] + ODD[random.integers(0, len(ODD))] + content[place:]
            case 1:
                content = content[:place] + content[place + int(random.integers(1, 20)) :]
            case _:
                content = content[:place] + bytes([random.integers(0, 256)]) + content[place + 1 :]
    return content


@pytest.mark.parametrize("form", FILES)
def test_damaged_files_give_errors_in_words_and_never_a_traceback(tmp_path, make_image, form):
    make_image(tmp_path / "1.jpg", 8, 4)
    name, content = FILES[form]
    random = np.random.default_rng(0)
    read = 0
    for _ in range(60):
        write(tmp_path, {name: damage(content, random)})
        try:
            source = open_source(str(tmp_path), format_name=form)
        except HoldfastError:
            continue
        for entry in source.entries:
            try:
                sample = entry.read().sample
            except HoldfastError:
                continue
            assert sample.boxes.shape == (len(sample.classes), 4)
            read += 1
    assert read > 10  # much of it is still worth something
