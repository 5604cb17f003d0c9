"""The formats that data can be written in beside TFRecords."""

from __future__ import annotations

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.writers.csv_table import CsvWriter
from holdfast.data.writers.write_coco import CocoWriter
from holdfast.data.writers.write_voc import VocWriter
from holdfast.data.writers.write_yolo import YoloWriter
from holdfast.data.writers.writer import Writer
from holdfast.errors import HoldfastError, nearest

OUT_FORMATS = ("coco", "voc", "yolo", "csv")


def make_writer(to: str, label_map: StringIntLabelMap, *, masks: bool) -> Writer:
    """Make the writer of a format; masks: whether the data has any."""
    match to:
        case "coco":
            return CocoWriter(label_map)
        case "voc":
            return VocWriter(label_map)
        case "yolo":
            return YoloWriter(label_map, masks=masks)
        case "csv":
            return CsvWriter(label_map)
    raise _unknown(to)


def refuse_unknown_format(to: str) -> None:
    """Raise an error unless data can be written so; TFRecords count."""
    if to not in _EVERY:
        raise _unknown(to)


_EVERY = ("tfrecord", *OUT_FORMATS)


def _unknown(to: str) -> HoldfastError:
    meant = nearest(to, _EVERY)
    fix = f"Did you mean {meant[0]}?" if meant else f"Known: {', '.join(_EVERY)}."
    return HoldfastError(f"Holdfast does not write {to!r}.", fix=fix)
