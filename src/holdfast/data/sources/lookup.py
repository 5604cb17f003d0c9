"""Find the image file that an annotation names, wherever it lies in the data set."""

from __future__ import annotations

import posixpath
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from urllib.parse import unquote

from holdfast.data.records import data_files
from holdfast.data.sources.image_files import EXTENSIONS
from holdfast.data.splitting.split_names import named_split
from holdfast.errors import HoldfastError

# What phones and cameras write, and nothing here reads: said, not taken for missing.
_FOREIGN = (".heic", ".heif", ".avif", ".jp2", ".jxl", ".dng", ".cr2", ".nef", ".arw", ".svg")
_ENDINGS = (*EXTENSIONS, *_FOREIGN, ".xml", ".json", ".txt")
_NAME_FOLDER = "If it lies elsewhere, name the folder of the images with --images."


class ImageFinder:
    """The image files below a folder, by name. All paths are relative to the folder."""

    def __init__(self, paths: Iterable[str], folder: str = "") -> None:
        self.folder = folder
        paths = list(paths)
        self.paths = [path for path in paths if is_image(path)]
        self._foreign = {_base(path) for path in paths if path.lower().endswith(_FOREIGN)}
        self._by_stem: dict[str, list[str]] = defaultdict(list)
        self._by_likeness: dict[str, list[str]] = defaultdict(list)
        for path in self.paths:
            self._by_stem[stem(path)].append(path)
            self._by_likeness[_likeness(stem(path))].append(path)

    def __contains__(self, name: str) -> bool:
        return _likeness(stem(self._as_stored(name))) in self._by_likeness

    def path(self, image: str) -> str:
        """Give the path to open of an image that was found."""
        return data_files.join(self.folder, image)

    def read(self, name: str, annotation: str) -> bytes:
        """Read the image that an annotation file calls `name`."""
        return data_files.read_bytes(self.path(self.find(name, annotation)))

    def find(self, name: str, annotation: str) -> str:
        """Give the path of the image that an annotation file calls `name`.

        Annotations are moved and images converted: the folders and the ending of `name` count
        only where they tell files of the same name apart. If they do not, it is an error.
        """
        name = self._as_stored(name.replace("\\", "/"))
        # Windows does not care about case, and a Mac writes é as e and an accent.
        alike = self._by_likeness.get(_likeness(stem(name)), [])
        candidates = self._by_stem.get(stem(name), alike)
        same_ending = [path for path in candidates if _base(path) == _base(name)]
        ranks = {path: _closeness(path, name, annotation) for path in same_ending or candidates}
        best = [path for path, rank in ranks.items() if rank == max(ranks.values())]
        if not best and _base(name) in self._foreign:
            kind = name.rpartition(".")[2].upper()
            fix = f"Convert it, to JPEG for example; files that are read: {', '.join(EXTENSIONS)}."
            raise HoldfastError(f"Its image {name!r} is a {kind} file, which is not read.", fix=fix)
        if not best:
            fix = f"Put the image back, or take the annotation out. {_NAME_FOLDER}"
            raise HoldfastError(f"Its image {name!r} was not found in the data set.", fix=fix)
        if len(best) > 1:
            raise HoldfastError(
                f"Its image {name!r} could be {' or '.join(best[:2])}.",
                fix="Name the folder of the images with --images.",
            )
        return best[0]

    def _as_stored(self, name: str) -> str:
        """Give a name as files have it: some tools write that of a web address, `my%20cat.jpg`."""
        known = "%" not in name or _likeness(stem(name)) in self._by_likeness
        return name if known else unquote(name)

    def find_or_none(self, name: str, annotation: str) -> str | None:
        """Like find, but None if that cannot be decided."""
        try:
            return self.find(name, annotation)
        except HoldfastError:
            return None


def is_image(path: str) -> bool:
    """Tell by its ending whether a file is an image."""
    return path.lower().endswith(EXTENSIONS)


def stem(path: str) -> str:
    """Give a file's name without folder and ending; other dots belong to the name.

    >>> stem("a/b.c.jpg"), stem("a/b.c")
    ('b.c', 'b.c')
    """
    root, ending = posixpath.splitext(_base(path))
    return root if ending.lower() in _ENDINGS else root + ending


def _likeness(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _base(path: str) -> str:
    return posixpath.basename(path)


def _closeness(path: str, name: str, annotation: str) -> tuple[int, bool, int, int]:
    """Rank a candidate: by the folders it is named with, by split, by nearness to the annotation.

    Nearness is the number of folders on the way that both share, wherever they stand:
    images/a/1.jpg belongs to labels/a/1.xml.
    """
    folders, place = path.split("/")[:-1], annotation.split("/")[:-1]
    return (
        _common_length(folders[::-1], name.split("/")[-2::-1]),
        named_split(path) == named_split(annotation, by_name=True),
        _common_length(folders, place),
        len(set(folders) & set(place)),
    )


def _common_length(first: list[str], second: list[str]) -> int:
    length = 0
    while length < min(len(first), len(second)) and first[length] == second[length]:
        length += 1
    return length
