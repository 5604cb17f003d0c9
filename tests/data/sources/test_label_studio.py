from __future__ import annotations

import itertools
import json
import urllib.parse

import pytest

from holdfast.data.sources.label_studio import open_label_studio
from holdfast.data.sources.open_source import open_source
from holdfast.data.sources.source_formats import OpenOptions
from holdfast.errors import HoldfastError

from .reading import assert_same, hull_of_ellipse, hull_of_turned_box, problems, read_boxes

WIDTH, HEIGHT = 80, 40
IDS = itertools.count()


def result(kind, labels, *, name=None, **value):
    return {
        "original_width": WIDTH,
        "original_height": HEIGHT,
        "image_rotation": 0,
        "value": {**value, **({kind: labels} if labels else {})},
        "id": name or f"r{next(IDS)}",
        "from_name": "label",
        "to_name": "image",
        "type": kind,
        "origin": "manual",
    }


def rectangle(label, x, y, width, height, rotation=0, **more):
    place = {"x": x, "y": y, "width": width, "height": height, "rotation": rotation}
    return result("rectanglelabels", [label], **place, **more)


def annotation(*results, updated="2024-01-01T10:00:00.000000Z", **more):
    start = {"id": 11, "completed_by": 1, "was_cancelled": False, "ground_truth": False}
    return {**start, "result": results, "created_at": updated, "updated_at": updated, **more}


def task(number, image, *annotations, **more):
    return {
        "id": number,
        "annotations": annotations,
        "file_upload": image.rpartition("/")[2],
        "drafts": [],
        "predictions": [{"result": [rectangle("guess", 0, 0, 100, 100)], "score": 0.3}],
        "data": {"image": image},
        "meta": {},
        "project": 1,
        **more,
    }


# Uploaded images: every kind of region, tasks nobody did, cancelled and doubled annotations.
FULL = [
    task(
        1,
        "/data/upload/1/3f2a1b4c-red_car.jpg",
        annotation(
            rectangle("Käfer ", 10, 20, 25.5, 30),
            rectangle("car", 50, 50, 20, 20, rotation=30),
            result("polygonlabels", ["car"], points=[[10, 10], [40.5, 20], [30, 80]], closed=True),
            result("ellipselabels", ["car"], x=50, y=50, radiusX=20, radiusY=15, rotation=25),
            result("keypointlabels", ["wheel"], x=30, y=60, width=0.5),
            result("keypointlabels", ["wheel"], x=40, y=60, width=30, height=20),  # of a script
            result("brushlabels", ["road"], format="rle", rle=[0, 1, 2]),
            result("rectangle", [], name="two", x=5, y=5, width=10, height=10, rotation=0),
            result("labels", ["car"], name="two", x=5, y=5, width=10, height=10, rotation=0),
            result("choices", ["sharp"], name="two", x=5, y=5, width=10, height=10, rotation=0),
            result("rectangle", [], name="none", x=7, y=5, width=10, height=10, rotation=0),
            result("rectanglelabels", ["car", "van"], x=70, y=5, width=10, height=9, rotation=0),
        ),
    ),
    task(2, "/data/upload/1/aabbccdd-empty.jpg", annotation()),
    task(3, "/data/upload/1/00112233-later.jpg"),
    task(4, "/data/upload/1/00112244-skipped.jpg", annotation(was_cancelled=True)),
    task(
        5,
        "/data/upload/1/12345678-twice.jpg",
        annotation(rectangle("car", 1, 1, 10, 10), updated="2024-01-02T10:00:00Z"),
        annotation(rectangle("car", 2, 2, 10, 10), updated="2024-01-03T10:00:00Z"),
        annotation(rectangle("car", 3, 3, 10, 10), updated="2024-01-04T10:00:00Z"),
        annotation(rectangle("car", 9, 9, 9, 9), updated="2024-01-05Z", was_cancelled=True),
    ),
    task(
        6,
        "/data/upload/1/12345679-truth.jpg",
        annotation(rectangle("car", 1, 1, 10, 10), ground_truth=True),
        annotation(rectangle("car", 2, 2, 10, 10), updated="2024-01-03T10:00:00Z"),
    ),
]
COUNTED = {5: 2, 6: 0}  # task -> the annotation that counts

# Local files under Label Studio 0.x: completions, an address in a query, sizes that are missing.
OLD = [
    {
        "id": 0,
        "data": {"img": "/data/local-files/?d=set%5Cred%20car.jpg", "note": "x"},
        "completions": [
            {
                "id": 1,
                "result": [
                    {
                        "id": "a",
                        "type": "rectanglelabels",
                        "value": {
                            "x": "12.5",
                            "y": 20,
                            "width": 25,
                            "height": 30,
                            "rotation": 0,
                            "rectanglelabels": ["Käfer"],
                        },
                    }
                ],
            }
        ],
    },
    {"id": 1, "data": {"img": "s3://bucket/set/empty.jpg"}, "completions": [{"result": []}]},
]

# JSON-MIN: names of the labeling setup as keys, one row for each annotation of a task.
MIN = [
    {
        "image": "https://example.com/photos/red_car.jpg?token=abc",
        "id": 1,
        "label": [
            {
                "x": 10,
                "y": 20,
                "width": 30,
                "height": 40,
                "rotation": 0,
                "rectanglelabels": ["car"],
                "original_width": WIDTH,
                "original_height": HEIGHT,
            },
            {
                "points": [[10, 10], [40, 20], [30, 80]],
                "polygonlabels": ["van"],
                "original_width": WIDTH,
                "original_height": HEIGHT,
            },
        ],
        "annotator": 1,
        "annotation_id": 1,
        "created_at": "2024-01-01T10:00:00.000000Z",
        "updated_at": "2024-01-01T10:00:00.000000Z",
        "lead_time": 3.2,
    },
    {"image": "https://example.com/photos/empty.jpg", "id": 2, "annotator": 1, "annotation_id": 2},
]


def parse(content, counted=None):
    """Read the regions of a list of tasks by name: image -> class, left, top, right, bottom."""
    found = {}
    for item in content:
        data = item.get("data") or item
        address = urllib.parse.unquote(data.get("image") or data["img"]).replace("\\", "/")
        name = address.partition("?token")[0].rpartition("/")[2]
        if "data" in item:
            versions = item.get("annotations") or item.get("completions")
            valid = [one for one in versions or () if not one.get("was_cancelled")]
            if not valid:
                continue
            chosen = valid[(counted or {}).get(item["id"], 0)]
            values = [one["value"] for one in chosen["result"]]
        else:
            values = item.get("label", [])
        found[name] = [box for value in values if (box := _outer(value))]
    return found


def _outer(value):
    labels = [one for key, found in value.items() if key.endswith("labels") for one in found]
    if not labels or "rle" in value:
        return None
    label, turn = labels[0].strip(), value.get("rotation", 0)
    if "points" in value:
        across = [x * WIDTH / 100 for x, _ in value["points"]]
        down = [y * HEIGHT / 100 for _, y in value["points"]]
        return label, min(across), min(down), max(across), max(down)
    x, y = float(value["x"]) * WIDTH / 100, value["y"] * HEIGHT / 100
    if "radiusX" in value:
        radii = value["radiusX"] * WIDTH / 100, value["radiusY"] * HEIGHT / 100
        return label, *hull_of_ellipse((x, y), radii, turn)
    width, height = value["width"] * WIDTH / 100, value.get("height", 0) * HEIGHT / 100
    if "keypointlabels" in value:
        return label, x, y, x, y
    return label, *hull_of_turned_box((x, y, x + width, y + height), turn, (x, y))


def write(folder, content, name="project-1-at-2024-01-05-10-00-a1b2c3d4.json"):
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return str(folder)


@pytest.fixture
def folder(tmp_path, make_image):
    """Images under the names that their owner knows, and one as Label Studio stores it."""
    for name in ("red_car", "12345678-twice", "truth", "empty", "later", "skipped"):
        make_image(tmp_path / f"images/{name}.jpg", WIDTH, HEIGHT)
    return tmp_path


def test_a_full_export_is_read_as_another_parser_reads_it(folder):
    source = open_source(write(folder, FULL))
    expected = {
        name if name.startswith("12345678") else name.partition("-")[2]: boxes
        for name, boxes in parse(FULL, COUNTED).items()
    }
    assert_same(read_boxes(source), expected)
    assert source.format == "label_studio"
    assert [item.name for item in source.label_map.item] == ["Käfer", "car", "wheel"]


def test_notes_say_what_was_chosen_and_what_is_not_read(folder):
    notes = open_label_studio(write(folder, FULL)).notes
    assert set(notes) == {
        "Regions of more than one label: 1. The first is used.",
        "Tasks with more than one annotation: 2. The ground truth, or else the newest, is used.",
        "Rotated boxes: 1. The upright box around each is used.",
        "Regions drawn with the brush: 1, left out.",
        "Regions without a label: 1, left out.",
        "Tasks that nobody annotated: 2, left out.",
    }


def test_polygons_become_masks(folder):
    sample = next(iter(open_label_studio(write(folder, FULL))))
    inside = [(20, 25), (8, 10)]  # pixels x, y inside of the polygon, and outside
    assert [int(sample.masks[2][y, x]) for x, y in inside] == [1, 0]
    without = open_label_studio(str(folder), OpenOptions(masks=False))
    assert next(iter(without)).masks is None


def test_local_files_and_completions_are_read_as_another_parser_reads_them(tmp_path, make_image):
    make_image(tmp_path / "set/red car.jpg", WIDTH, HEIGHT)
    make_image(tmp_path / "other/red car.jpg", 9, 9)
    make_image(tmp_path / "set/empty.jpg", WIDTH, HEIGHT)
    source = open_source(write(tmp_path, OLD))
    assert_same(read_boxes(source), parse(OLD))
    assert source.entries[0].image_path == str(tmp_path / "set/red car.jpg")


def test_json_min_is_read_as_another_parser_reads_it(folder):
    source = open_source(write(folder, MIN))
    assert_same(read_boxes(source), parse(MIN))
    assert source.format == "label_studio"
    later = {**MIN[0], "label": MIN[0]["label"][:1], "updated_at": "2024-02-02"}
    source = open_label_studio(write(folder, [*MIN, later]))
    assert len(read_boxes(source)["red_car.jpg"]) == 1
    assert any("Tasks with more than one annotation: 1" in note for note in source.notes)


def test_percent_count_for_an_image_that_was_made_smaller(folder, make_image):
    make_image(folder / "images/red_car.jpg", 40, 20)
    source = open_label_studio(write(folder, MIN))
    halves = [(name, *(side / 2 for side in box)) for name, *box in parse(MIN)["red_car.jpg"]]
    assert_same({"red_car.jpg": read_boxes(source)["red_car.jpg"]}, {"red_car.jpg": halves})


def test_one_file_of_a_cloud_storage_is_one_annotation(folder):
    one = {**annotation(rectangle("car", 10, 20, 30, 40)), "task": {**FULL[0], "annotations": []}}
    source = open_source(write(folder, one, "1.json"))
    assert_same(read_boxes(source), {"red_car.jpg": [("car", 8, 8, 32, 24)]})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"image_rotation": 90}, "was rotated in the labeling tool"),
        ({"original_width": None, "original_height": None}, "original_width"),
        ({"value": {"points": [[1], [2]], "polygonlabels": ["car"]}}, "not pairs of numbers"),
    ],
)
def test_a_broken_region_costs_its_image_only(folder, change, reason):
    broken = {**rectangle("car", 1, 1, 10, 10, rotation=30), **change}
    content = [task(1, "red_car.jpg", annotation(broken)), FULL[1]]
    source = open_label_studio(write(folder, content))
    (message,) = problems(source).values()
    assert reason in message
    assert read_boxes(source) == {"empty.jpg": []}


def test_a_task_without_an_image_and_one_whose_image_is_gone_are_told(folder):
    text = {**task(7, "", annotation()), "data": {"text": "hello"}, "file_upload": None}
    content = [text, task(8, "/data/upload/1/aabbccdd-gone.jpg", annotation()), FULL[1]]
    places = problems(open_label_studio(write(folder, content, "x.json")))
    assert places["x.json, task 7"] == "The task names no image."
    assert "gone.jpg' was not found" in places["x.json, task 8 (upload/1/aabbccdd-gone.jpg)"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"id": 1, "annotations": [{"result": [', r"x\.json is not valid JSON: .*line 1"),
        ('[{"annotations": [{"result": []}], "data": {}}, 3]', r"x\.json is not a list of"),
        ('[{"annotations": [], "data": {"image": "a.jpg"}}]', "has no annotated tasks"),
    ],
)
def test_files_that_cannot_be_read_are_named(tmp_path, text, reason):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(HoldfastError, match=reason):
        open_label_studio(str(tmp_path))
