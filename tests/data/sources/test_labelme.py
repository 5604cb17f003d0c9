from __future__ import annotations

import base64
import io
import json
import math

import numpy as np
import pytest
from PIL import Image

from holdfast.data.sources.classes import keypoint_names
from holdfast.data.sources.labelme import open_labelme
from holdfast.errors import HoldfastError


def shape(label, kind, *points, group=None, **more):
    return {"label": label, "shape_type": kind, "points": points, "group_id": group, **more}


def write(path, *shapes, image="1.jpg", data=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "version": "5.4.1",
        "flags": {},
        "shapes": shapes,
        "imagePath": image,
        "imageData": data,
        "imageWidth": 40,
        "imageHeight": 20,
    }
    path.write_text(json.dumps(content))


@pytest.fixture
def folder(tmp_path, make_image):
    make_image(tmp_path / "1.jpg", 40, 20)
    return tmp_path


def read(folder, *shapes, **options):
    write(folder / "1.json", *shapes)
    (sample,) = open_labelme(str(folder), **options)
    return sample


def test_rectangles_are_boxes_whichever_corners_they_give(folder):
    sample = read(folder, shape("cat", "rectangle", (30, 4), (10, 16)))
    np.testing.assert_allclose(sample.boxes, [[4 / 20, 10 / 40, 16 / 20, 30 / 40]])
    assert sample.areas.tolist() == [240]
    assert sample.masks is None
    assert sample.source_id == "1.jpg"
    assert sample.image == (folder / "1.jpg").read_bytes()


def test_polygons_have_masks_and_rectangles_beside_them_too(folder):
    sample = read(
        folder,
        shape("cat", "polygon", (10, 4), (30, 4), (30, 16), (10, 16)),
        shape("dog", "rectangle", (0, 0), (5, 5)),
    )
    assert sample.masks.sum(axis=(1, 2)).tolist() == [240, 25]
    assert sample.masks[0, 4:16, 10:30].all()
    np.testing.assert_allclose(sample.boxes[0], [4 / 20, 10 / 40, 16 / 20, 30 / 40])


def test_a_circle_is_its_center_and_a_point_on_its_line(folder):
    sample = read(folder, shape("cell", "circle", (20, 10), (23, 14)))
    np.testing.assert_allclose(sample.boxes, [[5 / 20, 15 / 40, 15 / 20, 25 / 40]])
    assert sample.areas[0] == pytest.approx(math.pi * 25, rel=0.01)
    assert sample.masks[0].sum() == pytest.approx(math.pi * 25, rel=0.05)


def test_shapes_of_one_label_and_group_are_one_object(folder):
    left = ((0, 0), (4, 0), (4, 4), (0, 4))
    right = ((10, 10), (14, 10), (14, 14), (10, 14))
    sample = read(
        folder,
        shape("cat", "polygon", *left, group=1),
        shape("dog", "polygon", *right, group=1),
        shape("cat", "polygon", *right, group=1),
        shape("cat", "polygon", *right, group=2),
    )
    assert sample.classes.tolist() == [0, 1, 0]
    np.testing.assert_allclose(sample.boxes[0], [0, 0, 14 / 20, 14 / 40], rtol=1e-6)
    assert sample.masks.sum(axis=(1, 2)).tolist() == [32, 16, 16]


def test_points_in_the_group_of_an_area_are_its_keypoints(folder):
    write(
        folder / "1.json",
        shape("nose", "point", (8, 6), group=1),
        shape("person", "rectangle", (4, 4), (12, 12), group=1),
        shape("person", "rectangle", (20, 4), (30, 12), group=2),
        shape("hand", "point", (22, 5), group=2),
    )
    source = open_labelme(str(folder))
    (sample,) = source
    assert [item.name for item in source.label_map.item] == ["person"]
    assert keypoint_names(source.label_map) == ("nose", "hand")
    nan = np.nan
    expected = [[[6 / 20, 8 / 40], [nan, nan]], [[nan, nan], [5 / 20, 22 / 40]]]
    np.testing.assert_allclose(sample.keypoints, expected, rtol=1e-6)


def test_lines_and_lone_points_are_objects_that_enclose_nothing(folder):
    sample = read(
        folder,
        shape("crack", "linestrip", (2, 2), (10, 4), (6, 8)),
        shape("crack", "line", (2, 2), (10, 2)),
        shape("spot", "point", (5, 5)),
    )
    expected = [[0.1, 0.05, 0.4, 0.25], [0.1, 0.05, 0.1, 0.25], [0.25, 0.125, 0.25, 0.125]]
    np.testing.assert_allclose(sample.boxes, expected, rtol=1e-6)
    assert sample.areas.tolist() == [0, 0, 0]


def test_a_mask_shape_is_put_where_its_first_point_is(folder):
    stream = io.BytesIO()
    Image.fromarray(np.array([[255, 0], [255, 255]], np.uint8)).save(stream, "PNG")
    mask = base64.b64encode(stream.getvalue()).decode()
    sample = read(folder, shape("cell", "mask", (6, 3), (7, 4), mask=mask))
    assert np.argwhere(sample.masks[0]).tolist() == [[3, 6], [4, 6], [4, 7]]
    np.testing.assert_allclose(sample.boxes, [[3 / 20, 6 / 40, 5 / 20, 8 / 40]])
    assert sample.areas.tolist() == [3]


def test_an_embedded_image_is_the_one_that_was_labeled(folder, make_image):
    other = make_image(folder / "elsewhere/other.jpg", 40, 20, seed=9)
    write(folder / "1.json", data=base64.b64encode(other).decode())
    (sample,) = open_labelme(str(folder))
    assert sample.image == other
    assert sample.source_id == "1.jpg"


def test_images_are_found_by_windows_paths_and_by_the_name_of_the_file(tmp_path, make_image):
    make_image(tmp_path / "img/1.jpg", 40, 20)
    make_image(tmp_path / "img/2.jpg", 40, 20)
    write(tmp_path / "ann/1.json", image="..\\img\\1.jpg")
    write(tmp_path / "ann/2.json", image="/Users/me/IMG_3.jpg")
    assert [sample.source_id for sample in open_labelme(str(tmp_path))] == ["1.jpg", "2.jpg"]


def test_classes_are_numbered_by_labels_txt(folder):
    (folder / "labels.txt").write_text("__ignore__\n_background_\nzebra\nape\n")
    write(folder / "1.json", shape("cat", "rectangle", (0, 0), (1, 1)))
    source = open_labelme(str(folder))
    names = [(item.id, item.name) for item in source.label_map.item]
    assert names == [(1, "zebra"), (2, "ape"), (3, "cat")]
    assert next(iter(source)).classes.tolist() == [2]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (shape("", "rectangle", (0, 0), (1, 1)), r"shapes\[0\] has no label"),
        (shape("cat", "heart", (0, 0)), "is a 'heart'; known are"),
        (shape("cat", "polygon", (0, 0), (1, 1)), "polygon of 2 points, not 3"),
        (shape("cat", "polygon", "abc"), "not pairs of numbers"),
        (shape("cat", "mask", (0, 0), (1, 1), mask="%%"), "cannot be decoded"),
        (None, "has no label"),
    ],
)
def test_a_shape_that_cannot_be_read_fails_its_image_alone(folder, make_image, bad, message):
    make_image(folder / "2.jpg", 40, 20)
    write(folder / "1.json", bad)
    write(folder / "2.json", shape("cat", "rectangle", (0, 0), (1, 1)), image="2.jpg")
    first, second = open_labelme(str(folder)).entries
    with pytest.raises(HoldfastError, match=message):
        first.read()
    assert len(second.read().sample.boxes) == 1


def test_a_broken_file_and_a_missing_image_fail_alone(folder):
    write(folder / "1.json")
    (folder / "2.json").write_text('{"shapes": [')
    write(folder / "3.json", image="gone.jpg")
    good, broken, missing = open_labelme(str(folder)).entries
    assert good.read()
    with pytest.raises(HoldfastError, match="not valid JSON"):
        broken.read()
    with pytest.raises(HoldfastError, match="not found in the data set"):
        missing.read()


def test_folders_are_splits(tmp_path, make_image):
    for split in ("train", "val"):
        make_image(tmp_path / split / f"{split}.jpg", 40, 20)
        write(tmp_path / split / f"{split}.json", image=f"{split}.jpg")
    assert [entry.split for entry in open_labelme(str(tmp_path)).entries] == ["train", "val"]


def test_the_folder_of_an_image_is_its_split(tmp_path, make_image):
    make_image(tmp_path / "images/test/1.jpg", 40, 20)
    write(tmp_path / "labels/1.json", image="../images/test/1.jpg")
    assert [entry.split for entry in open_labelme(str(tmp_path)).entries] == ["test"]


def test_the_sizes_of_boxes_are_shares_of_the_image(folder):
    write(folder / "1.json", shape("dog", "rectangle", (4, 5), (14, 13)))
    (entry,) = open_labelme(str(folder)).entries
    assert entry.box_areas == pytest.approx((0.1,))
