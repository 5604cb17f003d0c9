from __future__ import annotations

import csv
import io
import json
import math

import pytest

from holdfast.data.sources.open_source import open_source
from holdfast.data.sources.source_formats import OpenOptions
from holdfast.data.sources.via import open_via
from holdfast.errors import HoldfastError

from .reading import assert_same, hull_of_ellipse, problems, read_boxes


def region(shape, **attributes):
    return {"shape_attributes": shape, "region_attributes": attributes}


RECT = {"name": "rect", "x": 4, "y": 5, "width": 20, "height": 10}
POLYGON = {"name": "polygon", "all_points_x": [10, 30, 25], "all_points_y": [8, 9, 28]}
CIRCLE = {"name": "circle", "cx": 30, "cy": 20, "r": 7.5}
ELLIPSE = {"name": "ellipse", "cx": 30, "cy": 20, "rx": 14, "ry": 5, "theta": 0.6}
LINE = {"name": "polyline", "all_points_x": [1, 9, 4], "all_points_y": [3, 3, 12]}
POINT = {"name": "point", "cx": 11, "cy": 12}

# VIA 1: regions as an object, the attribute a text; numbers as text, a Windows path.
VERSION_1 = {
    "a b.jpg1234": {
        "fileref": "",
        "size": 1234,
        "filename": "a b.jpg",
        "base64_img_data": "",
        "file_attributes": {},
        "regions": {
            "0": region(RECT, Label=" Käfer"),
            "1": region({**RECT, "x": "10", "width": "3.5"}, Label="ant"),
        },
    },
    "empty.jpg99": {"filename": "empty.jpg", "size": 99, "regions": {}, "file_attributes": {}},
    "gone.jpg5": {"filename": "gone.jpg", "size": 5, "regions": {"0": region(RECT, Label="ant")}},
    "C:\\pictures\\b.png77": {
        "filename": "C:\\pictures\\b.png",
        "size": 77,
        "regions": {"0": region(POLYGON, Label="ant")},
    },
}

# VIA 2: a project with its settings, every shape, the class among other attributes, as radio
# buttons that the project numbers and names.
PROJECT = {
    "_via_settings": {"ui": {"annotation_editor_height": 25}, "project": {"name": "beetles"}},
    "_via_img_metadata": {
        "a b.jpg1234": {
            "filename": "a b.jpg",
            "size": 1234,
            "regions": [
                region(RECT, type="1", remark="blurred"),
                region(POLYGON, type="2", remark=""),
                region(CIRCLE, type="2"),
                region(ELLIPSE, type="1"),
                region(LINE, type="2"),
                region(POINT, type="2"),
                region(RECT, remark="what is it?"),
            ],
            "file_attributes": {"place": "garden"},
        },
        "empty.jpg99": {"filename": "empty.jpg", "size": 99, "regions": [], "file_attributes": {}},
    },
    "_via_attributes": {
        "region": {
            "type": {"type": "radio", "options": {"1": "ant", "2": "bee"}, "default_options": {}},
            "remark": {"type": "text", "description": "", "default_value": ""},
        },
        "file": {},
    },
    "_via_data_format_version": "2.0.10",
    "_via_image_id_list": ["a b.jpg1234", "empty.jpg99"],
}

# VIA 2: annotations alone, the class as checkboxes; the same image twice.
CHECKBOXES = {
    "a b.jpg1234": {
        "filename": "a b.jpg",
        "size": 1234,
        "regions": [region(RECT, Kind={"ant": True}), region(CIRCLE, Kind={"ant": 0, "bee": True})],
        "file_attributes": {},
    },
    "a b.jpg1299": {
        "filename": "a b.jpg",
        "size": 1299,
        "regions": [region(POLYGON, Kind={"wasp": True, "bee": True})],
        "file_attributes": {},
    },
}


def parse(content, label_of):
    """Read every region whose class label_of knows: image -> class, left, top, right, bottom."""
    found = {}
    for image in content.get("_via_img_metadata", content).values():
        boxes = found.setdefault(image["filename"].split("\\")[-1], [])
        regions = image["regions"]
        for item in regions.values() if isinstance(regions, dict) else regions:
            if label := label_of(item["region_attributes"]):
                boxes.append((label, *_outer(item["shape_attributes"])))
    return found


def _outer(shape):
    if shape["name"] == "rect":
        x, y, width, height = (float(shape[key]) for key in ("x", "y", "width", "height"))
        return x, y, x + width, y + height
    if "rx" in shape:
        radii = shape["rx"], shape["ry"]
        return hull_of_ellipse((shape["cx"], shape["cy"]), radii, math.degrees(shape["theta"]))
    if "cx" in shape:
        x, y, radius = shape["cx"], shape["cy"], shape.get("r", 0)
        return x - radius, y - radius, x + radius, y + radius
    across, down = shape["all_points_x"], shape["all_points_y"]
    return min(across), min(down), max(across), max(down)


@pytest.fixture
def folder(tmp_path, make_image):
    make_image(tmp_path / "images/a b.jpg", 60, 40)
    make_image(tmp_path / "images/empty.jpg", 60, 40)
    make_image(tmp_path / "images/b.png", 60, 40)
    return tmp_path


def write(folder, content, name="via.json", encoding="utf-8"):
    (folder / name).write_text(json.dumps(content), encoding=encoding)
    return str(folder)


def names(source):
    return [item.name for item in source.label_map.item]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_version_1_is_read_as_another_parser_reads_it(folder, encoding):
    source = open_source(write(folder, VERSION_1, encoding=encoding))
    expected = parse(VERSION_1, lambda attributes: attributes["Label"].strip())
    del expected["gone.jpg"]
    assert_same(read_boxes(source), expected)
    assert source.format == "via"
    assert names(source) == ["Käfer", "ant"]
    ((place, message),) = problems(source).items()
    assert place == "via.json, image gone.jpg"
    assert "not found" in message


def test_a_project_is_read_as_another_parser_reads_it(folder):
    source = open_source(write(folder, PROJECT))
    options = {"1": "ant", "2": "bee"}
    expected = parse(PROJECT, lambda attributes: options.get(attributes.get("type")))
    assert_same(read_boxes(source), expected)
    assert source.notes == ("Regions without 'type': 1, left out.",)
    (entry, _) = source.entries
    sample = entry.read().sample
    assert sample.masks[2].sum() == pytest.approx(math.pi * 7.5**2, rel=0.05)
    assert sample.masks[4].sum() == sample.masks[5].sum() == 0
    assert open_via(str(folder), OpenOptions(masks=False)).masks is False


def test_checkboxes_are_read_as_another_parser_reads_them(folder):
    source = open_source(write(folder, CHECKBOXES))
    expected = parse(
        CHECKBOXES, lambda attributes: next(key for key, on in attributes["Kind"].items() if on)
    )
    assert_same(read_boxes(source), expected)
    assert "Regions of more than one class: 1. The first is used." in source.notes
    assert any("described more than once: 1, such as a b.jpg" in note for note in source.notes)


@pytest.mark.parametrize("header", ["filename", "#filename"])
def test_the_csv_export_holds_the_same(folder, header):
    stream = io.StringIO()
    writer = csv.writer(stream)
    fields = "file_size,file_attributes,region_count,region_id,region_shape_attributes"
    writer.writerow([header, *fields.split(","), "region_attributes"])
    for image in PROJECT["_via_img_metadata"].values():
        regions = image["regions"] or [region({})]
        for index, item in enumerate(regions):
            start = [image["filename"], image["size"], "{}", len(image["regions"]), index]
            writer.writerow([*start, *(json.dumps(part) for part in item.values())])
    (folder / "via_export.csv").write_text(stream.getvalue(), encoding="utf-8-sig")
    source = open_source(str(folder))
    assert source.format == "via"
    # A CSV file does not hold what the numbers of radio buttons mean.
    assert_same(read_boxes(source), parse(PROJECT, lambda attributes: attributes.get("type")))


def test_a_project_explains_the_export_beside_it(folder):
    write(folder, PROJECT, "project.json")
    write(folder, PROJECT["_via_img_metadata"], "via_region_data.json")
    source = open_via(str(folder))
    options = {"1": "ant", "2": "bee"}
    expected = parse(PROJECT, lambda attributes: options.get(attributes.get("type")))
    assert_same(read_boxes(source), expected)


def test_the_name_of_a_shape_may_stand_beside_it(folder):
    shape = {key: value for key, value in RECT.items() if key != "name"}
    item = {"name": "rect", **region(shape, name="ant")}
    content = {"b.png7": {"filename": "b.png", "size": 7, "regions": {"0": item}}}
    assert_same(read_boxes(open_via(write(folder, content))), {"b.png": [("ant", 4, 5, 24, 15)]})


def test_regions_without_any_attribute_are_one_class(folder):
    content = {"b.png7": {"filename": "b.png", "size": 7, "regions": [region(RECT)]}}
    source = open_via(write(folder, content))
    assert_same(read_boxes(source), {"b.png": [("object", 4, 5, 24, 15)]})
    assert "Regions have no attribute: all are of one class, called 'object'." in source.notes


def test_attributes_that_could_all_be_the_class_are_named(folder):
    item = region(RECT, species="ant", color="red")
    content = {"b.png7": {"filename": "b.png", "size": 7, "regions": [item]}}
    with pytest.raises(HoldfastError, match=r"via\.json: .*'species', 'color'[\s\S]*`class`"):
        open_via(write(folder, content))
    item["region_attributes"]["Class "] = "insect"
    assert names(open_via(write(folder, content))) == ["insect"]


def test_a_broken_region_costs_its_image_only(folder):
    broken = [region(RECT, name="ant"), region({"name": "cube"}, name="ant")]
    uneven = [region({**POLYGON, "all_points_x": [1]}, name="ant")]
    content = {
        "a": {"filename": "a b.jpg", "size": 1, "regions": broken},
        "b": {"filename": "b.png", "size": 1, "regions": uneven},
        "c": {"filename": "empty.jpg", "size": 1, "regions": []},
    }
    source = open_via(write(folder, content))
    first, second = problems(source).values()
    assert "Region 1 cannot be read: It is a 'cube'" in first
    assert "Region 0 cannot be read: all_points_x" in second
    assert read_boxes(source) == {"empty.jpg": []}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("x.json", '{"a": {"filename": "a", "regions": [', r"x\.json is not valid JSON: .*line 1"),
        ("x.json", '{"a": {"filename": "", "regions": []}}', r"x\.json: the entry 'a' has no file"),
        (
            "x.json",
            '{"a": {"filename": "a", "regions": [3]}}',
            r"x\.json: 'a' has a region without",
        ),
        (
            "x.csv",
            "filename,region_shape_attributes,region_attributes\n1.jpg,{x,{}",
            r"x\.csv, line 2: region_shape_attributes is not valid JSON",
        ),
        ("x.csv", "filename,region_shape_attributes\n,{}", r"x\.csv, line 2: there is no filename"),
    ],
)
def test_files_that_cannot_be_read_are_named_with_the_place(tmp_path, name, text, reason):
    (tmp_path / name).write_text(text)
    with pytest.raises(HoldfastError, match=reason):
        open_via(str(tmp_path))
