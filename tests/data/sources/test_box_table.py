from __future__ import annotations

import csv
import math
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources import image_files as images
from holdfast.data.sources.box_table import open_csv
from holdfast.data.sources.open_source import find_format, open_source
from holdfast.data.sources.source_formats import OpenOptions
from holdfast.errors import HoldfastError

from .pixel_boxes import pixel_boxes, write

HEADER = "filename,width,height,class,xmin,ymin,xmax,ymax"
TUTORIAL = f"""{HEADER}
1.jpg,80,40,raccoon,4,5,14,13
1.jpg,80,40,dog,0,1.5,41,20
2.jpg,80,40,raccoon,60,2,79,38
"""


@pytest.fixture
def folder(tmp_path, make_image):
    for number in (1, 2, 3):
        make_image(tmp_path / f"images/{number}.jpg", 80, 40, seed=number)
    return tmp_path


def oracle(text, image, label, sides):
    """Read a table by the places of its columns, with nothing but split."""
    found = {}
    for line in filter(None, text.strip().splitlines()[1:]):
        cells = [cell.strip().strip('"') for cell in line.replace(";", ",").split(",")]
        name = cells[image].replace("\\", "/").split("/")[-1]
        box = tuple(round(float(cells[side]), 3) for side in sides)
        found.setdefault(name, set()).add((cells[label], *box))
    return {name: sorted(objects) for name, objects in found.items()}


CORNERS_LAST = {"image": 0, "label": 3, "sides": (4, 5, 6, 7)}
TABLES = {
    "the tutorial's": (TUTORIAL, CORNERS_LAST),
    "with BOM, CRLF and blank lines": (
        "\ufeff" + TUTORIAL.replace("\n", "\r\n\r\n"),
        CORNERS_LAST,
    ),
    "with semicolons": (TUTORIAL.replace(",", ";"), CORNERS_LAST),
    "with a header in other case": (
        TUTORIAL.replace(HEADER, "FileName, Width, Height, Class, XMin, YMin, XMax, YMax"),
        CORNERS_LAST,
    ),
    "with quotes and trailing commas": (
        "\n".join(
            [
                f"{HEADER},,",
                '"1.jpg",80,40,"raccoon",4,5,14,13,,',
                '2.jpg,"80","40",dog,"1","2","3","4",,',
            ]
        ),
        CORNERS_LAST,
    ),
    "with duplicate rows": (TUTORIAL + TUTORIAL.split("\n", 1)[1], CORNERS_LAST),
    "with absolute and Windows paths": (
        f"{HEADER}\n/home/me/images/1.jpg,80,40,dog,1,2,3,4\n"
        "C:\\Users\\me\\images\\2.jpg,80,40,dog,1,2,3,4\n./3.jpg,80,40,dog,1,2,3,4\n",
        CORNERS_LAST,
    ),
    "of VoTT": (
        '"image","xmin","ymin","xmax","ymax","label"\n"1.jpg",4.5,5.25,14,13,"cat"\n',
        {"image": 0, "label": 5, "sides": (1, 2, 3, 4)},
    ),
    "of the German traffic signs": (
        "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId\n1.jpg;80;40;5;6;24;25;14\n",
        {"image": 0, "label": 7, "sides": (3, 4, 5, 6)},
    ),
    "with more columns in another order": (
        "ymax,xmax,ymin,xmin,depth,label,image_path,source\n13,14,5,4,3,cat,a/1.jpg,web\n",
        {"image": 6, "label": 5, "sides": (3, 2, 1, 0)},
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_give_the_boxes_that_are_written_in_them(folder, name):
    text, columns = TABLES[name]
    write(folder, {"labels.csv": text})
    expected = oracle(text.lstrip("\ufeff"), **columns)
    assert find_format(str(folder)) == "csv"
    assert pixel_boxes(open_source(str(folder))) == expected
    assert pixel_boxes(open_source(str(folder / "labels.csv"))) == expected


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"], ids=lambda name: name
)
def test_names_are_read_in_the_encoding_of_the_file(folder, make_image, encoding):
    make_image(folder / "images/café 1.jpg", 80, 40)
    text = f"{HEADER}\ncafé 1.jpg,80,40,Tüte,1,2,3,4\n"
    write(folder, {"labels.csv": text.encode(encoding)})
    source = open_source(str(folder))
    assert pixel_boxes(source) == {"café 1.jpg": [("Tüte", 1, 2, 3, 4)]}
    notes = [note for note in source.notes if "UTF-8" in note]
    expected = ["labels.csv is not UTF-8: it is read as Windows-1252."]
    assert notes == (expected if encoding == "cp1252" else [])


def test_tabs_and_the_separator_line_of_excel_are_understood(folder):
    write(folder, {"a.tsv": TUTORIAL.replace(",", "\t"), "b.csv": "sep=|\n"})
    assert len(pixel_boxes(open_csv(str(folder)))) == 2
    write(folder, {"a.tsv": "", "b.csv": "sep=|\n" + TUTORIAL.replace(",", "|")})
    assert pixel_boxes(open_csv(str(folder)))["2.jpg"] == [("raccoon", 60, 2, 79, 38)]


def test_decimal_commas_stand_beside_semicolons(folder):
    row = "1.jpg;80;40;dog;1,5;2,25;3,75;4\n"
    write(folder, {"labels.csv": f"{HEADER.replace(',', ';')}\n{row}"})
    assert pixel_boxes(open_csv(str(folder))) == {"1.jpg": [("dog", 1.5, 2.25, 3.75, 4)]}


def test_names_with_commas_are_in_quotes(folder, make_image):
    make_image(folder / "images/a, b.jpg", 80, 40)
    write(folder, {"labels.csv": f'{HEADER}\n"a, b.jpg",80,40,"dog, small",1,2,3,4\n'})
    assert pixel_boxes(open_csv(str(folder))) == {"a, b.jpg": [("dog, small", 1, 2, 3, 4)]}


def test_a_stray_quote_harms_its_own_line_only(folder):
    rows = '1.jpg,80,40,"dog,1,2,3,4\n2.jpg,80,40,cat,1,2,3,4\n'
    write(folder, {"labels.csv": f"{HEADER}\n{rows}"})
    source = open_csv(str(folder))
    assert pixel_boxes(source)["2.jpg"] == [("cat", 1, 2, 3, 4)]
    assert "as in line 2" in source.notes[0]


RETINANET = "images/1.jpg,4,5,14,13,dog\nimages/1.jpg,0,1,41,20,cat\nimages/2.jpg,,,,,\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RETINANET, {"1.jpg": [("cat", 0, 1, 41, 20), ("dog", 4, 5, 14, 13)], "2.jpg": []}),
        ("2.jpg,,,,,\n1.jpg,1,2,3,4,7\n", {"1.jpg": [("7", 1, 2, 3, 4)], "2.jpg": []}),
        ("1.jpg,1,2,3,4,object,80,40\n", {"1.jpg": [("object", 1, 2, 3, 4)]}),
        ("1.jpg,80,40,dog,1,2,3,4\n", {"1.jpg": [("dog", 1, 2, 3, 4)]}),
        ("cup,1,2,10,20,1.jpg,80,40\n", {"1.jpg": [("cup", 1, 2, 11, 22)]}),
        (
            "TRAIN,gs://bucket/1.jpg,cup,0.1,0.2,,,0.5,0.75,,\nTEST,gs://b/2.jpg,cup,0,0,,,1,1,,\n",
            {"1.jpg": [("cup", 8, 8, 40, 30)], "2.jpg": [("cup", 0, 0, 80, 40)]},
        ),
    ],
    ids=["keras-retinanet", "empty first", "SKU-110K", "the tutorial's", "makesense.ai", "AutoML"],
)
def test_tables_without_header_are_known_by_their_order(folder, text, expected):
    write(folder, {"annotations.csv": text, "classes.csv": "dog,0\ncat,1\n"})
    assert find_format(str(folder)) == "csv"
    assert pixel_boxes(open_source(str(folder))) == expected


def test_the_set_of_automl_is_the_split(folder):
    rows = ["TRAIN,1.jpg", "VALIDATION,2.jpg", "UNASSIGNED,3.jpg"]
    text = "".join(f"{row},cup,0.1,0.2,,,0.5,0.75,,\n" for row in rows)
    write(folder, {"all.csv": text})
    assert [entry.split for entry in open_csv(str(folder)).entries] == ["train", "val", None]


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("image,label,x,y,w,h,width,height\n1.jpg,cup,1,2,10,20,80,40\n", (1, 2, 11, 22)),
        ("image_id,class,x,y,width,height\n1,cup,1,2,10,20\n", (1, 2, 11, 22)),
        ("image,label,x_center,y_center,width,height\n1.jpg,cup,20,10,10,4\n", (15, 8, 25, 12)),
        ("image,label,cx,cy,w,h\n1.jpg,cup,0.5,0.5,0.25,0.5\n", (30, 10, 50, 30)),
        (
            "label_name,bbox_x,bbox_y,bbox_width,bbox_height,image_name,image_width,image_height\n"
            "cup,1,2,10,20,1.jpg,80,40\n",
            (1, 2, 11, 22),
        ),
    ],
)
def test_boxes_of_corner_or_center_and_size_are_told_by_the_header(folder, text, box):
    write(folder, {"all.csv": text})
    assert pixel_boxes(open_source(str(folder))) == {"1.jpg": [("cup", *box)]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('filename,class,bbox\n1.jpg,cup,"[1, 2, 3, 4]"\n', "No four columns"),
        ("filename,width,height,class,xmin,ymin,xmx,ymax\n", "not have all four sides"),
        ("filename,width,height,class,xmin,ymin\n1.jpg,8,4,cup,1,2\n", "No four columns"),
        ("label,xmin,ymin,xmax,ymax\ncup,1,2,3,4\n", "names the image"),
        ("filename,xmin,ymin,xmax,ymax\n1.jpg,1,2,3,4\n", "names the class"),
        ("filename,filename,class,xmin,ymin,xmax,ymax\n", "Two columns are called filename"),
        ("1.jpg,80,40,7,1,2,3,4\n", "understood in two ways"),
        ("image,label,x,y,w,h\n1.jpg,cup,0.5,0.5,0.2,0.2\n", "the corner or the center"),
        (f"{HEADER}\n", "no table with a row"),
    ],
)
def test_a_table_that_is_not_clear_says_which_columns_are_needed(folder, text, message):
    write(folder, {"labels.csv": text})
    with pytest.raises(HoldfastError, match=message) as caught:
        open_source(str(folder))
    assert "xmin" in caught.value.fix
    assert "labels.csv" in str(caught.value) or str(folder) in str(caught.value)


def test_tables_named_after_splits_are_the_splits(folder):
    train, test = f"{HEADER}\n1.jpg,80,40,dog,1,2,3,4\n", f"{HEADER}\n2.jpg,80,40,dog,1,2,3,4\n"
    write(folder, {"data/train_labels.csv": train, "data/test_labels.csv": test})
    source = open_source(str(folder))
    assert {entry.source_id: entry.split for entry in source.entries} == {
        "1.jpg": "train",
        "2.jpg": "test",
    }
    assert any("1 image not annotated" in note for note in source.notes)
    # Of one of them alone, the images still lie beside its folder.
    assert pixel_boxes(open_source(str(folder / "data/test_labels.csv"))) == {
        "2.jpg": [("dog", 1, 2, 3, 4)]
    }


def test_the_whole_table_beside_its_splits_adds_nothing(folder):
    train, test = f"{HEADER}\n1.jpg,80,40,dog,1,2,3,4\n", f"{HEADER}\n2.jpg,80,40,dog,1,2,3,4\n"
    both = train + test.split("\n", 1)[1]
    write(folder, {"train_labels.csv": train, "test_labels.csv": test, "all_labels.csv": both})
    source = open_source(str(folder))
    assert pixel_boxes(source) == {f"{one}.jpg": [("dog", 1, 2, 3, 4)] for one in (1, 2)}
    assert Counter(entry.split for entry in source.entries) == {"train": 1, "test": 1}
    assert any("2 repeated objects left out" in note for note in source.notes)


def test_an_image_of_two_splits_is_told(folder):
    rows = f"{HEADER}\n1.jpg,80,40,dog,1,2,3,4\n"
    write(folder, {"train.csv": rows, "test.csv": rows})
    (entry,) = (source := open_source(str(folder))).entries
    assert entry.split == "train"
    assert any("1 image in several splits, such as images/1.jpg" in note for note in source.notes)


def test_folders_of_roboflow_are_the_splits(tmp_path, make_image):
    for number, split in enumerate(("train", "valid", "test")):
        name = f"cell_{number}_jpg.rf.0123456789abcdef.jpg"
        make_image(tmp_path / split / name, 80, 40, seed=number)
        write(tmp_path, {f"{split}/_annotations.csv": f"{HEADER}\n{name},80,40,RBC,1,2,3,4\n"})
    write(tmp_path, {"README.roboflow.txt": "cells - v1"})
    source = open_source(str(tmp_path))
    assert source.format == "csv"
    assert Counter(entry.split for entry in source.entries) == {"train": 1, "val": 1, "test": 1}
    assert list(pixel_boxes(source).values()) == [[("RBC", 1, 2, 3, 4)]] * 3


def test_folders_of_images_are_the_splits_of_one_table(tmp_path, make_image):
    make_image(tmp_path / "images/train/1.jpg", 80, 40)
    make_image(tmp_path / "images/test/2.jpg", 80, 40)
    write(tmp_path, {"labels.csv": TUTORIAL})
    splits = {entry.source_id: entry.split for entry in open_source(str(tmp_path)).entries}
    assert splits == {"1.jpg": "train", "2.jpg": "test"}


def test_images_in_another_folder_are_named(tmp_path, make_image):
    make_image(tmp_path / "elsewhere/1.jpg", 80, 40)
    make_image(tmp_path / "elsewhere/2.jpg", 80, 40)
    write(tmp_path, {"tables/labels.csv": TUTORIAL})
    source = open_source(str(tmp_path / "tables"), images=str(tmp_path / "elsewhere"))
    assert set(pixel_boxes(source)) == {"1.jpg", "2.jpg"}
    assert source.entries[0].image_path == str(tmp_path / "elsewhere/1.jpg")


def test_images_that_lie_twice_are_told_apart_by_the_folder_that_is_named(tmp_path, make_image):
    make_image(tmp_path / "a/1.jpg", 80, 40)
    make_image(tmp_path / "b/1.jpg", 80, 40, seed=1)
    write(tmp_path, {"labels.csv": f"{HEADER}\n1.jpg,80,40,dog,1,2,3,4\n"})
    with pytest.raises(HoldfastError, match=r"could be a/1\.jpg or b/1\.jpg\.\n.*--images"):
        open_csv(str(tmp_path)).entries[0].read()
    (sample,) = open_csv(str(tmp_path), OpenOptions(images=str(tmp_path / "b")))
    assert sample.image == (tmp_path / "b/1.jpg").read_bytes()
    with pytest.raises(HoldfastError, match="named by --images, is not a folder"):
        open_csv(str(tmp_path), OpenOptions(images=str(tmp_path / "gone")))


def test_a_bad_row_is_left_out_counted_and_named(folder):
    rows = [
        "1.jpg,80,40,dog,1,2,3,4",
        "1.jpg,80,40,dog,1,x,3,4",
        "1.jpg,80,40,,5,6,7,8",
        ",80,40,dog,1,2,3,4",
        "2.jpg,80,40,dog",
        "3.jpg,80,40,dog,1,2,3,4,5",
        "gone.jpg,80,40,dog,1,2,3,4",
        ",,,,,,,",
    ]
    write(folder, {"labels.csv": "\n".join([HEADER, *rows])})
    source = open_csv(str(folder))
    entries = {entry.place: entry for entry in source.entries}
    first = entries["labels.csv, line 2"].read().sample
    assert first.classes.tolist() == [0, 0, -1]
    assert np.isnan(first.boxes).any(axis=1).tolist() == [False, True, False]
    assert np.isnan(entries["labels.csv, line 6"].read().sample.boxes).all()
    for place, message in (
        ("labels.csv, line 5", "names no image"),
        ("labels.csv, line 7", "has 9 fields, not 8"),
        ("labels.csv, line 8", r"'gone\.jpg' was not found"),
    ):
        with pytest.raises(HoldfastError, match=message):
            entries[place].read()
    assert len(entries) == 5
    assert "labels.csv: 2 rows left out, a coordinate is not a number" in source.notes[0]
    assert "as in line 3 (1.jpg,80,40,dog,1,x,3,4)" in source.notes[0]
    assert "labels.csv: 1 row left out, no class" in source.notes[1]


def test_swapped_corners_stay_for_the_checks_to_find(folder):
    write(folder, {"labels.csv": f"{HEADER}\n1.jpg,80,40,dog,30,20,10,5\n"})
    assert pixel_boxes(open_csv(str(folder))) == {"1.jpg": [("dog", 30, 20, 10, 5)]}


@pytest.mark.parametrize(
    ("size", "remark"),
    [("0,0", images.SIZE_MISSING), (",", images.SIZE_MISSING), ("40,80", images.SIZE_DIFFERS)],
)
def test_a_missing_or_wrong_size_is_read_from_the_image(folder, size, remark):
    write(folder, {"labels.csv": f"{HEADER}\n1.jpg,{size},dog,8,4,16,8\n"})
    reading = open_csv(str(folder)).entries[0].read()
    np.testing.assert_allclose(reading.sample.boxes, [[0.1, 0.1, 0.2, 0.2]])
    assert reading.remarks == (remark,)


def test_a_table_that_cannot_be_understood_is_left_out_beside_one_that_can(folder):
    write(folder, {"a.csv": "filename,class,bbox\n1.jpg,cup,1 2 3 4\n", "b.csv": TUTORIAL})
    source = open_csv(str(folder))
    assert len(source) == 2
    assert "a.csv is left out: No four columns" in source.notes[0]


def test_other_tables_are_not_tables_of_boxes(folder):
    for text in ("epoch,loss\n1,2\n", "image,caption\n1.jpg,a dog\n", "", "a\n", "1,2,3,4,5,6\n"):
        write(folder, {"other.csv": text})
        with pytest.raises(HoldfastError, match="holds no annotations"):
            find_format(str(folder))


def test_a_table_put_together_of_two_has_its_header_twice(folder):
    write(folder, {"labels.csv": TUTORIAL + TUTORIAL.replace("dog", "cat")})
    assert len(pixel_boxes(open_csv(str(folder)))["1.jpg"]) == 3


def test_entries_change_when_their_rows_change(folder):
    write(folder, {"labels.csv": TUTORIAL})
    before = [entry.fingerprint for entry in open_csv(str(folder)).entries]
    write(folder, {"labels.csv": TUTORIAL.replace("60,2", "61,2")})
    after = [entry.fingerprint for entry in open_csv(str(folder)).entries]
    assert [one == two for one, two in zip(before, after, strict=True)] == [True, False]


def test_the_tutorials_table_of_raccoons_gives_the_boxes_of_its_xml_files(shared, tmp_path):
    """Written as the tutorial's xml_to_csv.py does: all rows, then a train and a test table."""
    raccoons = shared / "datasets/raccoon"
    rows = []
    for path in sorted(raccoons.glob("annotations/*.xml")):
        root = ElementTree.parse(path).getroot()
        size = [root.findtext(f"size/{side}") for side in ("width", "height")]
        for item in root.iter("object"):
            corners = [item.findtext(f"bndbox/{key}") for key in ("xmin", "ymin", "xmax", "ymax")]
            rows.append([root.findtext("filename"), *size, item.findtext("name"), *corners])
    for name, part in (("raccoon", rows), ("train", rows[:170]), ("test", rows[170:])):
        with open(tmp_path / f"{name}_labels.csv", "w", newline="") as stream:
            csv.writer(stream).writerows([HEADER.split(","), *part])
    (tmp_path / "images").symlink_to(raccoons / "images")
    table, files = open_source(str(tmp_path)), open_source(str(raccoons), format_name="voc")
    assert table.format == "csv"
    assert len(table) == 200
    assert pixel_boxes(table) == pixel_boxes(files)
    assert sum(map(len, pixel_boxes(table).values())) == 217
    assert {entry.split for entry in table.entries} == {"train", "test"}
    assert math.isclose(sum(entry.split == "train" for entry in table.entries), 157, abs_tol=14)


def test_a_conversion_counts_the_bad_rows_and_names_their_lines(folder, tmp_path):
    rows = ["1.jpg,80,40,dog,1,2,30,40", "2.jpg,80,40,dog,1,x,3,4", "2.jpg,80,40,,5,6,7,8"]
    rows += [",80,40,dog,1,2,3,4", "gone.jpg,80,40,dog,1,2,3,4", "3.jpg,80,40,dog,30,2,3,4"]
    write(folder, {"labels.csv": "\n".join([HEADER, *rows])})
    result = convert(open_csv(str(folder)), str(tmp_path / "out"), val=0)
    assert (result.images, result.boxes, result.images_left_out) == (3, 1, 2)
    left_out = {group.reason: (group.boxes, group.examples[0]) for group in result.left_out}
    assert left_out == {
        "a coordinate is not a number": (1, "labels.csv, line 3 (2.jpg)"),
        "the class id is 0 or negative": (1, "labels.csv, line 3 (2.jpg)"),
        "minimum and maximum are swapped": (1, "labels.csv, line 7 (3.jpg)"),
        "cannot be read": (1, left_out["cannot be read"][1]),
    }
    unreadable = next(group for group in result.left_out if group.reason == "cannot be read")
    assert sorted(example.partition(":")[0] for example in unreadable.examples) == [
        "labels.csv, line 5",
        "labels.csv, line 6 (gone.jpg)",
    ]
    with pytest.raises(HoldfastError, match=r"labels\.csv, line \d"):
        convert(open_csv(str(folder)), str(tmp_path / "strict"), val=0, strict=True)
