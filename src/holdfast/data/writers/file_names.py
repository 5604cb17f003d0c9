"""File names for images that are written out: safe on every system, and each different."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from holdfast.data.sources.lookup import stem

ENDINGS = {
    "jpeg": (".jpg", ".jpeg", ".jfif"),
    "png": (".png",),
    "gif": (".gif",),
    "bmp": (".bmp",),
}
# Windows refuses these characters, and Unix the slash; control characters break lists of names.
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f\\/:*?"<>|\u2028\u2029]+')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
_LONGEST_BYTES = 180  # systems allow 255; endings and our own suffixes need room
_NO_NAME = "image"


def file_stems(filenames: Sequence[str]) -> list[str]:
    """Give each image a file name without ending; no two are alike, whatever the case.

    Folders are dropped, or where that makes two alike put before the name. Nothing leads out of the
    folder that the file is put into.

    >>> file_stems(["a/1.jpg", "../2.png", "b/1.jpg", "B/1.jpg"])
    ['a_1', '2', 'b_1', 'B_1_2']
    """
    paths = [filename.replace("\\", "/").rstrip("/") for filename in filenames]
    short = [_safe(stem(path)) for path in paths]
    counts = Counter(name.casefold() for name in short)
    names = [
        name if counts[name.casefold()] == 1 else _safe(_with_folders(path))
        for name, path in zip(short, paths, strict=True)
    ]
    return _numbered(names)


def file_name(file_stem: str, filename: str, image_format: str) -> str:
    """Add the ending that fits the image: the one that it had, or else the usual one.

    >>> file_name("1", "1.JPEG", "jpeg"), file_name("1", "1.webp", "png")
    ('1.JPEG', '1.png')
    """
    fitting = ENDINGS.get(image_format, (f".{image_format}",))
    had = "." + filename.rpartition(".")[2]
    return file_stem + (had if had.lower() in fitting else fitting[0])


def _with_folders(path: str) -> str:
    folders = [part for part in path.split("/")[:-1] if part not in ("", ".", "..")]
    return "_".join([*folders, stem(path)])


def _safe(name: str) -> str:
    name = name.encode("utf-8", "replace").decode()
    name = _FORBIDDEN.sub("_", name).strip(" .")
    if _RESERVED.fullmatch(name):
        name = f"_{name}"
    return name.encode()[:_LONGEST_BYTES].decode("utf-8", "ignore").strip(" .") or _NO_NAME


def _numbered(names: Sequence[str]) -> list[str]:
    """Put _2, _3, … behind names that are there already."""
    wanted = {name.casefold() for name in names}
    taken: set[str] = set()
    unique = []
    for name in names:
        chosen, number = name, 2
        while chosen.casefold() in taken or (chosen != name and chosen.casefold() in wanted):
            chosen, number = f"{name}_{number}", number + 1
        taken.add(chosen.casefold())
        unique.append(chosen)
    return unique
