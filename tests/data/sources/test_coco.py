from __future__ import annotations

import json

import numpy as np
import pytest

from holdfast.data.sources import image_files as images
from holdfast.data.sources.classes import keypoint_names
from holdfast.data.sources.coco import open_coco
from holdfast.data.sources.source_formats import OpenOptions
from holdfast.errors import HoldfastError


def annotation(number, image, category, box, **more):
    return {"id": number, "image_id": image, "category_id": category, "bbox": box, **more}


def write(path, pictures, annotations, categories):
    document = {"images": pictures, "annotations": annotations, "categories": categories}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def image(number, name="1.jpg", width=40, height=20):
    return {"id": number, "file_name": name, "width": width, "height": height}


CELL = [{"id": 1, "name": "cell"}]


@pytest.fixture
def folder(tmp_path, make_image):
    make_image(tmp_path / "images/sub/1.jpg", 40, 20)
    make_image(tmp_path / "images/2.jpg", 10, 10)
    return tmp_path


def test_boxes_flags_and_areas_are_those_of_the_file(folder):
    write(
        folder / "annotations/all.json",
        [image(7, "sub/1.jpg"), image(9, "2.jpg", 10, 10)],
        [
            annotation(1, 7, 3, [4, 5, 10, 8], area=61.5, iscrowd=0),
            annotation(2, 7, 1, [-1, 2, 50, 0], iscrowd=1),
        ],
        [{"id": 1, "name": "fig"}, {"id": 3, "name": "date"}],
    )
    source = open_coco(str(folder))
    first, second = source
    assert [(item.id, item.name) for item in source.label_map.item] == [(1, "fig"), (3, "date")]
    expected = [[5 / 20, 4 / 40, 13 / 20, 14 / 40], [2 / 20, -1 / 40, 2 / 20, 49 / 40]]
    np.testing.assert_array_equal(first.boxes, np.array(expected, np.float32))
    assert first.classes.tolist() == [2, 0]
    assert first.areas.tolist() == [61.5, 0]
    assert first.is_crowd.tolist() == [False, True]
    assert first.source_id == "7"
    assert first.image == (folder / "images/sub/1.jpg").read_bytes()
    assert first.masks is None
    assert first.keypoints is None
    assert second.boxes.shape == (0, 4)
    assert dict(source.entries[0].class_counts) == {2: 1, 0: 1}
    assert "annotations/all.json" in source.entries[0].place


def test_polygons_and_run_lengths_become_masks(folder):
    square = [2.0, 3.0, 8.0, 3.0, 8.0, 9.0, 2.0, 9.0]
    runs = {"counts": [0, 5, 795], "size": [20, 40]}
    write(
        folder / "all.json",
        [image(1, "sub/1.jpg")],
        [
            annotation(1, 1, 1, [2, 3, 6, 6], segmentation=[square]),
            annotation(2, 1, 1, [0, 0, 1, 5], segmentation=runs, iscrowd=1),
            annotation(3, 1, 1, [0, 0, 1, 5]),
        ],
        CELL,
    )
    source = open_coco(str(folder))
    (sample,) = source
    assert sample.masks.shape == (3, 20, 40)
    assert sample.masks[0].sum() == 36
    assert sample.masks[0, 3:9, 2:8].all()
    assert np.argwhere(sample.masks[1]).tolist() == [[row, 0] for row in range(5)]
    assert sample.masks[2].sum() == 0
    assert any("1 of 3 objects have no outline" in note for note in source.notes)
    assert source.masks
    (without,) = open_coco(str(folder), OpenOptions(masks=False))
    assert without.masks is None


def test_keypoints_are_kept_where_labeled(folder):
    categories = [
        {"id": 1, "name": "person", "keypoints": ["nose", "hand"]},
        {"id": 2, "name": "ball"},
    ]
    write(
        folder / "all.json",
        [image(1, "sub/1.jpg")],
        [
            annotation(1, 1, 1, [0, 0, 9, 9], keypoints=[4, 5, 2, 0, 0, 0]),
            annotation(2, 1, 2, [0, 0, 9, 9]),
        ],
        categories,
    )
    source = open_coco(str(folder))
    (sample,) = source
    assert keypoint_names(source.label_map) == ("nose", "hand")
    nan = np.nan
    expected = [[[5 / 20, 4 / 40], [nan, nan]], [[nan, nan], [nan, nan]]]
    np.testing.assert_array_equal(sample.keypoints, np.array(expected, np.float32))
    assert sample.visibilities.tolist() == [[True, False], [False, False]]


def test_an_unused_category_0_is_left_out_and_said(folder):
    categories = [{"id": 0, "name": "all"}, *CELL]
    write(folder / "all.json", [image(1)], [annotation(1, 1, 1, [0, 0, 1, 1])], categories)
    source = open_coco(str(folder))
    assert [(item.id, item.name) for item in source.label_map.item] == [(1, "cell")]
    assert source.notes == ("Category 0 (all) is not used and left out.",)


def test_a_used_category_0_moves_all_ids_up_and_is_said(folder):
    categories = [{"id": 0, "name": "red"}, {"id": 2, "name": "white"}]
    boxes = [annotation(1, 1, 0, [0, 0, 1, 1]), annotation(2, 1, 2, [0, 0, 1, 1])]
    write(folder / "all.json", [image(1)], boxes, categories)
    source = open_coco(str(folder))
    assert [(item.id, item.name) for item in source.label_map.item] == [(1, "red"), (3, "white")]
    assert next(iter(source)).classes.tolist() == [0, 2]
    assert "moved up by 1" in source.notes[0]


def test_split_files_with_the_same_ids_give_unique_source_ids(tmp_path, make_image):
    for split in ("train", "valid"):
        make_image(tmp_path / split / "1.jpg", 40, 20)
        boxes = [annotation(1, 0, 1, [0, 0, 4, 2])]
        write(tmp_path / split / "_annotations.coco.json", [image(0)], boxes, CELL)
    source = open_coco(str(tmp_path))
    assert {(entry.source_id, entry.split) for entry in source.entries} == {
        ("train/0", "train"),
        ("val/0", "val"),
    }
    assert {entry.image_path for entry in source.entries} == {
        str(tmp_path / "train/1.jpg"),
        str(tmp_path / "valid/1.jpg"),
    }


def test_a_json_file_finds_its_images_beside_its_folder(folder):
    path = write(
        folder / "annotations/instances_val2017.json", [image(1, "2.jpg", 10, 10)], [], CELL
    )
    source = open_coco(str(path))
    assert len(next(iter(source)).image) > 0
    assert source.entries[0].split == "val"


def test_two_files_about_the_same_images_need_a_choice(folder):
    for name in ("instances_train2017", "person_keypoints_train2017"):
        write(folder / f"annotations/{name}.json", [image(1)], [], CELL)
    with pytest.raises(HoldfastError, match="both describe the image"):
        open_coco(str(folder))


def test_categories_that_contradict_each_other_are_refused(folder):
    write(folder / "train.json", [image(1)], [], CELL)
    write(folder / "val.json", [image(2, "2.jpg")], [], [{"id": 1, "name": "egg"}])
    with pytest.raises(HoldfastError, match=r"Category 1 is 'cell' in train\.json and 'egg'"):
        open_coco(str(folder))


@pytest.mark.parametrize("number", ["Infinity", "null", '"one"'])
def test_a_category_id_that_is_not_a_number_is_refused(folder, number):
    write(folder / "all.json", [image(1)], [], [{"id": 99, "name": "cell"}])
    text = (folder / "all.json").read_text().replace("99", number)
    (folder / "all.json").write_text(text)
    with pytest.raises(HoldfastError, match="not a whole number"):
        open_coco(str(folder))


def test_captions_beside_the_annotations_are_passed_over(folder):
    write(folder / "all.json", [image(1)], [], CELL)
    captions = {"images": [image(1)], "annotations": [{"image_id": 1, "caption": "a cell"}]}
    (folder / "captions.json").write_text(json.dumps(captions))
    assert len(open_coco(str(folder))) == 1


def test_annotations_of_unlisted_images_are_said(folder):
    write(folder / "all.json", [image(1)], [annotation(1, 99, 1, [0, 0, 1, 1])], CELL)
    assert "1 annotation of images that it does not list" in open_coco(str(folder)).notes[0]


def test_what_is_wrong_in_a_file_stays_for_the_checks_to_find(folder):
    boxes = [
        annotation(1, 1, 1, [1, 2, 3]),
        annotation(2, 1, 1, [1, None, 3, 4]),
        annotation(3, 1, 55, [0, 0, 4, 4]),
    ]
    write(folder / "all.json", [image(1)], boxes, CELL)
    (sample,) = open_coco(str(folder))
    assert np.isnan(sample.boxes[0]).all()
    assert np.isnan(sample.boxes[1, [0, 2]]).all()
    assert sample.classes.tolist() == [0, 0, 54]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"category_id": "x"}, "no usable category_id"),
        ({"segmentation": [[1, 2, 3, 4, 5, 6, 7]]}, "neither polygons nor a mask"),
        ({"segmentation": [["a", "b"]]}, "neither polygons nor a mask"),
        ({"segmentation": {"counts": [1, 2], "size": [20, 40]}}, "cannot be read"),
        ({"keypoints": [1, 2]}, "keypoints that are not 3 numbers"),
    ],
)
def test_an_annotation_that_cannot_be_read_fails_its_image_alone(folder, more, message):
    boxes = [annotation(1, 1, 1, [0, 0, 1, 1]), annotation(5, 1, 1, [0, 0, 1, 1]) | more]
    write(folder / "all.json", [image(1), image(2, "2.jpg", 10, 10)], boxes, CELL)
    bad, good = open_coco(str(folder)).entries
    with pytest.raises(HoldfastError, match=message):
        bad.read()
    assert good.read().remarks == ()


def test_a_wrong_or_missing_size_is_read_from_the_image_and_remarked(folder):
    pictures = [image(1, "sub/1.jpg", 80, 40), {"id": 2, "file_name": "2.jpg"}]
    write(folder / "all.json", pictures, [annotation(1, 1, 1, [4, 2, 4, 2])], CELL)
    first, second = (entry.read() for entry in open_coco(str(folder)).entries)
    assert first.remarks == (images.SIZE_DIFFERS,)
    np.testing.assert_allclose(first.sample.boxes, [[0.1, 0.1, 0.2, 0.2]])
    assert second.remarks == (images.SIZE_MISSING,)


def test_a_missing_image_fails_alone(folder):
    write(folder / "all.json", [image(1, "gone.jpg")], [], CELL)
    (entry,) = open_coco(str(folder)).entries
    with pytest.raises(HoldfastError, match="not found in the data set"):
        entry.read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"images": [', "not valid JSON"),
        ('{"images": [{"id": 1}], "categories": []}', r"images\[0\] has no 'file_name'"),
        ('{"images": [], "categories": [{"name": "x"}]}', r"categories\[0\] has no 'id'"),
        ('{"images": []}', "no COCO annotations"),
    ],
)
def test_a_broken_file_is_told_in_words(tmp_path, text, message):
    (tmp_path / "all.json").write_text(text)
    with pytest.raises(HoldfastError, match=message):
        open_coco(str(tmp_path / "all.json"))


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_masks_of_real_polygons_are_those_of_pycocotools(shared):
    coco = pytest.importorskip("pycocotools.mask")
    folder = shared / "datasets/fruits_nuts_coco_seg"
    document = json.loads((folder / "data/trainval.json").read_text())
    source = open_coco(str(folder))
    for sample in list(source)[:5]:
        found = [a for a in document["annotations"] if str(a["image_id"]) == sample.source_id]
        for mask, item in zip(sample.masks, found, strict=True):
            parts = coco.frPyObjects(item["segmentation"], *mask.shape)
            expected = np.max([coco.decode([part])[:, :, 0] for part in parts], axis=0)
            np.testing.assert_array_equal(mask, expected)


def test_real_coco_data_is_read_whole(shared):
    fruits = open_coco(str(shared / "datasets/fruits_nuts_coco_seg"))
    assert len(fruits) == 18
    assert sum(len(sample.boxes) for sample in fruits) == 165
    assert [item.name for item in fruits.label_map.item] == ["date", "fig", "hazelnut"]
    cells = open_coco(str(shared / "datasets/rbc_coco"))
    assert len(cells) == 240
    assert sum(sum(entry.class_counts.values()) for entry in cells.entries) == 5638
    assert [(item.id, item.name) for item in cells.label_map.item] == [(1, "rbc"), (2, "wbc")]
    splits = [entry.split for entry in cells.entries]
    assert [splits.count(name) for name in ("train", "val", "test")] == [210, 20, 10]
    assert len({entry.source_id for entry in cells.entries}) == 240


def test_folders_of_images_are_splits_where_the_file_names_none(tmp_path, make_image):
    for split in ("train", "test"):
        make_image(tmp_path / split / f"{split}.jpg", 40, 20)
    pictures = [image(1, "train.jpg"), image(2, "test/test.jpg")]
    write(tmp_path / "all.json", pictures, [], CELL)
    assert [entry.split for entry in open_coco(str(tmp_path)).entries] == ["train", "test"]


def test_the_split_of_a_file_counts_before_that_of_its_images(tmp_path, make_image):
    for name in ("1", "2"):
        make_image(tmp_path / f"images/train/{name}.jpg", 40, 20)
    write(tmp_path / "train.json", [image(1, "1.jpg")], [], CELL)
    write(tmp_path / "val.json", [image(2, "2.jpg")], [], CELL)
    assert [entry.split for entry in open_coco(str(tmp_path)).entries] == ["train", "val"]


def test_the_sizes_of_boxes_are_shares_of_the_image(folder):
    items = [annotation(1, 7, 1, [4, 5, 10, 8]), annotation(2, 9, 1, [0, 0, 1, 1])]
    unsized = {"id": 9, "file_name": "2.jpg"}
    write(folder / "all.json", [image(7, "sub/1.jpg"), unsized], items, CELL)
    known, unknown = open_coco(str(folder)).entries
    assert known.box_areas == pytest.approx((0.1,))
    assert unknown.box_areas == ()
