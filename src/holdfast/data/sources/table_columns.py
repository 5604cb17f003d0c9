"""Which column of a table of boxes holds what: found by the header, or by a known order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from holdfast.data.sources.lookup import is_image
from holdfast.data.sources.plain_text import is_number
from holdfast.errors import HoldfastError

Row = Sequence[str]


class BoxKind(Enum):
    """How four columns give a box."""

    CORNERS = "left, top, right, bottom"
    CORNER_AND_SIZE = "left, top, width, height"
    CENTER_AND_SIZE = "center, width, height"


class Columns(NamedTuple):
    """The numbers of the columns; None: the table has no such column."""

    image: int
    label: int
    box: tuple[int, int, int, int]  # x before y, in the order of the kind
    kind: BoxKind
    num_columns: int
    width: int | None = None  # of the image
    height: int | None = None
    split: int | None = None
    difficult: int | None = None
    truncated: int | None = None
    has_header: bool = True


NEEDED = (
    "A table of boxes needs the columns filename, class, xmin, ymin, xmax and ymax; "
    "width and height of the image are optional."
)
# What columns are called, without case, blanks and punctuation; the first that is there counts.
_IMAGE = (
    *("filename", "imagefilename", "imagefile", "file", "imagepath", "imgpath", "filepath", "path"),
    *("imagename", "imgname", "image", "img", "imageid", "imgid", "frame"),
)
_LABEL = (
    *("class", "classname", "label", "labelname", "category", "categoryname", "name", "objectname"),
    *("annotationtag", "tag", "object", "species", "classid", "labelid", "categoryid"),
)
_LEFT = ("xmin", "x1", "left", "xtl", "x0", "bboxxmin", "boxxmin", "roix1", "upperleftcornerx")
_TOP = ("ymin", "y1", "top", "ytl", "y0", "bboxymin", "boxymin", "roiy1", "upperleftcornery")
_RIGHT = ("xmax", "x2", "right", "xbr", "bboxxmax", "boxxmax", "roix2", "lowerrightcornerx")
_BOTTOM = ("ymax", "y2", "bottom", "ybr", "bboxymax", "boxymax", "roiy2", "lowerrightcornery")
_X, _Y = ("x", "bboxx", "boxx", *_LEFT), ("y", "bboxy", "boxy", *_TOP)
_CENTER_X = ("xcenter", "xcentre", "centerx", "centrex", "cx", "xc")
_CENTER_Y = ("ycenter", "ycentre", "centery", "centrey", "cy", "yc")
_BOX_WIDTH, _BOX_HEIGHT = ("w", "bboxwidth", "boxwidth", "bboxw"), ("h", "bboxheight", "boxheight")
_IMAGE_WIDTH = ("imagewidth", "imgwidth", "imagew", "imgw", "width")
_IMAGE_HEIGHT = ("imageheight", "imgheight", "imageh", "imgh", "height")
_WHOLE_BOX = ("bbox", "box", "boundingbox", "bboxes", "coordinates")
_SPLIT = ("split", "subset", "set", "usage")
_BOX_SIGNS = {*_X, *_CENTER_X, *_WHOLE_BOX}

# Tables without header: keras-retinanet, SKU-110K, the tutorial's order, AutoML, makesense.ai.
_ORDERS = (
    "image left top right bottom label",
    "image left top right bottom label width height",
    "image width height label left top right bottom",
    "split image label left top - - right bottom - -",
    "image label left top - - right bottom - -",
    "label x y w h image width height",
)
_SPLIT_WORDS = ("train", "training", "validation", "validate", "val", "test", "unassigned")


def find_columns(rows: Sequence[Row]) -> Columns | None:
    """Tell what the columns are from the first rows; None if this is not a table of boxes.

    HoldfastError says what is missing or ambiguous if it is one all the same.
    """
    if not rows:
        return None
    header = [simplify(cell) for cell in rows[0]]
    about_boxes = not _BOX_SIGNS.isdisjoint(header)
    if about_boxes and not {*_IMAGE, *_LABEL}.isdisjoint(header):
        return _by_header(header, rows[0])
    fitting = [found for order in _ORDERS if (found := _by_order(order.split(), rows))]
    if len(fitting) > 1:
        message = "It has no header, and its columns can be understood in two ways"
        raise HoldfastError(f"{message}: {', '.join(rows[0])}.", fix=f"Add a header. {NEEDED}")
    return fitting[0] if fitting else None


def simplify(name: str) -> str:
    """Give a column's name without case, blanks and punctuation.

    >>> simplify(" Image_ID ")
    'imageid'
    """
    return re.sub(r"[\W_]+", "", name.lower())


class _Header:
    """Column names, simplified and as they are written."""

    def __init__(self, names: Sequence[str], written: Row) -> None:
        self.names, self.written = list(names), written

    def find(self, names: Sequence[str]) -> int | None:
        """Give the column with the first of the names that is there."""
        for name in names:
            if self.names.count(name) > 1:
                raise self.trouble(f"Two columns are called {name}")
            if name in self.names:
                return self.names.index(name)
        return None

    def find_all(self, *each: Sequence[str]) -> tuple[int, int, int, int] | None:
        """Give four columns; None if one of them is not there."""
        match [self.find(names) for names in each]:
            case [int(first), int(second), int(third), int(fourth)]:
                return first, second, third, fourth
        return None

    def trouble(self, what: str) -> HoldfastError:
        """Give the error that says what is wrong with the header."""
        return HoldfastError(f"{what}: {', '.join(self.written)}.", fix=NEEDED)


def _by_header(names: Sequence[str], written: Row) -> Columns:
    header = _Header(names, written)
    box, kind = _box(header)
    image, label = header.find(_IMAGE), header.find(_LABEL)
    if image is None:
        raise header.trouble("No column of the header names the image")
    if label is None:
        raise header.trouble("No column of the header names the class")
    width, height = header.find(_IMAGE_WIDTH), header.find(_IMAGE_HEIGHT)
    return Columns(
        image=image,
        label=label,
        box=box,
        kind=kind,
        num_columns=len(names),
        width=None if width in box else width,
        height=None if height in box else height,
        split=header.find(_SPLIT),
        difficult=header.find(("difficult",)),
        truncated=header.find(("truncated",)),
    )


def _box(header: _Header) -> tuple[tuple[int, int, int, int], BoxKind]:
    """Find the four columns of a box; `width` and `height` are its own only behind x and y."""
    if corners := header.find_all(_LEFT, _TOP, _RIGHT, _BOTTOM):
        return corners, BoxKind.CORNERS
    if not {*_RIGHT, *_BOTTOM}.isdisjoint(header.names):
        raise header.trouble("The header does not have all four sides of a box")
    for x, y, kind in (
        (_CENTER_X, _CENTER_Y, BoxKind.CENTER_AND_SIZE),
        (_X, _Y, BoxKind.CORNER_AND_SIZE),
    ):
        if found := header.find_all(x, y, _BOX_WIDTH, _BOX_HEIGHT):
            return found, kind
        found = header.find_all(x, y, ("width",), ("height",))
        if found and found == tuple(range(found[0], found[0] + 4)):
            return found, kind
    raise header.trouble("No four columns of the header form a box")


def _by_order(order: Sequence[str], rows: Sequence[Row]) -> Columns | None:
    """Give the columns of an order if all the rows fit it."""
    if not all(_fits(order, row) for row in rows):
        return None
    places = {name: index for index, name in enumerate(order)}
    corners = "left" in places
    left, top, right, bottom = (
        places[name] for name in (("left", "top", "right", "bottom") if corners else "xywh")
    )
    return Columns(
        image=places["image"],
        label=places["label"],
        box=(left, top, right, bottom),
        kind=BoxKind.CORNERS if corners else BoxKind.CORNER_AND_SIZE,
        num_columns=len(order),
        width=places.get("width"),
        height=places.get("height"),
        split=places.get("split"),
        has_header=False,
    )


def _fits(order: Sequence[str], row: Row) -> bool:
    cells = [cell.strip() for cell in row]
    if len(cells) < len(order) or any(cells[len(order) :]):
        return False
    named = list(zip(order, cells, strict=False))
    texts = {name: cell for name, cell in named if name in ("image", "label", "split")}
    numbers = [cell for name, cell in named if name not in (*texts, "-")]
    if not is_image(texts["image"]) or texts.get("split", "test").lower() not in _SPLIT_WORDS:
        return False
    without_objects = not any(numbers) and not texts["label"]
    return without_objects or (all(map(is_number, numbers)) and bool(texts["label"]))
