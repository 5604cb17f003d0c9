"""Pascal VOC: one XML file an image, and the lists of ImageSets/Main."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.conversion.judge import Verdict
from holdfast.data.sample import Sample
from holdfast.data.sources.lookup import stem
from holdfast.data.splitting.split_names import TRAIN, VAL
from holdfast.data.writers.coordinates import to_whole_pixels
from holdfast.data.writers.left_behind import fit
from holdfast.data.writers.writer import Content, Lines, OutImage, Written

TITLE = "Pascal VOC"
CROWD = "crowds are marked as difficult: Pascal VOC leaves both out of its scores"
_HOLDS = frozenset(("difficult", "truncated", "is_crowd"))
_NOT_FOR_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class VocWriter:
    """Folders `JPEGImages`, `Annotations` and `ImageSets/Main`, where each split has a list.

    Boxes are in whole pixels, as most readers of this format expect; divided by the image's size
    they are those of the source.
    """

    def __init__(self, label_map: StringIntLabelMap) -> None:
        self.names = {item.id - 1: item.name for item in label_map.item}

    def image_folder(self, split: str) -> str:
        """Say where the images go: all into one folder."""
        return "JPEGImages"

    def annotations(self, split: str) -> str:
        """Name the list of a split."""
        return f"ImageSets/Main/{split}.txt"

    def select(self, sample: Sample) -> Verdict:
        """Keep all objects."""
        return Verdict(sample)

    def write(self, image: OutImage) -> Written:
        """Make the XML file of an image."""
        sample, remarks = fit(image.sample, image.size, TITLE, _HOLDS)
        if sample.is_crowd is not None and sample.is_crowd.any():
            sample = sample._replace(difficult=sample.difficult | sample.is_crowd)
            remarks = (*remarks, CROWD)
        whole = to_whole_pixels(sample.boxes, image.size)
        tree = self._tree(image, sample, whole.boxes.tolist())
        ElementTree.indent(tree, "\t")
        text = ElementTree.tostring(tree, encoding="unicode") + "\n"
        name = stem(image.name)
        files = {f"Annotations/{name}.xml": text}
        return Written({"name": name}, files, (*remarks, *whole.remarks))

    def finish(self, splits: Mapping[str, Lines]) -> Iterator[tuple[str, Content]]:
        """List the images of each split, and those of train and val together."""
        for split, lines in splits.items():
            yield self.annotations(split), _names(lines)
        if TRAIN in splits and VAL in splits:
            both = (splits[TRAIN], splits[VAL])
            yield (
                self.annotations("trainval"),
                (name for lines in both for name in _names(lines)),
            )

    def notes(self) -> Iterator[str]:
        """Say that there are no ids."""
        yield "Pascal VOC names classes and does not number them: the ids are in label_map.pbtxt."

    def _tree(self, image: OutImage, sample: Sample, boxes: list[list[int]]) -> ElementTree.Element:
        root = ElementTree.Element("annotation")
        _add(root, "folder", self.image_folder(image.split))
        _add(root, "filename", image.name)
        size = _add(root, "size")
        for name, value in (*image.size._asdict().items(), ("depth", 3)):
            _add(size, name, value)
        _add(root, "segmented", 0)
        for index, (top, left, bottom, right) in enumerate(boxes):
            item = _add(root, "object")
            _add(item, "name", self.names[int(sample.classes[index])])
            _add(item, "pose", "Unspecified")
            for flag in ("truncated", "difficult"):
                values = getattr(sample, flag)
                _add(item, flag, int(values is not None and values[index]))
            box = _add(item, "bndbox")
            corners = {"xmin": left, "ymin": top, "xmax": right, "ymax": bottom}
            for corner, value in corners.items():
                _add(box, corner, value)
        return root


def _add(parent: ElementTree.Element, name: str, value: str | int = "") -> ElementTree.Element:
    child = ElementTree.SubElement(parent, name)
    if value != "":
        child.text = _NOT_FOR_XML.sub("_", str(value))
    return child


def _names(lines: Lines) -> Iterator[str]:
    return (f"{line['name']}\n" for line in lines())
