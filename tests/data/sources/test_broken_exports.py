"""Whatever stands in an export of a labeling tool, it is read or refused in words."""

from __future__ import annotations

import copy
import json
import re
from contextlib import suppress
from itertools import cycle

import pytest

from holdfast.data.sources.createml import open_createml
from holdfast.data.sources.cvat import open_cvat
from holdfast.data.sources.label_studio import open_label_studio
from holdfast.data.sources.supervisely import open_supervisely
from holdfast.data.sources.via import open_via
from holdfast.errors import HoldfastError

from . import test_createml, test_cvat, test_label_studio, test_supervisely, test_via

# Of different number than any list of values below is long, so that all meet in time.
JUNK = (
    *(None, True, 0, -1, 3.5, 1e308, float("nan"), float("inf"), 10**400, "", "x", "12", [], {}),
    *([1], [[]], [[1, 2], [3, 4], [5, 6]], {"a": 1}, {"x": 1, "y": 2}, [None], [{}], ["a", "b"]),
    "é\n",
)
DOCUMENTS = [
    (open_via, test_via.VERSION_1),
    (open_via, test_via.PROJECT),
    (open_via, test_via.CHECKBOXES),
    (open_label_studio, test_label_studio.FULL[:1]),
    (open_label_studio, test_label_studio.OLD),
    (open_label_studio, test_label_studio.MIN),
    (open_createml, test_createml.APPLE),
    (open_supervisely, test_supervisely.NEW["street one/a b.jpg"]),
    (open_supervisely, test_supervisely.OLD["set/1"]),
]
IMAGES = ("a b.jpg", "b.png", "red_car.jpg", "cat and dog.png", "file.png")


@pytest.fixture
def folder(tmp_path, make_image):
    for name in IMAGES:
        make_image(tmp_path / name, 60, 40)
    return tmp_path


def ways(value, way=()):
    """Give the way to every value of a document."""
    yield way
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from ways(inner, (*way, key))


def replaced(document, way, junk):
    if not way:
        return junk
    changed = copy.deepcopy(document)
    place = changed
    for key in way[:-1]:
        place = place[key]
    place[way[-1]] = junk
    return changed


def read_all(open_it, path):
    """Read what can be read; anything but a HoldfastError, and any warning, fails the test."""
    with suppress(HoldfastError):
        for entry in open_it(str(path)).entries:
            with suppress(HoldfastError):
                entry.read()


@pytest.mark.parametrize(("open_it", "document"), DOCUMENTS)
def test_any_value_may_be_anything(folder, open_it, document):
    document = json.loads(json.dumps(document))
    for way, junk in zip(ways(document), cycle(JUNK), strict=False):
        (folder / "file.png.json").write_text(json.dumps(replaced(document, way, junk)))
        read_all(open_it, folder / "file.png.json")


@pytest.mark.parametrize("text", [test_cvat.IMAGES, test_cvat.VIDEO, test_cvat.PROJECT])
def test_any_attribute_of_an_xml_file_may_be_anything(folder, text):
    junk = cycle(["", "x", "-1", "1e308", "nan", "inf", "1,2;3", ";", "9" * 400, "é", "1;2"])
    for found in re.finditer(r'(?<=")[^"<>]*(?=")', text):
        changed = text[: found.start()] + next(junk) + text[found.end() :]
        (folder / "file.xml").write_text(changed, encoding="utf-8")
        read_all(open_cvat, folder / "file.xml")


@pytest.mark.parametrize(("open_it", "document"), DOCUMENTS)
def test_a_file_may_end_anywhere(folder, open_it, document):
    text = json.dumps(document)
    for end in range(0, len(text), max(1, len(text) // 20)):
        (folder / "file.png.json").write_text(text[:end])
        read_all(open_it, folder / "file.png.json")


@pytest.mark.parametrize("encoding", ["gb2312", "no-such-encoding", "utf-16"])
def test_an_xml_file_may_claim_any_encoding(folder, encoding):
    text = test_cvat.VIDEO.replace("utf-8", encoding)
    (folder / "file.xml").write_text(text, encoding="utf-8")
    read_all(open_cvat, folder / "file.xml")
