from __future__ import annotations

import json

import pytest

from holdfast.data.sources.find import find_format, open_source
from holdfast.errors import HoldfastError

COCO = json.dumps({"images": [], "annotations": [], "categories": []})
LABELME = json.dumps({"version": "5", "flags": {}, "shapes": [], "imagePath": "1.jpg"})
VOC = "<annotation><filename>1.jpg</filename></annotation>"
YOLO = "0 0.5 0.5 0.1 0.1"


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("all_DOT_json", COCO, "coco"),
        ("data__annotations__all_DOT_json", COCO, "coco"),
        ("train___annotations_DOT_coco_DOT_json", COCO, "coco"),
        ("1_DOT_json", LABELME, "labelme"),
        ("set__1_DOT_json", LABELME, "labelme"),
        ("Annotations__1_DOT_xml", VOC, "voc"),
        ("set__labels__1_DOT_txt", YOLO, "yolo"),
        ("data_DOT_yaml", "names: [cat]", "yolo"),
    ],
)
def test_a_format_is_found_from_the_files(tmp_path, name, text, form):
    write(tmp_path, **{name: text, "set__images__1_DOT_jpg": "", "README_DOT_txt": "0 1 2 3 4"})
    write(tmp_path, package_DOT_json='{"name": "x"}', pom_DOT_xml="<project/>")
    assert find_format(str(tmp_path)) == form


def test_two_formats_need_the_option_that_decides(tmp_path):
    write(tmp_path, all_DOT_json=COCO, a__1_DOT_xml=VOC)
    with pytest.raises(HoldfastError, match=r"coco and voc[\s\S]*--format coco or --format voc"):
        open_source(str(tmp_path))
    assert open_source(str(tmp_path), format_name="voc").format == "voc"


def test_a_folder_without_annotations_is_told(tmp_path):
    write(tmp_path, notes_DOT_txt="hello")
    with pytest.raises(HoldfastError, match="holds no annotations"):
        open_source(str(tmp_path))


def test_a_place_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(HoldfastError, match="does not exist"):
        open_source(str(tmp_path / "gone"))


def test_an_unknown_format_names_the_nearest(tmp_path):
    with pytest.raises(HoldfastError, match=r"no format 'coc'[\s\S]*mean coco"):
        open_source(str(tmp_path), format_name="coc")


def test_environment_variables_in_a_place_are_replaced(tmp_path, monkeypatch):
    write(tmp_path, set__all_DOT_json=COCO)
    monkeypatch.setenv("MY_DATA", str(tmp_path))
    assert open_source("$MY_DATA/set/").location == str(tmp_path / "set")


def test_synthetic_data_is_asked_for_by_name():
    assert len(open_source("3@32", format_name="synthetic")) == 3
    with pytest.raises(HoldfastError, match="cannot be made from 'many'"):
        open_source("many", format_name="synthetic")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("bccd", "voc"),
        ("raccoon", "voc"),
        ("fruits_nuts_coco_seg", "coco"),
        ("rbc_coco", "coco"),
        ("okra_yolo", "yolo"),
    ],
)
def test_real_data_sets_are_recognised(shared, name, form):
    assert find_format(str(shared / "datasets" / name)) == form
