from __future__ import annotations

import json

import pytest

from holdfast.data.sources.open_source import find_format, open_source
from holdfast.data.sources.sniff import is_coco, is_labelme, is_voc
from holdfast.data.sources.sniff_tools import (
    is_createml,
    is_cvat,
    is_label_studio,
    is_supervisely,
    is_via,
)

from .reading import read_boxes

VOC = """<annotation verified="yes"><filename>{0}.jpg</filename><size><width>40</width>
<height>20</height><depth>3</depth></size><object><name>cat</name><bndbox><xmin>4</xmin>
<ymin>5</ymin><xmax>30</xmax><ymax>15</ymax></bndbox></object></annotation>"""
CVAT = """<?xml version="1.0"?>\n<annotations><version>1.1</version><meta><task/></meta>
<image id="0" name="1.jpg" width="40" height="20"><box label="cat" xtl="4" ytl="5" xbr="30"
ybr="15"/></image></annotations>"""
REGION = {"x": 1, "y": 2, "width": 3, "height": 4, "rectanglelabels": ["cat"]}
LABEL_STUDIO = [
    {
        "id": 1,
        "annotations": [{"id": 2, "result": [{"type": "rectanglelabels", "value": REGION}]}],
        "data": {"image": "/data/upload/1/01234567-2.jpg"},
    }
]
VIA_REGION = {
    "shape_attributes": {"name": "rect", "x": 1, "y": 2, "width": 3, "height": 4},
    "region_attributes": {"class": "cat"},
}
VIA = {"1.jpg5": {"filename": "1.jpg", "size": 5, "regions": [VIA_REGION], "file_attributes": {}}}
BOX = {"label": "cat", "coordinates": {"x": 9, "y": 9, "width": 5, "height": 5}}
FIGURE = {"classTitle": "cat", "points": {"exterior": [[1, 2], [9, 9]], "interior": []}}

FILES = {
    "voc": [VOC.format(1)],
    "cvat": [
        CVAT,
        "<annotations><meta><job><id>1</id></job></meta><track label='a'/></annotations>",
        "<!-- made by <annotation> -->\n<annotations>\n<image name='1.jpg'/></annotations>",
    ],
    "coco": [
        json.dumps({"images": [], "annotations": [], "categories": []}),
        json.dumps({"annotations": [{"image_id": 1, "pad": "x" * 70_000}], "images": []}),
        json.dumps({"info": {}, "images": [{"id": n, "file_name": "a" * 99} for n in range(999)]}),
    ],
    "labelme": [json.dumps({"version": "5", "shapes": [], "imagePath": "1.jpg"})],
    "via": [
        json.dumps(VIA),
        json.dumps({"_via_settings": {}, "_via_img_metadata": VIA, "_via_image_id_list": ["a"]}),
    ],
    "label_studio": [
        json.dumps(LABEL_STUDIO),
        json.dumps(LABEL_STUDIO[0]),
        json.dumps([{"id": 1, "completions": [{"result": []}], "data": {"image": "1.jpg"}}]),
        json.dumps([{"id": 1, "annotations": [], "predictions": [], "data": {"image": "1.jpg"}}]),
        json.dumps([{"image": "1.jpg", "id": 1, "label": [REGION], "annotator": 1}]),
    ],
    "createml": [
        json.dumps([{"image": "1.jpg", "annotations": [BOX]}]),
        json.dumps([{"imagefilename": "1.jpg", "annotation": [BOX]}]),
        json.dumps([{"image": "1.jpg", "annotations": []}]),
    ],
    "supervisely": [
        json.dumps({"description": "", "size": {"height": 2, "width": 4}, "objects": []}),
        json.dumps({"objects": [FIGURE]}),
    ],
    "none": [
        json.dumps({"name": "package", "version": "1", "dependencies": {"a": "1"}}),
        json.dumps([{"image": "1.jpg", "caption": "a cat"}]),
        json.dumps({"name": "an app", "categories": ["images", "import"], "icon": "a.png"}),
        json.dumps({"project": {"images": [], "annotations": [], "categories": []}}),
        json.dumps({"classes": [{"title": "cat", "shape": "polygon"}], "tags": []}),
        "<project><annotations/></project>",
    ],
}
TESTS = {
    "voc": is_voc,
    "cvat": is_cvat,
    "coco": is_coco,
    "labelme": is_labelme,
    "via": is_via,
    "label_studio": is_label_studio,
    "createml": is_createml,
    "supervisely": is_supervisely,
}


@pytest.mark.parametrize(
    ("form", "text"), [(form, text) for form, texts in FILES.items() for text in texts]
)
def test_a_file_is_of_one_format_and_no_other(tmp_path, form, text):
    path = tmp_path / "file.txt"
    path.write_text(text, encoding="utf-8-sig")
    found = [name for name, is_one in TESTS.items() if is_one(str(path))]
    assert found == ([] if form == "none" else [form])


def test_a_folder_of_cvat_xml_is_not_taken_for_voc(tmp_path, make_image):
    make_image(tmp_path / "images/1.jpg", 40, 20)
    (tmp_path / "annotations.xml").write_text(CVAT)
    source = open_source(str(tmp_path))
    assert source.format == find_format(str(tmp_path)) == "cvat"
    assert [len(boxes) for boxes in read_boxes(source).values()] == [1]


def test_one_stray_label_studio_export_does_not_block_a_voc_folder(tmp_path, make_image):
    for number in (1, 2, 3):
        make_image(tmp_path / f"{number}.jpg", 40, 20)
        (tmp_path / f"{number}.xml").write_text(VOC.format(number))
    (tmp_path / "project-1-at-2024-01-05.json").write_text(json.dumps(LABEL_STUDIO))
    source = open_source(str(tmp_path))
    assert source.format == "voc"
    assert len(read_boxes(source)) == 3
    assert any("Label Studio JSON" in note and "ignored" in note for note in source.notes)


@pytest.mark.parametrize(
    ("form", "name", "text"),
    [
        ("cvat", "annotations.xml", CVAT),
        ("via", "via.json", json.dumps(VIA)),
        ("label_studio", "x.json", json.dumps(LABEL_STUDIO).replace("01234567-2", "01234567-1")),
        ("createml", "x.json", FILES["createml"][0]),
        ("supervisely", "1.jpg.json", json.dumps({"objects": [FIGURE]})),
    ],
)
def test_images_are_taken_from_the_folder_that_is_named(tmp_path, make_image, form, name, text):
    make_image(tmp_path / "elsewhere/deep/1.jpg", 40, 20)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / name).write_text(text)
    for location in (tmp_path / "tables", tmp_path / "tables" / name):
        source = open_source(str(location), images=str(tmp_path / "elsewhere"))
        assert source.format == form
        assert [len(boxes) for boxes in read_boxes(source).values()] == [1]
        assert source.entries[0].image_path == str(tmp_path / "elsewhere/deep/1.jpg")
