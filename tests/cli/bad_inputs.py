"""The worst that users give to commands: how to make each, and what must come of it."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from ..data.example_records import GOOD_BOX, png, record, write

OUT = "out"  # where commands may write; everything else must stay as it is


class Row(NamedTuple):
    """One bad input: made in the working directory, which the command is run from."""

    name: str
    arguments: Sequence[object]
    make: Callable[[Path], None]
    code: int
    says: Sequence[str] = ()  # on either stream, in words
    never: Sequence[str] = ()


def nothing(folder: Path) -> None:
    """Make nothing."""


def file(name: str, content: str | bytes = b"") -> Callable[[Path], None]:
    """Make one file."""

    def make(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return make


def records(*every: bytes, name: str = "a.record", compression: str = "") -> Callable:
    """Make one TFRecord file."""

    def make(folder: Path) -> None:
        write(folder / name, every, compression)

    return make


def both(*makers: Callable[[Path], None]) -> Callable[[Path], None]:
    """Make several things."""

    def make(folder: Path) -> None:
        for maker in makers:
            maker(folder)

    return make


def jpeg(seed: int = 0) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (32, 48, 3), np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG")
    return stream.getvalue()


def huge_png(side: int) -> bytes:
    """Say that a PNG is huge, and bring no pixels."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def yolo(
    *bad: bytes, label: str = "0 0.5 0.5 0.2 0.2", good: bool = True, names: str = "[cat]"
) -> Callable[[Path], None]:
    """Make a YOLO data set: a good image first, then one for each bad content."""

    def make(folder: Path) -> None:
        contents = [jpeg(), *bad] if good else list(bad)
        for number, content in enumerate(contents):
            file(f"data/images/{number}.jpg", content)(folder)
            text = label if number or not good else "0 0.5 0.5 0.2 0.2"
            file(f"data/labels/{number}.txt", text)(folder)
        file("data/data.yaml", f"path: .\ntrain: images\nnames: {names}\n")(folder)

    return make


def voc(xml: str | bytes, name: str = "1") -> Callable[[Path], None]:
    """Make a Pascal VOC data set with one good image and another XML file."""
    good = voc_xml("1 2 20 20")
    return both(
        file("data/0.jpg", jpeg(0)),
        file("data/0.xml", good),
        file(f"data/{name}.jpg", jpeg(1)),
        file(f"data/{name}.xml", xml),
    )


def voc_xml(corners: str, name: str = "cat") -> str:
    """Write an annotation; corners: left, top, right and bottom."""
    sides = zip(("xmin", "ymin", "xmax", "ymax"), corners.split(), strict=True)
    box = "".join(f"<{side}>{value}</{side}>" for side, value in sides)
    return (
        "<annotation><size><width>48</width><height>32</height></size>"
        f"<object><name>{name}</name><bndbox>{box}</bndbox></object></annotation>"
    )


def coco(**changes: object) -> Callable[[Path], None]:
    """Make a COCO data set with one image, and replace some of its lists."""
    document: dict[str, object] = {
        "images": [{"id": 1, "file_name": "0.jpg", "width": 48, "height": 32}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 20, 20]}],
        "categories": [{"id": 1, "name": "cat"}],
    }
    text = json.dumps(document | changes)
    return both(file("data/images/0.jpg", jpeg()), file("data/labels.json", text))


def boxes(*every: dict[str, object]) -> list[dict[str, object]]:
    common = {"image_id": 1, "category_id": 1, "bbox": [1, 2, 20, 20]}
    return [common | {"id": number} | each for number, each in enumerate(every)]


def not_utf8(folder: Path) -> None:
    """Name files as an old Windows did."""
    yolo()(folder)
    for part, content in (
        ("images/gr\udcfcn.jpg", jpeg(1)),
        ("labels/gr\udcfcn.txt", b"0 .5 .5 .2 .2"),
    ):
        path = os.fsencode(folder / "data") + b"/" + os.fsencode(part)
        with open(path, "wb") as stream:
            stream.write(content)


def not_utf8_folder(folder: Path) -> None:
    """Name a whole data set so."""
    not_utf8(folder)
    (folder / "data").rename(folder / "gr\udcfcn")


def not_utf8_records(folder: Path) -> None:
    records(record())(folder)
    (folder / "a.record").rename(folder / "gr\udcfcn.record")


def symlink_loop(folder: Path) -> None:
    yolo()(folder)
    (folder / "data" / "images" / "again").symlink_to(folder / "data")
    (folder / "data" / "self").symlink_to(folder / "data" / "self")


def truncated_records(folder: Path) -> None:
    write(folder / "a.record", [record(), record(image=png(seed=1), source_id="2")])
    content = (folder / "a.record").read_bytes()
    (folder / "a.record").write_bytes(content[:-20])


def flipped_bit(folder: Path) -> None:
    write(folder / "a.record", [record(), record(image=png(seed=1), source_id="2")])
    content = bytearray((folder / "a.record").read_bytes())
    content[len(content) // 4] ^= 1
    (folder / "a.record").write_bytes(content)


def typo(folder: Path) -> None:
    write(folder / "a.record", [record(texts=["racoon"])])
    file("map.pbtxt", "item { id: 1 name: 'raccoon' }")(folder)


BILLION_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x0 "lol">'
    + "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 12))
    + "]><annotation><object><name>&x11;</name></object></annotation>"
)
NAN = float("nan")
BAD_BOXES = [GOOD_BOX, (NAN, 0.1, 0.5, 0.5), (-0.5, 0.1, 0.5, 0.5), (0.5, 0.5, 0.1, 0.1)]
NEWLINE = "two\nlines"

INSPECT = ("inspect", "data", "--sheet", "out/sheet.png")
INSPECT_RECORD = ("inspect", "a.record", "--sheet", "out/sheet.png")
CONVERT = ("convert", "data", "out")

ROWS = [
    # Configs.
    Row("check an empty file", ("check", "c.config"), file("c.config"), 1),
    Row("check a folder", ("check", "."), nothing, 2, ["is a folder"]),
    Row("check what is not there", ("check", "no.config"), nothing, 2, ["no.config"]),
    Row("check garbage", ("check", "c.config"), file("c.config", bytes(range(256)) * 40), 2),
    Row("check NUL bytes", ("check", "c.config"), file("c.config", "model {\0 ssd { } }"), 2),
    Row("check UTF-16", ("check", "c.config"), file("c.config", "model { }".encode("utf-16")), 2),
    Row("check a TFRecord file", ("check", "a.record"), records(record()), 2),
    Row("check a JPEG", ("check", "a.jpg"), file("a.jpg", jpeg()), 2),
    Row("check braces without end", ("check", "c.config"), file("c.config", "model {" * 5000), 2),
    Row(
        "check --set of nonsense",
        ("check", "c.config", "--set", "model.nonsense.x=1", "--set", "no equals sign"),
        file("c.config", "model { ssd { } }"),
        2,
    ),
    # Records.
    Row("inspect nothing", ("inspect", "no.record"), nothing, 2, ["no.record"]),
    Row("inspect an empty folder", INSPECT, lambda at: (at / "data").mkdir(), 2, ["data"]),
    Row("inspect an empty file", INSPECT_RECORD, file("a.record"), 2, ["holds no record"]),
    Row(
        "inspect garbage",
        INSPECT_RECORD,
        file("a.record", os.urandom(5000)),
        2,
        ["not a TFRecord file, or damaged"],
    ),
    Row("inspect text as records", INSPECT_RECORD, file("a.record", "hello " * 99), 2),
    Row("inspect cut records", INSPECT_RECORD, truncated_records, 2, ["record 1", "damaged"]),
    Row("inspect flipped bits", INSPECT_RECORD, flipped_bit, 2, ["damaged"]),
    Row(
        "inspect gzipped records",
        INSPECT_RECORD,
        records(record(), compression="GZIP"),
        0,
        ["images 1"],
    ),
    Row(
        "inspect a cut gzip file",
        INSPECT_RECORD,
        file("a.record", gzip.compress(os.urandom(999))[:500]),
        2,
    ),
    Row(
        "inspect a record that is not an Example",
        INSPECT_RECORD,
        records(record(), b"not an example"),
        0,
        ["images 1, 1 left out", "not a tf.train.Example", "pictures: out/sheet.png"],
    ),
    Row(
        "inspect nothing but such records",
        INSPECT_RECORD,
        records(b"not an example", b"\xff\xff\xff"),
        1,
        ["no image can be used: 2 images: it cannot be read"],
    ),
    Row(
        "inspect records of another type",
        INSPECT_RECORD,
        records(record(), record(image__object__bbox__xmin=[1, 2], source_id="2")),
        0,
        ["image/object/bbox/xmin"],
    ),
    Row(
        "inspect boxes that are none",
        INSPECT_RECORD,
        records(record(BAD_BOXES)),
        0,
        ["boxes 1, 3 left out", "3 of 4 boxes (75%) are left out", "not a number", "outside"],
    ),
    Row(
        "inspect a class name with a line break",
        INSPECT_RECORD,
        records(record(texts=[NEWLINE])),
        0,
        ["pictures: out/sheet.png"],
    ),
    Row(
        "inspect images that do not decode",
        INSPECT_RECORD,
        records(
            record(),
            *(
                record(image=each, source_id=str(number))
                for number, each in enumerate(
                    [jpeg()[:400], b"text", huge_png(100_000), b"", png()[:200]]
                )
            ),
        ),
        0,
        [
            *("images 1, 5 left out", "5 of 6 images (83%) are left out"),
            *(
                "400 bytes of a JPEG file",
                "it is not an image",
                "it is too large: 100000 x 100000 pixels",
            ),
            "there is no image",
        ],
    ),
    Row(
        "inspect a label map with a typo",
        (*INSPECT_RECORD, "--label-map", "map.pbtxt"),
        typo,
        0,
        ["the data has 'racoon' (1 box), the label map 'raccoon'", "'raccoon' to 'racoon'"],
    ),
    Row(
        "inspect with a label map of id 0",
        (*INSPECT_RECORD, "--label-map", "map.pbtxt"),
        both(records(record()), file("map.pbtxt", "item { id: 0 name: 'cat' }")),
        2,
        ["id 0 is reserved for the background"],
    ),
    Row(
        "inspect with one id twice",
        (*INSPECT_RECORD, "--label-map", "map.pbtxt"),
        both(
            records(record()),
            file("map.pbtxt", "item { id: 1 name: 'a' } item { id: 1 name: 'b' }"),
        ),
        0,
    ),
    Row(
        "inspect with records for a label map",
        (*INSPECT_RECORD, "--label-map", "a.record"),
        records(record()),
        2,
    ),
    Row(
        "inspect with a label map that is not there",
        (*INSPECT_RECORD, "--label-map", "no.pbtxt"),
        records(record()),
        2,
        ["no.pbtxt"],
    ),
    Row(
        "inspect into a folder that is not there",
        ("inspect", "a.record", "--sheet", "no/a.png"),
        records(record()),
        2,
        ["images 1", "no/a.png cannot be written"],
    ),
    Row(
        "inspect spaces and letters",
        ("inspect", "größe 猫/a b.record", "--sheet", "out/s.png"),
        records(record(texts=["عربي"]), name="größe 猫/a b.record"),
        0,
        ["images 1", "عربي"],
    ),
    Row(
        "inspect a table of something", ("inspect", "a.csv"), file("a.csv", "name,age\nBob,3\n"), 2
    ),
    Row(
        "inspect an unknown format", (*INSPECT, "--format", "vok"), yolo(), 2, ["Did you mean voc?"]
    ),
    # Data sets of other formats.
    Row(
        "inspect images that are none",
        INSPECT,
        yolo(b"", b"text", jpeg()[:300], huge_png(90_000)),
        0,
        ["images 1, 4 left out"],
    ),
    Row("inspect nothing but broken images", INSPECT, yolo(b"", b"text", good=False), 1),
    Row("inspect labels that are none", INSPECT, yolo(jpeg(1), label="cat 1 2\0 x"), 0),
    Row(
        "inspect labels of a class without a name",
        INSPECT,
        yolo(jpeg(1), label="99999 .5 .5 .2 .2"),
        0,
    ),
    Row("inspect links in a circle", INSPECT, symlink_loop, 0, ["images 1"]),
    Row("inspect names that are not UTF-8", INSPECT, not_utf8, 0, ["images 2"]),
    Row(
        "inspect a folder that is not UTF-8",
        ("inspect", "gr\udcfcn", "--sheet", "out/sheet.png"),
        not_utf8_folder,
        0,
        ["images 2"],
    ),
    Row(
        "inspect records whose name is not UTF-8",
        ("inspect", "gr\udcfcn.record"),
        not_utf8_records,
        2,
        ["the name is not UTF-8"],
    ),
    Row(
        "convert into a name that is not UTF-8",
        ("convert", "data", "out/gr\udcfcn"),
        yolo(),
        2,
        ["the name is not UTF-8"],
    ),
    Row("inspect a bomb of entities", INSPECT, voc(BILLION_LAUGHS), 0, ["images 1"]),
    Row("inspect XML cut off", INSPECT, voc(voc_xml("1 2 20 20")[:60]), 0),
    Row("inspect XML in UTF-16", INSPECT, voc(voc_xml("1 2 9 9").encode("utf-16")), 0),
    Row("inspect corners that are words", INSPECT, voc(voc_xml("left 2 20 nan")), 0),
    Row("inspect corners swapped", INSPECT, voc(voc_xml("20 2 2 9")), 0, ["swapped"]),
    Row("inspect JSON without end", INSPECT, file("data/a.json", "[" * 100_000), 2),
    Row(
        "inspect JSON nested deep",
        INSPECT,
        file("data/a.json", '{"images":' * 50_000 + "1" + "}" * 50_000),
        2,
    ),
    Row(
        "inspect a missing image",
        INSPECT,
        coco(images=[{"id": 1, "file_name": "0.jpg"}, {"id": 2, "file_name": "gone.jpg"}]),
        0,
        ["images 1, 1 left out", "gone.jpg", "pictures: out/sheet.png"],
    ),
    Row(
        "inspect boxes that are words",
        INSPECT,
        coco(annotations=boxes({}, {"bbox": ["a", 1, 2, 3]}, {"bbox": None}, {"bbox": [1]})),
        0,
    ),
    Row(
        "inspect annotations of nothing",
        INSPECT,
        coco(annotations=boxes({}, {"image_id": 77}, {"category_id": 77}, {"image_id": None})),
        0,
    ),
    Row("inspect lists that are words", INSPECT, coco(images="none", annotations=7), 2),
    # Conversions.
    Row("convert with a share of 2", (*CONVERT, "--val", 2), yolo(), 2),
    Row("convert with a share of nan", (*CONVERT, "--val", "nan"), yolo(), 2),
    Row("convert into no shards", (*CONVERT, "--shards", 0), yolo(), 2),
    Row("convert into a file", ("convert", "data", "data/data.yaml"), yolo(), 2),
    Row(
        "convert where nobody may write",
        ("convert", "data", "/proc/holdfast"),
        yolo(),
        2,
        ["/proc/holdfast"],
    ),
    Row("convert what is not there", ("convert", "no", "out"), nothing, 2, ["no does not exist"]),
    Row("convert nothing but broken images", CONVERT, yolo(b"", b"text", good=False), 1),
    Row("convert names that are not UTF-8", CONVERT, not_utf8, 0),
    Row(
        "convert an absurd size",
        ("convert", "1000000@100000", "out", "--format", "synthetic"),
        nothing,
        2,
        ["too much"],
    ),
    Row(
        "convert an endless number",
        ("convert", "9" * 6000, "out", "--format", "synthetic"),
        nothing,
        2,
    ),
    Row(
        "convert a number below 0",
        ("convert", "--format", "synthetic", "--", "-5@32", "out"),
        nothing,
        2,
    ),
    # New configs and trainings.
    Row("new of no recipe", ("new", "yolov8", "--data", "data", "--out", "out/new"), yolo(), 2),
    Row(
        "new without boxes",
        ("new", "fpnlite_320", "--data", "data", "--out", "out/new"),
        yolo(jpeg(1), jpeg(2), label="", good=False),
        2,
    ),
    Row(
        "new of broken images",
        ("new", "fpnlite_320", "--data", "data", "--out", "out/new"),
        yolo(b"", b"text", good=False),
        2,
    ),
    Row(
        "new of a label map with a typo",
        ("new", "fpnlite_320", "--data", "a.record", "--out", "out/new"),
        both(typo),
        2,
        ["'racoon' (1 box)", "'raccoon'"],
    ),
    Row(
        "new of a folder without images",
        ("new", "fpnlite_320", "--data", "data", "--out", "out/new"),
        file("data/readme.txt", "hello"),
        2,
        ["holds no images"],
    ),
    Row(
        "train by garbage",
        ("train", "c.config", "--run", "out/run"),
        file("c.config", "\x01\x02 garbage {"),
        2,
    ),
    Row("train by a folder", ("train", ".", "--run", "out/run"), nothing, 2),
    Row(
        "search a config that says nothing",
        ("search", "c.config", "--over", "optimizer", "--out", "out/search"),
        file("c.config", "model { }"),
        2,
        ["how long to train"],
    ),
    Row("profile what is not there", ("profile", "no.config"), nothing, 2, ["no.config"]),
    Row("profile a folder", ("profile", ".", "--out", "out/profile"), nothing, 2, ["is a folder"]),
    Row("evaluate what is not a run", ("evaluate", "data"), yolo(), 2, ["not a run"]),
    Row(
        "plan for no memory",
        ("plan", "c.config", "--memory", "lots"),
        file("c.config", "model { }"),
        2,
    ),
]
