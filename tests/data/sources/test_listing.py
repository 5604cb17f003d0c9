from __future__ import annotations

import math

import numpy as np
import pytest

from holdfast.data.sources.annotated_objects import Box
from holdfast.data.sources.image_files import Size
from holdfast.data.sources.listing import BadLine, ListedImage, Listing, Mark, build_source
from holdfast.data.sources.lookup import ImageFinder
from holdfast.errors import HoldfastError

DOG, CAT = Mark("dog", Box(2, 1, 4, 3)), Mark("cat", Box(0, 0, 20, 40))
BAD = Mark("dog", Box(math.nan, 1, 4, 3))


@pytest.fixture
def finder(tmp_path, make_image):
    for number in (1, 2, 3):
        make_image(tmp_path / f"{number}.jpg", 40, 20, seed=number)
    return ImageFinder(["1.jpg", "2.jpg", "3.jpg"], str(tmp_path))


def test_what_several_files_say_about_one_image_is_put_together(finder):
    images = [
        ListedImage("1.jpg", "a.csv", (DOG,), 2, split="test"),
        ListedImage("/x/1.jpg", "b.csv", (CAT, DOG), 7, Size(40, 20), split="train"),
    ]
    source = build_source("csv", "here", Listing(images), finder)
    (entry,) = source.entries
    assert entry.class_counts == {0: 1, 1: 1}
    assert (entry.split, entry.place, entry.source_id) == ("train", "a.csv, line 2", "1.jpg")
    assert len(entry.read().sample.boxes) == 2
    assert source.notes == (
        "1 repeated object left out: another line gives the same image, box and class.",
        "1 image in several splits, such as 1.jpg: the first of train, val, test counts.",
        "2 images not annotated and left out, such as 2.jpg.",
    )


def test_boxes_without_numbers_are_each_kept_to_be_counted(finder):
    images = [ListedImage("1.jpg", "a.csv", (BAD, BAD), 2)]
    (sample,) = build_source("csv", "here", Listing(images), finder)
    assert len(sample.boxes) == 2


def test_shares_of_the_image_and_pixels_give_the_same_boxes(finder):
    shares = Mark("dog", Box(0.1, 0.025, 0.2, 0.075))
    (one,) = build_source("a", "", Listing([ListedImage("1", "a.csv", (DOG,))]), finder)
    listing = Listing([ListedImage("1", "a.csv", (shares,))], relative=True)
    (two,) = build_source("a", "", listing, finder)
    np.testing.assert_allclose(one.boxes, two.boxes)


def test_areas_are_known_where_the_size_is(finder):
    images = [
        ListedImage("1", "a", (DOG,), size=Size(40, 20)),
        ListedImage("2", "b", (DOG,), size=None),
        ListedImage("3", "c", (DOG,), size=Size(0, 0)),
    ]
    entries = build_source("a", "", Listing(images), finder).entries
    assert [entry.box_areas for entry in entries] == [(4 / 800,), (), ()]
    relative = Listing([ListedImage("1", "a", (Mark("dog", Box(0, 0, 0.5, 0.5)),))], relative=True)
    assert build_source("a", "", relative, finder).entries[0].box_areas == (0.25,)


def test_a_line_without_an_image_fails_alone(finder):
    bad = BadLine("a.csv", 7, "It names no image.", "train")
    source = build_source("a", "", Listing([], [bad]), finder)
    (entry,) = source.entries
    assert (entry.place, entry.split) == ("a.csv, line 7", "train")
    with pytest.raises(HoldfastError, match="It names no image"):
        entry.read()
