"""The lists of ImageSets/Main: which image of a Pascal VOC data set is for training, which not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from holdfast.data.records import data_files
from holdfast.data.sources.lookup import stem
from holdfast.data.splitting.split_names import SPLITS, TRAIN
from holdfast.units import count_text

_FOLDER = "ImageSets/Main/"


class Listed(NamedTuple):
    """One line of a list."""

    part: str  # the folder that holds ImageSets, "" for the data set's own
    name: str


class VocLists(NamedTuple):
    """The lists of a data set; `splits` is empty if it has none."""

    splits: dict[Listed, str]
    notes: tuple[str, ...] = ()

    def split_of(self, annotation: str) -> str | None:
        """Give the split of an XML file; None if no list names it."""
        folders = annotation.split("/")[:-1]
        parts = ["/".join(folders[:depth]) for depth in range(len(folders), -1, -1)]
        found = (self.splits.get(Listed(part, stem(annotation))) for part in parts)
        return next((split for split in found if split), None)

    def without_annotation(self, annotations: Iterable[str]) -> Iterator[tuple[str, str, str]]:
        """Yield list, name and split of what is listed but has no XML file."""
        known = {stem(path) for path in annotations}
        for listed, split in self.splits.items():
            if listed.name not in known:
                yield list_path(listed.part, f"{split}.txt"), listed.name, split


def read_lists(root: str, paths: Sequence[str]) -> VocLists:
    """Read train, val and test lists; trainval counts as train where there is no train list."""
    known = {stem(path) for path in paths if path.lower().endswith(".xml")}
    found = (f"/{path}".rpartition(f"/{_FOLDER}") for path in paths)
    lists = {(part.lstrip("/"), name) for part, middle, name in found if middle}
    splits: dict[Listed, str] = {}
    twice = 0
    for part in sorted({part for part, _ in lists}):
        for split in SPLITS:
            whole = split == TRAIN and (part, "train.txt") not in lists
            name = "trainval.txt" if whole else f"{split}.txt"
            for image in (
                _names(root, list_path(part, name), known) if (part, name) in lists else ()
            ):
                twice += splits.setdefault(Listed(part, image), split) != split
    note = (
        f"In several lists of {_FOLDER}, where the first of train, val, test counts: "
        f"{count_text(twice, 'image')}."
    )
    return VocLists(splits, (note,) if twice else ())


def list_path(part: str, name: str) -> str:
    """Give the path of a list."""
    return data_files.join(part, _FOLDER, name)


def _names(root: str, path: str, known: set[str]) -> Iterator[str]:
    """Yield the images of a list; names may hold spaces, and lines end in a class flag."""
    text = data_files.read_bytes(data_files.join(root, path)).decode("utf-8", "replace")
    for line in filter(None, map(str.strip, text.splitlines())):
        name = stem(line)
        yield name if name in known else stem(line.split()[0])
