"""What `inspect` counts in a data set with faults is what `convert` writes and leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.label_map import load_label_map
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.source import Source
from holdfast.data.survey.inspection import inspect_data, open_data

from ..cli import bad_inputs
from ..cli.bad_inputs import boxes, coco, huge_png, jpeg, voc, voc_xml, yolo

PICTURES = [{"id": number, "file_name": f"{number}.jpg"} for number in range(4)]
SOURCES = {
    "clean": yolo(jpeg(1), jpeg(2)),
    "broken images": yolo(b"", b"text", jpeg()[:700], jpeg()[:300], huge_png(90_000)),
    "images of other kinds": yolo(bad_inputs.png()),
    "labels of other kinds": yolo(
        jpeg(1), jpeg(2), label="0 .5 .5 nan .2\n0 .5 .5 .2 .2\n0 2 2 1 1"
    ),
    "text for labels": yolo(jpeg(1), label="cat dog"),
    "a class in a gap": yolo(jpeg(1), label="3 .5 .5 .2 .2", names="{0: cat, 5: dog}"),
    "a class above all": yolo(jpeg(1), label="7 .5 .5 .2 .2\n0 .5 .5 .2 .2"),
    "swapped corners": voc(voc_xml("20 2 2 9")),
    "corners outside": voc(voc_xml("-9 2 300 9")),
    "corners of no size": voc(voc_xml("5 5 5 9")),
    "damaged XML": voc(voc_xml("1 2 9 9")[:70]),
    "a bomb": voc(bad_inputs.BILLION_LAUGHS),
    "a name that is not UTF-8": bad_inputs.not_utf8,
    "missing images": coco(images=[{"id": 1, "file_name": "0.jpg"}, *PICTURES[2:]]),
    "images listed twice": coco(images=[{"id": 1, "file_name": "0.jpg"}] * 3),
    "boxes that are words": coco(annotations=boxes({}, {"bbox": "none"}, {"bbox": [1, 2, -3, 4]})),
    "annotations of nothing": coco(annotations=boxes({}, {"image_id": 77}, {"category_id": 77})),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_inspecting_and_converting_count_alike(make, tmp_path: Path):
    make(tmp_path)
    source = open_data(str(tmp_path / "data"))
    assert isinstance(source, Source)
    seen = inspect_data(source, strict=False).statistics
    done = convert(source, str(tmp_path / "records"), val=0.0)
    left_out = sum(group.boxes for group in done.left_out)
    assert (seen.images, seen.images_left_out) == (done.images, done.images_left_out)
    assert (seen.boxes, seen.boxes_left_out) == (done.boxes, left_out)
    written = {
        name: count for split in done.splits.values() for name, count in split.classes.items()
    }
    assert seen.classes == written
    label_map = load_label_map(done.label_map_path)
    again = inspect_data(open_data(str(tmp_path / "records"), None, label_map)).statistics
    assert (again.images, again.boxes, again.classes) == (seen.images, seen.boxes, seen.classes)
    assert (again.images_left_out, again.boxes_left_out) == (0, 0)
