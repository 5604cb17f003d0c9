from __future__ import annotations

import base64
import io
import json
import zlib

import numpy as np
import pytest
from PIL import Image

from holdfast.data.sources.open_source import open_source
from holdfast.data.sources.source_formats import OpenOptions
from holdfast.data.sources.supervisely import open_supervisely
from holdfast.errors import HoldfastError

from .reading import assert_same, problems, read_boxes

WIDTH, HEIGHT = 64, 48
PIXELS = [[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0]]


def bitmap(mode="P"):
    """Pack a mask as Supervisely does: two colors and transparency, PNG, zlib, base64."""
    pixels = np.array(PIXELS, np.uint8)
    stream = io.BytesIO()
    if mode == "P":
        image = Image.frombytes("P", (4, 3), pixels.tobytes())
        image.putpalette([0, 0, 0, 255, 255, 255])
        image.save(stream, "PNG", transparency=0)
    else:
        colors = np.full((3, 4, 4), 200, np.uint8)
        colors[..., 3] = pixels * 255
        Image.fromarray(colors).save(stream, "PNG")
    return base64.b64encode(zlib.compress(stream.getvalue())).decode()


def figure(label, kind, exterior=(), interior=(), **more):
    return {
        "id": 497521359,
        "classId": 1661571,
        "description": "",
        "geometryType": kind,
        "labelerLogin": "me",
        "createdAt": "2023-08-07T11:09:51.054Z",
        "tags": [],
        "classTitle": label,
        "points": {"exterior": list(exterior), "interior": list(interior)},
        **more,
    }


def annotated(*objects, tags=(), size=(WIDTH, HEIGHT), **more):
    width, height = size
    start = {"description": "", "tags": list(tags)}
    return {**start, "size": {"height": height, "width": width}, "objects": list(objects), **more}


def tag(name, value=None):
    return {"id": 1, "tagId": 2, "name": name, "value": value, "labelerLogin": "me"}


META = {
    "classes": [
        {"id": 1, "title": "person", "shape": "any", "color": "#0F138A"},
        {"id": 2, "title": " Größe", "shape": "rectangle", "color": "#0F138A"},
        {"id": 3, "title": "bike", "shape": "polygon", "color": "#0F138A"},
    ],
    "tags": [{"name": "train", "value_type": "none", "color": "#0F138A"}],
    "projectType": "images",
}
TRIANGLE, HOLE = [[10, 10], [40, 12], [20, 40]], [[18, 14], [24, 15], [21, 20]]
NODES = {"a": {"loc": [5, 6]}, "b": {"loc": [25.5, 30], "disabled": False}}

# A project as it is downloaded now: two data sets, every figure, splits as tags.
NEW = {
    "street one/a b.jpg": annotated(
        figure("person", "rectangle", [[4, 5], [24, 35]]),
        figure(" Größe", "rectangle", [[30, 40], [10, 8]]),
        figure("bike", "polygon", TRIANGLE, [HOLE]),
        figure("person", "bitmap", bitmap={"data": bitmap(), "origin": [7, 9]}),
        figure("person", "bitmap", bitmap={"data": bitmap("RGBA"), "origin": [20, 9]}),
        figure("bike", "line", [[1, 2], [9, 8], [3, 20]]),
        figure("bike", "point", [[11, 12]]),
        {"classTitle": "pose", "geometryType": "graph", "nodes": NODES, "tags": []},
        tags=[tag("night"), tag("train")],
    ),
    "street one/empty.png": annotated(tags=[tag("split", "validation")]),
    "second/a b.jpg": annotated(figure("bike", "rectangle", [["3", "4"], ["9.5", "10"]])),
    "second/gone.jpg": annotated(figure("bike", "rectangle", [[3, 4], [9, 10]])),
}
# As old exports had it: no .jpg in the names, no geometryType, tags as texts, "bitmap": null.
OLD = {
    "set/1": {
        "description": "",
        "name": "1",
        "tags": ["test"],
        "size": {"width": WIDTH, "height": HEIGHT},
        "objects": [
            {
                "description": "",
                "bitmap": None,
                "tags": [],
                "classTitle": "Größe",
                "points": {"exterior": [[4, 5], [24, 35]], "interior": []},
            },
            {
                "description": "",
                "bitmap": None,
                "tags": [],
                "classTitle": "bike",
                "points": {"exterior": TRIANGLE, "interior": []},
            },
            {
                "description": "",
                "tags": [],
                "classTitle": "person",
                "bitmap": {"data": bitmap(), "origin": [7, 9]},
                "points": None,
            },
        ],
    }
}
# Put together by hand: without meta.json, annotations beside their images, no size.
BY_HAND = {
    "cat.jpg": {"objects": [figure("cat", "rectangle", [[1, 2], [30, 40]])]},
    "dog.jpg": {"objects": [figure("dog", "polygon", TRIANGLE)], "size": {"width": 9, "height": 9}},
}


def parse(content):
    """Read all objects: image -> class, left, top, right, bottom."""
    return {name: [_outer(item) for item in one["objects"]] for name, one in content.items()}


def _outer(item):
    label = item["classTitle"].strip()
    if item.get("bitmap"):  # the ones are in the columns 1 and 2 of the rows 0 and 1
        x, y = item["bitmap"]["origin"]
        return label, x + 1, y, x + 3, y + 2
    points = [node["loc"] for node in item["nodes"].values()] if "nodes" in item else None
    points = points or item["points"]["exterior"]
    across, down = [float(x) for x, _ in points], [float(y) for _, y in points]
    return label, min(across), min(down), max(across), max(down)


def write(folder, content, meta=META, *, place="ann/"):
    if meta:
        (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8-sig")
    for name, one in content.items():
        data_set, _, image = name.rpartition("/")
        path = folder / data_set / f"{place}{image}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(one), encoding="utf-8")
    return str(folder)


@pytest.fixture
def project(tmp_path, make_image):
    for name in ("street one/img/a b.jpg", "street one/img/empty.png", "second/img/a b.jpg"):
        make_image(tmp_path / name, WIDTH, HEIGHT)
    return tmp_path


def names(source):
    return [item.name for item in source.label_map.item]


def test_a_project_is_read_as_another_parser_reads_it(project):
    source = open_source(write(project, NEW))
    expected = parse(NEW)
    del expected["second/gone.jpg"]
    found = {name.replace("/img/", "/"): boxes for name, boxes in read_boxes(source).items()}
    assert_same(found, expected)
    assert source.format == "supervisely"
    assert names(source) == ["person", "Größe", "bike", "pose"]
    ((place, message),) = problems(source).items()
    assert place == "second/ann/gone.jpg.json"
    assert "not found" in message


def test_tags_of_images_are_their_splits(project):
    splits = {entry.place: entry.split for entry in open_source(write(project, NEW)).entries}
    assert splits["street one/ann/a b.jpg.json"] == "train"
    assert splits["street one/ann/empty.png.json"] == "val"
    assert splits["second/ann/a b.jpg.json"] is None


def test_names_of_data_sets_are_their_splits_too(tmp_path, make_image):
    content = {"train/1.jpg": annotated(), "test/2.jpg": annotated()}
    make_image(tmp_path / "train/img/1.jpg", WIDTH, HEIGHT)
    make_image(tmp_path / "test/img/2.jpg", WIDTH, HEIGHT)
    entries = open_supervisely(write(tmp_path, content)).entries
    assert {entry.source_id: entry.split for entry in entries} == {
        "1.jpg": "train",
        "2.jpg": "test",
    }


def test_bitmaps_and_holes_become_masks(project):
    source = open_supervisely(write(project, NEW))
    (entry,) = (one for one in source.entries if one.place.startswith("street one/ann/a"))
    sample = entry.read().sample
    for mask, left in ((sample.masks[3], 7), (sample.masks[4], 20)):
        assert mask[9:12, left : left + 4].tolist() == PIXELS
        assert mask.sum() == 3
    assert sample.masks[2][16, 21] == 0  # in the hole
    assert sample.masks[2][25, 22] == 1
    assert int(sample.masks[2].sum()) == pytest.approx(sample.areas[2], rel=0.1)
    assert sample.masks[5].sum() == sample.masks[6].sum() == 0
    assert open_supervisely(str(project), OpenOptions(masks=False)).masks is False


def test_old_exports_are_read_as_another_parser_reads_them(tmp_path, make_image):
    make_image(tmp_path / "set/img/1.jpg", WIDTH, HEIGHT)
    source = open_source(write(tmp_path, OLD))
    assert_same(read_boxes(source), {"1.jpg": parse(OLD)["set/1"]})
    assert [entry.split for entry in source.entries] == ["test"]


def test_files_beside_their_images_are_read_as_another_parser_reads_them(tmp_path, make_image):
    make_image(tmp_path / "cat.jpg", WIDTH, HEIGHT)
    make_image(tmp_path / "dog.jpg", WIDTH, HEIGHT)
    source = open_source(write(tmp_path, BY_HAND, meta=None, place=""))
    assert_same(read_boxes(source), parse(BY_HAND))
    assert names(source) == ["cat", "dog"]
    remarks = [entry.read().remarks[0] for entry in source.entries]
    assert "no image size in the annotation" in remarks[0]
    assert "is not that of the image" in remarks[1]


def test_annotations_as_the_api_gives_them_are_read_too(tmp_path, make_image):
    make_image(tmp_path / "cat.jpg", WIDTH, HEIGHT)
    whole = {"imageId": 3, "imageName": "cat.jpg", "annotation": BY_HAND["cat.jpg"]}
    (tmp_path / "3.json").write_text(json.dumps(whole))
    source = open_source(str(tmp_path))
    assert_same(read_boxes(source), {"cat.jpg": parse(BY_HAND)["cat.jpg"]})


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (figure("", "rectangle"), "objects[0] has no classTitle"),
        (figure("a", "polygon", [[1], [2]]), "objects[0] cannot be read: Its points are not pairs"),
        (figure("a", "bitmap", bitmap={"data": "eJw", "origin": [1, 2]}), "cannot be decoded"),
        (figure("a", "bitmap", bitmap={"data": "eJw"}), "no data or no origin"),
        ({"classTitle": "a", "geometryType": "polygon"}, "no points and no bitmap"),
    ],
)
def test_a_broken_object_costs_its_image_only(project, item, reason):
    content = {"second/a b.jpg": annotated(item), "street one/empty.png": annotated()}
    source = open_supervisely(write(project, content))
    ((place, message),) = problems(source).items()
    assert place == "second/ann/a b.jpg.json"
    assert reason in message
    assert read_boxes(source) == {"empty.png": []}


def test_a_file_that_is_cut_costs_its_image_only(project):
    write(project, NEW)
    path = project / "second/ann/a b.jpg.json"
    path.write_text(path.read_text()[:-20])
    message = problems(open_supervisely(str(project)))["second/ann/a b.jpg.json"]
    assert "a b.jpg.json is not valid JSON" in message


def test_figures_of_other_kinds_are_counted(project):
    content = {"second/a b.jpg": annotated(figure("brain", "mask_3d"), figure("bike", "point"))}
    source = open_supervisely(write(project, content))
    assert "Objects of the kind 'mask_3d': 1, left out." in source.notes


def test_a_broken_meta_is_named(project):
    write(project, NEW)
    (project / "meta.json").write_text("{")
    with pytest.raises(HoldfastError, match=r"meta\.json is not valid JSON"):
        open_supervisely(str(project))
