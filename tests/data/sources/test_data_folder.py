from __future__ import annotations

import pytest

from holdfast.data.sources.data_folder import open_folder
from holdfast.data.sources.source_formats import ending


def yes(path):
    return True


@pytest.mark.parametrize(
    ("annotation", "image", "root", "found"),
    [
        ("set/all.json", "set/1.jpg", "set", "all.json"),
        ("set/all.json", "set/images/1.jpg", "set", "all.json"),
        ("set/annotations/all.json", "set/images/1.jpg", "set", "annotations/all.json"),
        ("set/data/all.json", "set/images/train/1.jpg", "set", "data/all.json"),
        ("set/data/all.json", "set/data/images/1.jpg", "set/data", "all.json"),
        ("set/all.json", "set/README", "set", "all.json"),
    ],
)
def test_the_images_of_a_single_file_lie_below_its_folder_or_beside_it(
    tmp_path, annotation, image, root, found
):
    for name in (annotation, image):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    folder = open_folder(str(tmp_path / annotation), ending(".json"), yes)
    assert folder.root == str(tmp_path / root)
    assert folder.annotations == [found]


def test_a_single_file_is_named_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "images").mkdir()
    (tmp_path / "images/1.jpg").write_text("")
    (tmp_path / "all.csv").write_text("")
    monkeypatch.chdir(tmp_path)
    folder = open_folder("all.csv", ending(".csv"), yes)
    assert (folder.root, folder.annotations) == (".", ["all.csv"])
    assert folder.images().paths == ["images/1.jpg"]


def test_the_annotations_of_a_folder_are_those_that_look_so(tmp_path):
    for name in ("a.json", "b.json", "c.txt"):
        (tmp_path / name).write_text("")
    folder = open_folder(str(tmp_path), ending(".json"), lambda path: path.endswith("b.json"))
    assert folder.annotations == ["b.json"]
    assert folder.paths == ["a.json", "b.json", "c.txt"]
