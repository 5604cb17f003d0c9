"""What a .tflite file says of itself: how to normalize an image, and what classes are called.

The tables are those of TensorFlow Lite's metadata_schema.fbs, by the numbers of their fields; the
TFLite Task library and Android Studio read them. The names of classes lie behind the model, as a
file of a ZIP archive.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any, NamedTuple

import flatbuffers
import numpy as np
from flatbuffers import number_types
from flatbuffers.table import Table

METADATA_NAME = "TFLITE_METADATA"  # of the model's buffer that holds the tables
LABELS_NAME = "labelmap.txt"
_IDENTIFIER = b"M001"
_PARSER = "1.0.0"  # the oldest version of the schema that knows these fields
_IMAGE, _BOUNDING_BOXES, _FEATURE = 2, 3, 1  # kinds of content
_NORMALIZATION = 1  # kind of processing
_RGB = 1
_BOUNDARIES = 1
_VALUE_LABELS = 3  # the value of a class is the number of its line

# Each table: its fields by number.
_MODEL_NAME, _MODEL_DESCRIPTION, _MODEL_GRAPHS, _MODEL_PARSER = 0, 1, 3, 7
_GRAPH_INPUTS, _GRAPH_OUTPUTS = 2, 3
_TENSOR_NAME, _TENSOR_CONTENT, _TENSOR_UNITS, _TENSOR_FILES = 0, 3, 4, 6
_FILE_NAME, _FILE_TYPE = 0, 2


class ImageInput(NamedTuple):
    """What a client does to the pixels of each channel, red first: (pixel - mean) / deviation."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]


PIXELS = ImageInput((0.0,) * 3, (1.0,) * 3)


def metadata_tables(name: str, image: ImageInput, outputs: Sequence[str]) -> bytes:
    """Write the tables of a detector; outputs are `location`, `category` and others, in order."""
    builder = flatbuffers.Builder(1024)
    units = [_union_table(builder, _NORMALIZATION, _normalization(builder, image))]
    properties = _table(builder, 2, [(0, "Int8", _RGB)])
    content = _union_table(builder, _IMAGE, properties, fields=3)
    tensor = _tensor(builder, "image", content, units=units)
    tensors = [_output(builder, each) for each in outputs]
    inputs, found = _vector(builder, [tensor]), _vector(builder, tensors)
    graph = _table(
        builder, 5, [(_GRAPH_INPUTS, "Offset", inputs), (_GRAPH_OUTPUTS, "Offset", found)]
    )
    graphs = _vector(builder, [graph])
    texts = {
        _MODEL_NAME: builder.CreateString(name),
        _MODEL_DESCRIPTION: builder.CreateString("Finds objects in an image."),
        _MODEL_GRAPHS: graphs,
        _MODEL_PARSER: builder.CreateString(_PARSER),
    }
    root = _table(builder, 8, [(field, "Offset", each) for field, each in texts.items()])
    builder.Finish(root, file_identifier=_IDENTIFIER)
    return bytes(builder.Output())


def read_input(tables: bytes) -> ImageInput | None:
    """Give how the tables want an image; None where they do not say."""
    model = _root(tables)
    graph = _first(model, _MODEL_GRAPHS)
    tensor = graph and _first(graph, _GRAPH_INPUTS)
    unit = tensor and _first(tensor, _TENSOR_UNITS)
    options = unit and _inner(unit, 1)
    if not options:
        return None
    mean, deviation = _floats(options, 0), _floats(options, 1)
    if not mean or not deviation:
        return None
    channels = max(3, len(mean), len(deviation))
    return ImageInput(*(each * channels if len(each) == 1 else each for each in (mean, deviation)))


def read_labels(content: bytes) -> dict[int, str]:
    """Give the names of classes by their number from 0, of a whole .tflite file; {} without any.

    Lines of `???` are of numbers that no class has, as in the files of the OD API.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [each for each in archive.namelist() if each.endswith(".txt")]
            chosen = LABELS_NAME if LABELS_NAME in names else next(iter(names), None)
            text = archive.read(chosen).decode() if chosen else ""
    except (zipfile.BadZipFile, UnicodeDecodeError):
        return {}
    lines = enumerate(line.strip() for line in text.splitlines())
    return {number: line for number, line in lines if line and line != UNUSED_LABEL}


UNUSED_LABEL = "???"


def _output(builder: flatbuffers.Builder, name: str) -> int:
    """Describe an output: where objects are, what they are, or numbers."""
    files: list[int] = []
    if name == "location":
        builder.StartVector(4, 4, 4)
        for place in reversed((1, 0, 3, 2)):  # where left, top, right and bottom stand
            builder.PrependUint32(place)
        order = builder.EndVector()
        fields = [(0, "Offset", order), (1, "Int8", _BOUNDARIES)]
        kind, properties = _BOUNDING_BOXES, _table(builder, 3, fields)
    else:
        kind, properties = _FEATURE, _table(builder, 0, [])
    span = None
    if name != "number of detections":
        axis = 2 if name == "location" else 1
        span = _table(builder, 2, [(0, "Int32", axis), (1, "Int32", axis)])
    content = _union_table(builder, kind, properties, fields=3, span=span)
    if name == "category":
        text = builder.CreateString(LABELS_NAME)
        fields = [(_FILE_NAME, "Offset", text), (_FILE_TYPE, "Int8", _VALUE_LABELS)]
        files = [_table(builder, 4, fields)]
    return _tensor(builder, name, content, files=files)


def _tensor(
    builder: flatbuffers.Builder,
    name: str,
    content: int,
    *,
    units: Sequence[int] = (),
    files: Sequence[int] = (),
) -> int:
    fields = [(_TENSOR_NAME, "Offset", builder.CreateString(name))]
    fields.append((_TENSOR_CONTENT, "Offset", content))
    for number, tables in ((_TENSOR_UNITS, units), (_TENSOR_FILES, files)):
        if tables:
            fields.append((number, "Offset", _vector(builder, tables)))
    return _table(builder, 7, fields)


def _normalization(builder: flatbuffers.Builder, image: ImageInput) -> int:
    mean, deviation = (builder.CreateNumpyVector(np.array(each, np.float32)) for each in image)
    return _table(builder, 2, [(0, "Offset", mean), (1, "Offset", deviation)])


def _union_table(
    builder: flatbuffers.Builder, kind: int, value: int, *, fields: int = 2, span: int | None = None
) -> int:
    """Write a table that begins with one of several kinds of table."""
    values = [(0, "Uint8", kind), (1, "Offset", value)]
    if span is not None:
        values.append((2, "Offset", span))
    return _table(builder, fields, values)


def _table(
    builder: flatbuffers.Builder, fields: int, values: Sequence[tuple[int, str, int]]
) -> int:
    builder.StartObject(fields)
    for number, kind, value in values:
        if kind == "Offset":
            builder.PrependUOffsetTRelativeSlot(number, value, 0)
        else:
            getattr(builder, f"Prepend{kind}Slot")(number, value, 0)
    return int(builder.EndObject())


def _vector(builder: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _root(tables: bytes) -> Table:
    start = flatbuffers.encode.Get(flatbuffers.packer.uoffset, tables, 0)
    return Table(tables, start)


def _place(table: Table, number: int) -> int:
    """Give where a field of a table is; 0 where it is not set."""
    offset = table.Offset(4 + 2 * number)
    return int(table.Pos + offset) if offset else 0


def _first(table: Table, number: int) -> Table | None:
    """Give the first table of a list."""
    if not _place(table, number):
        return None
    offset = table.Offset(4 + 2 * number)
    if not table.VectorLen(offset):
        return None
    return Table(table.Bytes, table.Indirect(table.Vector(offset)))


def _inner(table: Table, number: int) -> Table | None:
    place = _place(table, number)
    return Table(table.Bytes, table.Indirect(place)) if place else None


def _floats(table: Table, number: int) -> tuple[float, ...]:
    if not _place(table, number):
        return ()
    values: Any = table.GetVectorAsNumpy(number_types.Float32Flags, table.Offset(4 + 2 * number))
    return tuple(float(each) for each in values)
