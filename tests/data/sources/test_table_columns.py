from __future__ import annotations

import pytest

from holdfast.data.sources.table_columns import BoxKind, find_columns
from holdfast.errors import HoldfastError


@pytest.mark.parametrize(
    ("header", "image", "label", "box", "kind", "size"),
    [
        ("filename width height class xmin ymin xmax ymax", 0, 3, (4, 5, 6, 7), "CORNERS", (1, 2)),
        ("image_id,name,x1,y1,x2,y2", 0, 1, (2, 3, 4, 5), "CORNERS", (None, None)),
        ("Path,Left,Top,Right,Bottom,Label", 0, 5, (1, 2, 3, 4), "CORNERS", (None, None)),
        ("class_id,class,file,xmin,xmax,ymin,ymax", 2, 1, (3, 5, 4, 6), "CORNERS", (None, None)),
        ("image,label,x,y,w,h", 0, 1, (2, 3, 4, 5), "CORNER_AND_SIZE", (None, None)),
        ("image,label,x,y,width,height", 0, 1, (2, 3, 4, 5), "CORNER_AND_SIZE", (None, None)),
        ("image,width,height,label,x,y,w,h", 0, 3, (4, 5, 6, 7), "CORNER_AND_SIZE", (1, 2)),
        ("image,label,cx,cy,w,h", 0, 1, (2, 3, 4, 5), "CENTER_AND_SIZE", (None, None)),
        # Of two that may be the image's name, that of the file counts.
        ("image_id,filename,label,xmin,ymin,xmax,ymax", 1, 2, (3, 4, 5, 6), "CORNERS", (None,) * 2),
    ],
)
def test_columns_are_found_by_their_names(header, image, label, box, kind, size):
    cells = header.split("," if "," in header else None)
    found = find_columns([cells, ["1"] * len(cells)])
    assert (found.image, found.label, found.box) == (image, label, box)
    assert found.kind is BoxKind[kind]
    assert (found.width, found.height) == size


@pytest.mark.parametrize(
    "header",
    [
        "filename,class,xmin,ymin",
        "filename,class,xmin,ymin,xmax",
        "filename,class,xmin,ymin,xmax,height",
        "filename,width,height,class,xmin,ymin",  # whose width and height?
        "filename,class,bbox",
        "filename,xmin,ymin,xmax,ymax",
        "class,xmin,ymin,xmax,ymax",
        "filename,class,xmin,xmin,ymin,xmax,ymax",
    ],
)
def test_a_header_that_lacks_something_names_what_is_needed(header):
    with pytest.raises(HoldfastError) as caught:
        find_columns([header.split(",")])
    assert header.replace(",", ", ") in caught.value.message
    assert "needs the columns filename, class, xmin, ymin, xmax and ymax" in caught.value.fix


@pytest.mark.parametrize(
    "row",
    [
        "1.jpg,1,2,3,4,dog",
        "1.jpg,,,,,",
        "1.jpg,1,2,3,4,dog,80,40",
        "1.jpg,80,40,dog,1,2,3,4",
        "TEST,gs://a/1.jpg,dog,0.1,0.2,,,0.3,0.4,,",
        "1.jpg,dog,0.1,0.2,0.3,0.2,0.3,0.4,0.1,0.4",
        "dog,1,2,3,4,1.jpg,80,40",
    ],
)
def test_rows_of_a_known_order_need_no_header(row):
    found = find_columns([row.split(","), ["", *row.split(",")[1:]]][:1])
    assert row.split(",")[found.image].endswith("1.jpg")
    assert row.split(",")[found.label] in ("dog", "")
    assert not found.has_header


@pytest.mark.parametrize(
    "row",
    ["", "a", "1,2,3,4,5,6", "1.jpg,1,2,3,dog", "1.jpg,1,2,3,x,dog", "epoch,loss", "1.jpg,a dog"],
)
def test_other_rows_are_not_a_table_of_boxes(row):
    assert find_columns([row.split(",")]) is None


def test_an_order_has_to_fit_every_row_that_is_looked_at():
    assert find_columns([["1.jpg", "1", "2", "3", "4", "dog"], ["1.jpg", "a", "dog"]]) is None


def test_an_order_that_may_be_another_is_not_guessed():
    with pytest.raises(HoldfastError, match="understood in two ways"):
        find_columns([["1.jpg", "80", "40", "7", "1", "2", "3", "4"]])
