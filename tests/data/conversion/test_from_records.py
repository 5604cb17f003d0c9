from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import tensorflow as tf
import yaml
from PIL import Image
from pycocotools.coco import COCO

from holdfast.config.label_map import load_label_map
from holdfast.data.conversion import from_records as convert_out
from holdfast.data.conversion.from_records import convert_to
from holdfast.data.records.record_source import open_record_source
from holdfast.data.sources.open_source import find_format, open_source
from holdfast.data.sources.synthetic import make_synthetic
from holdfast.data.sources.synthetic_shapes import SyntheticScene
from holdfast.errors import HoldfastError

from ..small_sources import (
    FORMATS,
    HEIGHT,
    PETS,
    SPLITS,
    WIDTH,
    contents,
    picture,
    sample_of,
    source_of,
)

# It is older than NumPy 2.
PYCOCOTOOLS = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
# How far a side may move, in pixels: what each format rounds to, as its docstring says.
ROUNDING = {"coco": 0.001, "voc": 0.5, "yolo": 0.0001, "csv": 0.5}


def read_back(folder):
    """What the existing readers find: image -> split and [class name, box in pixels]."""
    source = open_source(str(folder))
    names = {item.id - 1: item.name for item in source.label_map.item}
    found = {}
    for entry in source.entries:
        sample = entry.read().sample
        boxes = sample.boxes[:, [1, 0, 3, 2]] * [WIDTH, HEIGHT, WIDTH, HEIGHT]
        classes = [names[number] for number in sample.classes.tolist()]
        found[Path(entry.filename).stem] = (entry.split, classes, boxes)
    return found


@pytest.mark.parametrize("to", FORMATS)
def test_reading_it_back_gives_the_same_boxes_classes_and_splits(to, tmp_path):
    source = source_of(PETS, splits=SPLITS)
    result = convert_to(to, source, str(tmp_path / "out"))
    assert find_format(str(tmp_path / "out")) == to
    found = read_back(tmp_path / "out")
    expected = dict(PETS)
    if to == "csv":
        del expected["c"]  # no line without a box, which is said
        assert any("an image without objects" in group.reason for group in result.remarks)
    assert found.keys() == expected.keys()
    names = {0: "cat", 2: "big dog"}
    for name, sample in expected.items():
        split, classes, boxes = found[name]
        assert split == SPLITS[name]
        assert classes == [names[number] for number in sample.classes.tolist()]
        exact = sample.boxes[:, [1, 0, 3, 2]] * [WIDTH, HEIGHT, WIDTH, HEIGHT]
        # A box of a fifth of a pixel grows to a whole one.
        limit = 1 if name == "d" else ROUNDING[to] + 1e-4
        np.testing.assert_allclose(boxes, exact, atol=limit)
        assert (boxes[:, 2:] > boxes[:, :2]).all()


@pytest.mark.parametrize("to", FORMATS)
def test_images_are_written_as_they_are_stored(to, tmp_path):
    convert_to(to, source_of(PETS, splits=SPLITS), str(tmp_path / "out"))
    found = {Path(name).stem: (name, data) for name, data in contents(tmp_path / "out").items()
             if name.endswith((".jpg", ".png"))}  # fmt: skip
    assert {name: data for name, (_, data) in found.items()} == {
        name: sample.image for name, sample in PETS.items()
    }
    assert found["b"][0].endswith(".png")


@pytest.mark.parametrize("to", FORMATS)
def test_the_counts_are_those_of_the_source_and_the_label_map_lies_beside(to, tmp_path):
    source = source_of(PETS, splits=SPLITS)
    result = convert_to(to, source, str(tmp_path / "out"))
    assert (result.images, result.boxes, result.to) == (4, 4, to)
    assert {name: split.images for name, split in result.splits.items()} == {
        "train": 2,
        "val": 1,
        "test": 1,
    }
    assert all(Path(split.pattern).exists() for split in result.splits.values())
    assert load_label_map(result.label_map_path) == source.label_map


@PYCOCOTOOLS
def test_coco_is_what_pycocotools_reads(tmp_path):
    source = make_synthetic(6, SyntheticScene(size=64), seed=3)
    convert_to("coco", source, str(tmp_path / "out"), val=0)
    coco = COCO(str(tmp_path / "out/annotations/instances_train.json"))
    assert {one["id"]: one["name"] for one in coco.loadCats(coco.getCatIds())} == {
        item.id: item.name for item in source.label_map.item
    }
    before = {entry.filename: entry.read().sample for entry in source.entries}
    for image in coco.loadImgs(coco.getImgIds()):
        sample = before[image["file_name"]]
        annotations = coco.loadAnns(coco.getAnnIds(image["id"]))
        masks = [coco.annToMask(one) for one in annotations]
        np.testing.assert_array_equal(masks, sample.masks)
        assert [one["category_id"] - 1 for one in annotations] == sample.classes.tolist()
        corners = np.array([one["bbox"] for one in annotations])
        corners[:, 2:] += corners[:, :2]
        np.testing.assert_allclose(corners, sample.boxes[:, [1, 0, 3, 2]] * 64, atol=0.002)
        np.testing.assert_allclose([one["area"] for one in annotations], sample.areas, atol=0.001)
    assert len({one["id"] for one in coco.dataset["annotations"]}) == len(coco.anns)


@PYCOCOTOOLS
def test_coco_keeps_crowds_holes_and_keypoints(tmp_path):
    masks = np.zeros((3, HEIGHT, WIDTH), np.uint8)
    masks[0, 2:20, 3:20] = 1
    masks[0, 5:9, 6:12] = 0
    masks[1, 1:5, 25:35] = 1
    points = [[[0.5, 0.25], [np.nan, np.nan]]] * 3
    sample = sample_of(
        [[3, 2, 20, 20], [25, 1, 35, 5], [0, 0, 5, 5]],
        [0, 0, 2],
        masks=masks,
        is_crowd=[False, True, False],
        keypoints=np.array(points, np.float32),
        visibilities=[[True, False]] * 3,
    )
    source = source_of({"7": sample}, masks=True, keypoints={1: ["nose", "tail"]})
    result = convert_to("coco", source, str(tmp_path / "out"), val=0)
    assert result.remarks == result.left_out == ()
    coco = COCO(str(tmp_path / "out/annotations/instances_train.json"))
    hole, crowd, plain = coco.loadAnns(coco.getAnnIds(7))
    np.testing.assert_array_equal(coco.annToMask(hole), masks[0])
    np.testing.assert_array_equal(coco.annToMask(crowd), masks[1])
    assert [one["iscrowd"] for one in (hole, crowd, plain)] == [0, 1, 0]
    assert plain["segmentation"] == []
    assert hole["keypoints"] == [10.0, 15.0, 2, 0, 0, 0]
    assert "keypoints" not in plain
    back = next(iter(open_source(str(tmp_path / "out"))))
    np.testing.assert_array_equal(back.masks, masks)
    np.testing.assert_array_equal(back.is_crowd, [False, True, False])
    np.testing.assert_allclose(back.keypoints[0], points[0])


def test_voc_has_the_marks_and_the_lists(tmp_path):
    sample = sample_of(
        [[1, 2, 11, 12], [4, 5, 39, 29], [0, 0, 9, 9]],
        [0, 2, 2],
        difficult=[True, False, False],
        truncated=[False, True, False],
        is_crowd=[False, False, True],
    )
    samples = dict.fromkeys(SPLITS, sample)
    result = convert_to("voc", source_of(samples, splits=SPLITS), str(tmp_path / "out"))
    assert [group.reason for group in result.remarks] == [
        "crowds are marked as difficult: Pascal VOC leaves both out of its scores"
    ]
    lists = tmp_path / "out/ImageSets/Main"
    assert {path.name: path.read_text().split() for path in lists.iterdir()} == {
        "train.txt": ["a", "c"],
        "val.txt": ["b"],
        "test.txt": ["d"],
        "trainval.txt": ["a", "c", "b"],
    }
    tree = ElementTree.parse(tmp_path / "out/Annotations/a.xml")
    assert [one.findtext("difficult") for one in tree.findall("object")] == ["1", "0", "1"]
    assert [one.findtext("truncated") for one in tree.findall("object")] == ["0", "1", "0"]
    assert tree.findtext("size/width") == "40"
    assert tree.findtext("object/bndbox/ymin") == "2"


def test_yolo_is_laid_out_and_numbered_as_ultralytics_wants(tmp_path):
    out = tmp_path / "out"
    result = convert_to("yolo", source_of(PETS, splits=SPLITS), str(out))
    assert yaml.safe_load((out / "data.yaml").read_text()) == {
        "train": "images/train",
        "val": "images/val",
        "test": "images/test",
        "names": {0: "cat", 1: "big dog"},
    }
    assert "0 cat, 1 big dog" in result.notes[-1]
    assert (out / "labels/train/c.txt").read_text() == ""
    first = (out / "labels/train/a.txt").read_text().splitlines()[0].split()
    assert first[0] == "0"
    np.testing.assert_allclose(
        [float(each) for each in first[1:]], [6 / 40, 7 / 30, 10 / 40, 10 / 30], atol=1e-7
    )


def test_yolo_leaves_out_crowds_and_cuts_boxes_at_the_border(tmp_path):
    sample = sample_of([[1, 2, 11, 12], [-0.3, 5, 40.3, 29]], [0, 2], is_crowd=[True, False])
    result = convert_to("yolo", source_of({"a": sample}), str(tmp_path / "out"), val=0)
    (group,) = result.left_out
    assert (group.reason, group.boxes) == ("a crowd: YOLO cannot mark it as one", 1)
    assert result.boxes == 1
    values = (tmp_path / "out/labels/train/a.txt").read_text().split()
    assert values[:2] == ["1", "0.5"]
    assert values[3] == "1"
    assert [group.reason for group in result.remarks] == [
        "boxes are cut at the border of the image"
    ]


def test_yolo_holds_masks_as_one_polygon_an_object(tmp_path):
    masks = np.zeros((3, HEIGHT, WIDTH), np.uint8)
    masks[0, 2:20, 3:20] = 1
    masks[0, 5:9, 6:12] = 0
    masks[1, 22:28, 5:8] = masks[1, 20:26, 30:38] = 1
    sample = sample_of([[3, 2, 20, 20], [5, 20, 38, 28], [1, 2, 7, 8]], [0, 0, 2], masks=masks)
    source = source_of({"a": sample}, masks=True)
    convert_to("yolo", source, str(tmp_path / "out"), val=0)
    back = next(iter(open_source(str(tmp_path / "out"))))
    np.testing.assert_array_equal(back.masks[:2], masks[:2])
    np.testing.assert_allclose(back.boxes, sample.boxes, atol=1e-6)


def test_yolo_holds_keypoints(tmp_path):
    points = np.array([[[0.5, 0.25], [np.nan, np.nan]], [[0.1, 0.2], [1.5, 0.3]]], np.float32)
    sample = sample_of(
        [[1, 2, 11, 12], [0, 0, 5, 5]],
        [0, 2],
        keypoints=points,
        visibilities=~np.isnan(points).any(-1),
    )
    names = ["nose", "tail"]
    source = source_of({"a": sample}, keypoints={1: names, 3: names})
    result = convert_to("yolo", source, str(tmp_path / "out"), val=0)
    assert [group.reason for group in result.remarks] == [
        "keypoints outside of the image are written as not labeled"
    ]
    opened = open_source(str(tmp_path / "out"))
    expected = points.copy()
    expected[1, 1] = np.nan
    np.testing.assert_allclose(next(iter(opened)).keypoints, expected, atol=1e-6)
    assert [point.label for point in opened.label_map.item[0].keypoints] == names


def test_csv_is_the_tables_of_the_tutorial(tmp_path):
    convert_to("csv", source_of(PETS, splits=SPLITS), str(tmp_path / "out"))
    with (tmp_path / "out/train_labels.csv").open() as stream:
        rows = list(csv.reader(stream))
    assert rows == [
        ["filename", "width", "height", "class", "xmin", "ymin", "xmax", "ymax"],
        ["a.jpg", "40", "30", "cat", "1", "2", "11", "12"],
        ["a.jpg", "40", "30", "big dog", "4", "5", "40", "30"],
    ]


@pytest.mark.parametrize(
    ("to", "lost"),
    [
        ("coco", {"difficult", "truncated", "groups", "weights", "confidences"}),
        ("voc", {"groups", "weights", "confidences", "masks", "keypoints"}),
        ("yolo", {"difficult", "truncated", "groups", "weights", "confidences", "masks"}),
        ("csv", {"difficult", "truncated", "groups", "weights", "confidences", "masks"}
         | {"keypoints"}),
    ],
)  # fmt: skip
def test_what_a_format_cannot_hold_is_said(to, lost, tmp_path):
    sample = sample_of(
        [[1, 2, 11, 12]],
        [0],
        difficult=[True],
        truncated=[True],
        group_of=[True],
        weights=[0.5],
        confidences=[0.25],
        masks=np.ones((1, HEIGHT, WIDTH), np.uint8),
        keypoints=np.ones((1, 1, 2), np.float32) / 2,
        visibilities=[[True]],
    )
    source = source_of({"a": sample}, masks=True, keypoints={1: ["nose"]})
    result = convert_to(to, source, str(tmp_path / "out"), val=0)
    said = [group.reason for group in result.remarks]
    words = ("difficult", "truncated", "groups", "weights", "confidences", "masks", "keypoints")
    assert {
        word for word in words if any(f"{word} " in text.split(":")[0] for text in said)
    } == lost
    assert all(text.endswith("cannot hold them") for text in said)


def test_names_of_records_do_not_lead_out_of_the_folder(tmp_path):
    names = {"a": "../../evil.jpg", "b": "/etc/evil.jpg", "c": "EVIL.jpg", "d": ""}
    source = source_of(PETS, splits=SPLITS, filenames=names)
    result = convert_to("yolo", source, str(tmp_path / "deep/out"))
    everything = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all((tmp_path / "deep/out") in path.parents for path in everything)
    found = {path.stem.casefold() for path in everything if path.suffix in (".jpg", ".png")}
    assert found == {"evil", "etc_evil", "evil_2", "d"}
    (group,) = result.remarks
    assert (group.reason, group.images) == (convert_out.RENAMED, 2)


def test_an_exif_orientation_does_not_turn_what_records_did_not_turn(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 3
    turned = picture(0, "JPEG", exif=exif)
    source = source_of({"a": sample_of([[1, 2, 11, 12]], [0], image=turned)})
    result = convert_to("yolo", source, str(tmp_path / "out"), val=0)
    assert len(result.remarks) == 1
    back = next(iter(open_source(str(tmp_path / "out"))))
    decode = tf.io.decode_jpeg
    np.testing.assert_array_equal(decode(back.image), decode(turned))


def test_ids_of_images_that_are_numbers_are_kept(tmp_path):
    samples = {"12": PETS["a"], "7": PETS["b"]}
    convert_to("coco", source_of(samples), str(tmp_path / "out"), val=0)
    document = json.loads((tmp_path / "out/annotations/instances_train.json").read_text())
    assert [image["id"] for image in document["images"]] == [12, 7]


def test_strict_stops_at_the_first_thing_that_is_left_out(tmp_path):
    source = source_of({"a": sample_of([[5, 5, 5, 9]], [0])})
    with pytest.raises(HoldfastError, match="no height or no width"):
        convert_to("coco", source, str(tmp_path / "out"), val=0, strict=True)
    assert not (tmp_path / "out").exists()


def test_an_unknown_format_is_an_error_with_the_nearest(tmp_path):
    with pytest.raises(HoldfastError, match=r"'yol'[\s\S]*Did you mean yolo\?"):
        convert_to("yol", source_of(PETS), str(tmp_path / "out"))


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("name", ["records13", "records20"])
def test_record_files_of_the_world_come_out_with_all_of_their_boxes(shared, to, name, tmp_path):
    path = shared / f"corpus/records/{name}.tfrecord"
    expected = {}
    for record in tf.data.TFRecordDataset(str(path)):
        one = tf.train.Example.FromString(record.numpy()).features.feature
        size = [one[f"image/{side}"].int64_list.value[0] for side in ("width", "height")] * 2
        sides = [one[f"image/object/bbox/{side}"].float_list.value
                 for side in ("xmin", "ymin", "xmax", "ymax")]  # fmt: skip
        boxes = np.array(sides).T * size
        texts = [text.decode() for text in one["image/object/class/text"].bytes_list.value]
        encoded = one["image/encoded"].bytes_list.value[0]
        expected[encoded] = sorted(zip(texts, boxes.tolist(), strict=True))
    convert_to(to, open_record_source(str(path)), str(tmp_path / "out"), val=0)
    source = open_source(str(tmp_path / "out"))
    names = {item.id - 1: item.name for item in source.label_map.item}
    found = {}
    for sample in source:
        height, width = tf.io.decode_image(sample.image).shape[:2]
        boxes = sample.boxes[:, [1, 0, 3, 2]] * ([width, height] * 2)
        classes = [names[number] for number in sample.classes.tolist()]
        found[sample.image] = sorted(zip(classes, boxes.tolist(), strict=True))
    assert found.keys() == expected.keys()
    for image, objects in expected.items():
        assert [text for text, _ in found[image]] == [text for text, _ in objects]
        boxes = [np.array([box for _, box in each]) for each in (found[image], objects)]
        np.testing.assert_allclose(*boxes, atol=ROUNDING[to] + 0.01)
