from __future__ import annotations

import json

import pytest

from holdfast.data.sources.open_source import find_format, open_source
from holdfast.errors import HoldfastError

COCO = json.dumps({"images": [], "annotations": [], "categories": []})
LABELME = json.dumps({"version": "5", "flags": {}, "shapes": [], "imagePath": "1.jpg"})
VOC = "<annotation><filename>1.jpg</filename></annotation>"
SIDES = ("xmin", "ymin", "xmax", "ymax")
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


def test_a_stray_file_of_another_format_does_not_stop_a_good_folder(tmp_path, make_image):
    for number in range(5):
        make_image(tmp_path / f"images/{number}.jpg", 20, 10)
        write(tmp_path, **{f"labels__{number}_DOT_txt": YOLO})
    stray = "<annotation><filename>0.jpg</filename><object><name>cat</name></object></annotation>"
    write(tmp_path, notes__0_DOT_xml=stray, old_DOT_json=COCO)
    source = open_source(str(tmp_path))
    assert (source.format, len(source)) == ("yolo", 5)
    assert source.notes[:2] == (
        "COCO JSON files are there too, and are ignored: they annotate 0 of the images, "
        "YOLO text 5.",
        "Pascal VOC XML files are there too, and are ignored: they annotate 1 of the images, "
        "YOLO text 5.",
    )


def test_the_same_annotations_in_two_formats_need_no_decision(tmp_path, make_image):
    """The tutorial leaves the XML files and the tables that it makes of them side by side."""
    rows = ["filename,width,height,class,xmin,ymin,xmax,ymax"]
    for number in range(3):
        make_image(tmp_path / f"{number}.jpg", 20, 10)
        sides = "".join(f"<{s}>{v}</{s}>" for s, v in zip(SIDES, (1, 2, 3, 4), strict=True))
        thing = f"<object><name>cat</name><bndbox>{sides}</bndbox></object>"
        write(tmp_path, **{f"{number}_DOT_xml": f"<annotation>{thing}</annotation>"})
        rows.append(f"{number}.jpg,20,10,cat,1,2,3,4")
    write(tmp_path, labels_DOT_csv="\n".join(rows))
    source = open_source(str(tmp_path))
    assert source.format == "voc"
    assert source.notes == (
        "CSV table files are there too, and are ignored: they annotate the same images alike.",
    )
    # Tables that say what the split is say more.
    (tmp_path / "labels.csv").unlink()
    write(tmp_path, train_labels_DOT_csv="\n".join(rows[:3]))
    write(tmp_path, test_labels_DOT_csv="\n".join([rows[0], rows[3]]))
    assert open_source(str(tmp_path)).format == "csv"
    assert find_format(str(tmp_path)) == "csv"


def test_as_many_images_in_two_formats_that_disagree_need_a_decision(tmp_path, make_image):
    make_image(tmp_path / "1.jpg", 20, 10)
    write(tmp_path, **{"1_DOT_txt": YOLO})
    write(tmp_path, all_DOT_csv="1.jpg,1,2,3,4,cat\n")
    with pytest.raises(HoldfastError, match=r"yolo and csv, each of 1 image\.\n.*--format yolo or"):
        open_source(str(tmp_path))


def test_two_formats_need_the_option_that_decides(tmp_path):
    write(tmp_path, all_DOT_json=COCO, a__1_DOT_xml=VOC)
    with pytest.raises(HoldfastError, match=r"coco and voc[\s\S]*--format coco or --format voc"):
        open_source(str(tmp_path))
    assert open_source(str(tmp_path), format_name="voc").format == "voc"


def test_a_folder_without_annotations_is_told(tmp_path):
    write(tmp_path, notes_DOT_txt="hello", a__1_DOT_jpg="", a__2_DOT_JPG="", LICENSE="free")
    with pytest.raises(
        HoldfastError, match="holds no annotations in a format that Holdfast knows"
    ) as caught:
        open_source(str(tmp_path))
    assert "COCO JSON, Pascal VOC XML, YOLO text" in caught.value.fix
    assert caught.value.fix.endswith("Found 2 .jpg, 1 without ending, 1 .txt.")


def test_an_archive_is_to_be_unpacked(tmp_path):
    write(tmp_path, data_DOT_zip="PK")
    for place in (tmp_path, tmp_path / "data.zip"):
        with pytest.raises(HoldfastError, match="archive") as error:
            find_format(str(place))
        assert error.value.fix.startswith("Unpack it")


def test_a_single_file_is_found_by_its_content(tmp_path):
    write(tmp_path, a_DOT_json=LABELME, b_DOT_json=COCO, c_DOT_xml=VOC, d_DOT_xml="<project/>")
    found = [find_format(str(tmp_path / name)) for name in ("a.json", "b.json", "c.xml")]
    assert found == ["labelme", "coco", "voc"]
    with pytest.raises(HoldfastError, match=r"d\.xml holds no annotations"):
        find_format(str(tmp_path / "d.xml"))


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("tables__1_DOT_xml", VOC, "voc"),
        ("tables__1_DOT_json", LABELME, "labelme"),
        ("tables__1_DOT_txt", YOLO, "yolo"),
        (
            "tables__all_DOT_json",
            '{"images": [{"id": 1, "file_name": "1.jpg"}], "annotations": [], "categories": []}',
            "coco",
        ),
    ],
)
def test_every_format_takes_its_images_from_the_folder_that_is_named(
    tmp_path, make_image, name, text, form
):
    content = make_image(tmp_path / "elsewhere/1.jpg", 20, 10)
    write(tmp_path, **{name: text})
    source = open_source(str(tmp_path / "tables"), images=str(tmp_path / "elsewhere"))
    (entry,) = source.entries
    assert source.format == form
    assert entry.read().sample.image == content
    assert entry.image_path == str(tmp_path / "elsewhere/1.jpg")
    with pytest.raises(HoldfastError, match="is not a folder"):
        open_source(str(tmp_path / "tables"), images=str(tmp_path / "gone"))


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
def test_real_data_sets_are_recognized(shared, name, form):
    assert find_format(str(shared / "datasets" / name)) == form
