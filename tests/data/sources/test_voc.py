from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from holdfast.data.sources import image_files as images
from holdfast.data.sources.voc import open_voc
from holdfast.errors import HoldfastError


def thing(name, box, extra=""):
    corners = zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True)
    bounds = "".join(f"<{corner}>{value}</{corner}>" for corner, value in corners)
    return f"<object><name>{name}</name>{extra}<bndbox>{bounds}</bndbox></object>"


def write(path, *objects, filename=None, size="<width>40</width><height>20</height>"):
    path.parent.mkdir(parents=True, exist_ok=True)
    named = f"<filename>{filename}</filename>" if filename is not None else ""
    sized = f"<size>{size}</size>" if size else ""
    path.write_text(f"<annotation>{named}{sized}{''.join(objects)}</annotation>")


@pytest.fixture
def folder(tmp_path, make_image):
    for number in range(1, 5):
        make_image(tmp_path / f"JPEGImages/{number}.jpg", 40, 20, seed=number)
    return tmp_path


def test_boxes_and_flags_are_those_of_the_file(folder):
    write(
        folder / "Annotations/1.xml",
        thing("dog", (4, 5, 14, 13), "<difficult>1</difficult><truncated>0</truncated>"),
        thing("cat", (0, 1.5, 41, 20), "<truncated>1</truncated>"),
        filename="1.jpg",
    )
    source = open_voc(str(folder))
    (sample,) = source
    assert [(item.id, item.name) for item in source.label_map.item] == [(1, "cat"), (2, "dog")]
    expected = [[5 / 20, 4 / 40, 13 / 20, 14 / 40], [1.5 / 20, 0, 1, 41 / 40]]
    np.testing.assert_array_equal(sample.boxes, np.array(expected, np.float32))
    assert sample.classes.tolist() == [1, 0]
    assert sample.difficult.tolist() == [True, False]
    assert sample.truncated.tolist() == [False, True]
    assert sample.source_id == "1.jpg"
    assert sample.image == (folder / "JPEGImages/1.jpg").read_bytes()
    assert source.entries[0].place == "Annotations/1.xml"


def test_parts_of_objects_are_not_objects(folder):
    head = "<part><name>head</name><bndbox><xmin>1</xmin></bndbox></part>"
    write(folder / "Annotations/1.xml", thing("dog", (1, 2, 3, 4), head))
    source = open_voc(str(folder))
    assert [item.name for item in source.label_map.item] == ["dog"]


def test_lists_of_image_sets_are_the_splits(folder):
    for number in range(1, 5):
        write(folder / f"Annotations/{number}.xml", thing("dog", (1, 2, 3, 4)))
    lists = {"train": "1\n5\n", "val": "2.jpg\n1\n", "test": "3  1\n", "dog_train": "4 1\n"}
    for name, text in lists.items():
        (folder / "ImageSets/Main").mkdir(parents=True, exist_ok=True)
        (folder / f"ImageSets/Main/{name}.txt").write_text(text)
    source = open_voc(str(folder))
    splits = [(entry.source_id, entry.split) for entry in source.entries]
    expected = [("1.jpg", "train"), ("2.jpg", "val"), ("3.jpg", "test"), ("4.jpg", None)]
    assert splits == [*expected, ("5", "train")]
    assert "In several lists" in source.notes[0]
    with pytest.raises(HoldfastError, match=r"no 5\.xml"):
        source.entries[-1].read()


def test_trainval_is_train_where_there_is_no_train_list(folder):
    write(folder / "Annotations/1.xml")
    (folder / "ImageSets/Main").mkdir(parents=True)
    (folder / "ImageSets/Main/trainval.txt").write_text("1\n")
    assert open_voc(str(folder)).entries[0].split == "train"


def test_each_year_has_its_own_lists(tmp_path, make_image):
    for year, split in (("VOC2007", "train"), ("VOC2012", "val")):
        make_image(tmp_path / year / "JPEGImages/1.jpg", 40, 20)
        write(tmp_path / year / "Annotations/1.xml", thing("dog", (1, 2, 3, 4)))
        (tmp_path / year / "ImageSets/Main").mkdir(parents=True)
        (tmp_path / year / f"ImageSets/Main/{split}.txt").write_text("1\n")
    entries = open_voc(str(tmp_path)).entries
    assert [(entry.source_id, entry.split) for entry in entries] == [
        ("VOC2007/JPEGImages/1.jpg", "train"),
        ("VOC2012/JPEGImages/1.jpg", "val"),
    ]


def test_folders_are_splits_where_there_are_no_lists(tmp_path, make_image):
    for split in ("train", "test"):
        make_image(tmp_path / split / f"{split}.jpg", 40, 20)
        write(tmp_path / split / f"{split}.xml", thing("dog", (1, 2, 3, 4)))
    assert [entry.split for entry in open_voc(str(tmp_path)).entries] == ["test", "train"]


@pytest.mark.parametrize("folder", ["{}", "images/{}", "pets-{}", "{}_images"])
def test_folders_of_images_are_splits_though_the_annotations_are_in_one_place(
    tmp_path, make_image, folder
):
    for name, split in (("1", "train"), ("2", "test"), ("3", "train")):
        make_image(tmp_path / folder.format(split) / f"{name}.jpg", 40, 20)
        write(tmp_path / f"annotations/{name}.xml", thing("dog", (1, 2, 3, 4)))
    source = open_voc(str(tmp_path))
    assert [entry.split for entry in source.entries] == ["train", "test", "train"]
    assert not source.notes


def test_the_split_of_an_image_counts_before_that_of_its_annotation_and_that_is_said(
    tmp_path, make_image
):
    make_image(tmp_path / "images/val/1.jpg", 40, 20)
    write(tmp_path / "xml/train/1.xml", thing("dog", (1, 2, 3, 4)))
    source = open_voc(str(tmp_path))
    assert [entry.split for entry in source.entries] == ["val"]
    assert "images/val/1.jpg, xml/train/1.xml" in source.notes[0]


def test_the_sizes_of_boxes_are_shares_of_the_image(folder):
    boxes = (thing("dog", (4, 5, 14, 13)), thing("dog", (0, 0, 40, 20)))
    write(folder / "Annotations/1.xml", *boxes)
    write(folder / "Annotations/2.xml", *boxes, size="")
    known, unknown = open_voc(str(folder)).entries
    assert known.box_areas == pytest.approx((0.1, 1.0))
    assert unknown.box_areas == ()


@pytest.mark.parametrize(
    ("size", "remark"),
    [
        ("", images.SIZE_MISSING),
        ("<width>0</width><height>0</height>", images.SIZE_MISSING),
        ("<width>20</width><height>40</height>", images.SIZE_DIFFERS),
    ],
)
def test_a_missing_or_wrong_size_is_read_from_the_image(folder, size, remark):
    write(folder / "Annotations/1.xml", thing("dog", (4, 2, 8, 4)), size=size)
    reading = open_voc(str(folder)).entries[0].read()
    np.testing.assert_allclose(reading.sample.boxes, [[0.1, 0.1, 0.2, 0.2]])
    assert reading.remarks == (remark,)


def test_an_image_is_found_by_the_name_of_the_file_if_filename_is_stale(folder):
    write(folder / "Annotations/2.xml", filename="IMG_0815.jpg")
    assert open_voc(str(folder)).entries[0].source_id == "2.jpg"


def test_two_candidates_for_an_image_are_not_guessed(folder):
    write(folder / "Annotations/2.xml", filename="3.jpg")
    (entry,) = open_voc(str(folder)).entries
    with pytest.raises(HoldfastError, match=r"names the image '3\.jpg', but there is .*2\.jpg too"):
        entry.read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<annotation><object>", "not valid XML"),
        ("<annotation><object></object></annotation>", "no name"),
        ("<annotation><filename>gone.jpg</filename></annotation>", "not found in the data set"),
    ],
)
def test_a_broken_file_fails_alone(folder, text, message):
    write(folder / "Annotations/1.xml", thing("dog", (1, 2, 3, 4)))
    (folder / "Annotations/broken.xml").write_text(text)
    source = open_voc(str(folder))
    good, bad = source.entries
    assert len(good.read().sample.boxes) == 1
    with pytest.raises(HoldfastError, match=message):
        bad.read()


def test_a_box_without_numbers_stays_for_the_checks_to_find(folder):
    write(folder / "Annotations/1.xml", thing("dog", ("", "x", 3, 4)))
    (sample,) = open_voc(str(folder))
    assert np.isnan(sample.boxes[0, :2]).all()


def test_an_empty_file_is_named_and_its_image_is_not_called_unlabeled(folder):
    write(folder / "Annotations/1.xml", thing("dog", (1, 2, 3, 4)))
    (folder / "Annotations/2.xml").write_text("")
    (folder / "Annotations/3.xml").write_text("<annotation><object>")
    (folder / "Annotations/notes.xml").write_text("")
    source = open_voc(str(folder))
    assert [entry.place for entry in source.entries] == [f"Annotations/{n}.xml" for n in (1, 2, 3)]
    with pytest.raises(HoldfastError, match="not valid XML: no element found"):
        source.entries[1].read()
    (note,) = source.notes
    assert note == "Left out without an XML file: 1 image, such as JPEGImages/4.jpg."


def test_text_in_utf_16_is_read(folder):
    write(folder / "Annotations/1.xml", thing("día", (1, 2, 3, 4)))
    text = (folder / "Annotations/1.xml").read_text()
    (folder / "Annotations/1.xml").write_text(text, encoding="utf-16")
    assert [item.name for item in open_voc(str(folder)).label_map.item] == ["día"]


def test_images_without_annotation_are_said(folder):
    write(folder / "Annotations/1.xml")
    assert "Left out without an XML file: 3 images" in open_voc(str(folder)).notes[0]


def test_real_voc_data_is_read_whole(shared):
    cells = open_voc(str(shared / "datasets/bccd"))
    names = {item.id - 1: item.name for item in cells.label_map.item}
    counts = Counter(names[number] for sample in cells for number in sample.classes.tolist())
    assert len(cells) == 364
    assert counts == {"RBC": 4155, "WBC": 372, "Platelets": 361}
    splits = Counter(entry.split for entry in cells.entries)
    assert splits == {"train": 205, "val": 87, "test": 72}
    raccoons = open_voc(str(shared / "datasets/raccoon"))
    assert len(raccoons) == 200
    assert sum(len(sample.boxes) for sample in raccoons) == 217
    assert all(entry.read().remarks == () for entry in raccoons.entries)
