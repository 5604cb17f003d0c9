from __future__ import annotations

import pytest

from holdfast.data.sources.lookup import ImageFinder
from holdfast.errors import HoldfastError


@pytest.mark.parametrize(
    ("paths", "name", "annotation", "found"),
    [
        (["images/1.jpg"], "1.jpg", "labels/1.xml", "images/1.jpg"),
        (["images/1.png"], "1.jpg", "1.xml", "images/1.png"),
        (["JPEGImages/1.jpg", "masks/1.png"], "1.jpg", "Annotations/1.xml", "JPEGImages/1.jpg"),
        (["a/1.jpg", "b/1.jpg"], "b/1.jpg", "all.json", "b/1.jpg"),
        (["a/1.jpg", "b/1.jpg"], "C:\\me\\b\\1.jpg", "all.json", "b/1.jpg"),
        (["train/1.jpg", "val/1.jpg"], "1.jpg", "annotations/val.json", "val/1.jpg"),
        (["images/a/1.jpg", "images/b/1.jpg"], "1.jpg", "labels/b/1.xml", "images/b/1.jpg"),
        (["x/1.jpg", "x/old/1.jpg"], "1.jpg", "x/old/1.json", "x/old/1.jpg"),
        (["a.b.jpg"], "a.b", "a.b.xml", "a.b.jpg"),
        (["IMG_1.JPG"], "img_1.jpg", "all.csv", "IMG_1.JPG"),
        (["Img.jpg", "img.jpg"], "img.jpg", "all.csv", "img.jpg"),
        (["a/my cat.jpg"], "my%20cat.jpg", "all.json", "a/my cat.jpg"),
        (["my%20cat.jpg", "my cat.jpg"], "my%20cat.jpg", "all.json", "my%20cat.jpg"),
        (["cafe\u0301.jpg"], "caf\u00e9.jpg", "all.csv", "cafe\u0301.jpg"),
    ],
)
def test_the_image_an_annotation_means_is_found(paths, name, annotation, found):
    assert ImageFinder(paths).find(name, annotation) == found


def test_a_missing_image_is_named():
    with pytest.raises(HoldfastError, match=r"'2\.jpg' was not found"):
        ImageFinder(["1.jpg", "2.txt"]).find("2.jpg", "all.json")


def test_an_image_of_a_kind_that_is_not_read_is_not_called_missing():
    with pytest.raises(HoldfastError, match=r"'IMG_1\.HEIC' is a HEIC file, which is not read"):
        ImageFinder(["x/IMG_1.HEIC"]).find("IMG_1.HEIC", "all.json")
    converted = ImageFinder(["x/IMG_1.HEIC", "y/IMG_1.jpg"]).find("IMG_1.HEIC", "all.json")
    assert converted == "y/IMG_1.jpg"


def test_images_that_cannot_be_told_apart_are_not_guessed():
    with pytest.raises(HoldfastError, match=r"could be a/1\.jpg or b/1\.jpg"):
        ImageFinder(["a/1.jpg", "b/1.jpg"]).find("1.jpg", "all.json")
