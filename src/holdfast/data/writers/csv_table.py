"""The CSV of the OD API's tutorials: a line an object, one file a split."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.conversion.judge import Verdict
from holdfast.data.sample import Sample
from holdfast.data.writers.coordinates import to_whole_pixels
from holdfast.data.writers.left_behind import fit, without_crowds
from holdfast.data.writers.writer import Content, Lines, OutImage, Written

TITLE = "CSV"
HEADER = ("filename", "width", "height", "class", "xmin", "ymin", "xmax", "ymax")
NO_LINE = "an image without objects has no line in a CSV table: only its file is written"


class CsvWriter:
    """`train_labels.csv`, … beside the folders `images/train`, …; boxes are in whole pixels."""

    def __init__(self, label_map: StringIntLabelMap) -> None:
        self.names = {item.id - 1: item.name for item in label_map.item}

    def image_folder(self, split: str) -> str:
        """Say where the images of a split go."""
        return f"images/{split}"

    def annotations(self, split: str) -> str:
        """Name the file of a split."""
        return f"{split}_labels.csv"

    def select(self, sample: Sample) -> Verdict:
        """Leave out crowds."""
        return without_crowds(sample, TITLE)

    def write(self, image: OutImage) -> Written:
        """Make the lines of an image."""
        sample, remarks = fit(image.sample, image.size, TITLE, frozenset())
        whole = to_whole_pixels(sample.boxes, image.size)
        rows = [
            [image.name, *image.size, self.names[int(number)], left, top, right, bottom]
            for number, (top, left, bottom, right) in zip(
                sample.classes, whole.boxes.tolist(), strict=True
            )
        ]
        empty = () if rows else (NO_LINE,)
        return Written({"rows": rows}, {}, (*remarks, *whole.remarks, *empty))

    def finish(self, splits: Mapping[str, Lines]) -> Iterator[tuple[str, Content]]:
        """Write the table of each split."""
        for split, lines in splits.items():
            yield self.annotations(split), _table(lines)

    def notes(self) -> Iterator[str]:
        """Say that there are no ids."""
        yield "A CSV table names classes and does not number them: the ids are in label_map.pbtxt."


def _table(lines: Lines) -> Content:
    yield _csv([HEADER])
    for line in lines():
        yield _csv(line["rows"])


def _csv(rows: list[tuple[object, ...]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()
