"""Files near a config that its paths may have meant: records, label maps, checkpoints."""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.config.paths import expand, is_remote

_RECORD_NAME = re.compile(r"(?i)\.(tf)?rec(ord)?s?\b|\.tfr\b|-\d{3,}-of-\d{3,}")
_CHECKPOINT_DATA = re.compile(r"\.(data-\d+-of-\d+|index|meta)$")
_SHARD = re.compile(r"(?P<before>.*-)(?P<number>\d+)(?P<after>-of-\d+.*)")
_LABEL_MAP_ENDINGS = (".pbtxt", ".txt")
_LABEL_MAP_TEXT_NAME = re.compile(r"(?i)label|class")  # of a .txt, which is most often no map

# Where the tutorials tell users to put things; compared without `-`, `_` and plural.
_USUAL_FOLDERS = frozenset(
    (
        *("annotation", "data", "dataset", "image", "label", "labelmap", "record", "tfrecord"),
        *("checkpoint", "finetune", "model", "pretrain", "pretrained", "pretrainedmodel", "weight"),
        *("train", "training", "workspace"),
    )
)
_SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "site-packages", "venv"))

_MOST_ENTRIES = 50_000
_MOST_SECONDS = 2.0
_DEPTH = 3  # folders below one that is searched: models/<name>/checkpoint/ckpt-0


class Nearby(NamedTuple):
    """What was found, the nearest first."""

    records: tuple[str, ...]  # paths; of shards, one pattern
    label_maps: tuple[str, ...]  # by name; what is in them is not read here
    checkpoints: tuple[str, ...]  # prefixes


class _Root(NamedTuple):
    folder: Path
    depth: int
    usual_only: bool = False  # enter only folders of a usual name


def find_nearby(config_folder: Path, written: Iterable[str] = ()) -> Nearby:
    """Look through the config's folder, the working directory and what is usual around them.

    written: the paths in the config: folders that they name are entered wherever they are met.
    Looking stops after so many entries or seconds.
    """
    parts = [written_parts(text) for text in written]
    wanted = _USUAL_FOLDERS | {_plain(name) for each in parts for name in each[:-1]}
    return sort_found(_walk(list(_roots(config_folder, written)), wanted))


def find_inside(folder: Path) -> Nearby:
    """Look through one folder, and for label maps and checkpoints beside it."""
    inside = sort_found(_walk([_Root(folder, _DEPTH)], frozenset()))
    beside = sort_found(_walk([_Root(folder.parent, 0)], frozenset()))
    return inside._replace(label_maps=(*inside.label_maps, *beside.label_maps))


def sort_found(files: Iterable[str]) -> Nearby:
    """Tell records, label maps and checkpoints by their names, and join shards to patterns."""
    records: dict[str, None] = {}
    label_maps, checkpoints = [], []
    for file in files:
        name = file.rpartition("/")[2]
        if name.endswith(".index"):
            checkpoints.append(file.removesuffix(".index"))
        elif _CHECKPOINT_DATA.search(name):
            continue
        elif _is_label_map_name(name):
            label_maps.append(file)
        elif is_record_name(name):
            records[shard_pattern(file)] = None
    return Nearby(tuple(records), tuple(label_maps), tuple(checkpoints))


def is_record_name(name: str) -> bool:
    """Tell by its name whether a file holds records.

    >>> is_record_name("train.record-00000-of-00010"), is_record_name("records.csv")
    (True, False)
    """
    return _RECORD_NAME.search(name) is not None


def shard_pattern(file: str) -> str:
    """Give the pattern of a data set from one of its shards; any other file stands for itself.

    >>> shard_pattern("data/a.record-00003-of-00010"), shard_pattern("data/a.record")
    ('data/a.record-?????-of-00010', 'data/a.record')
    """
    folder, mark, name = file.rpartition("/")
    shard = _SHARD.fullmatch(name)
    if shard is None:
        return file
    before, after = glob.escape(folder + mark + shard["before"]), glob.escape(shard["after"])
    return f"{before}{'?' * len(shard['number'])}{after}"


def written_parts(text: str) -> list[str]:
    r"""Split a path of any system into its names.

    >>> written_parts("C:\\Users\\me\\train.record"), written_parts("gs://bucket/a.pbtxt")
    (['Users', 'me', 'train.record'], ['bucket', 'a.pbtxt'])
    """
    without_start = re.sub(r"^[a-zA-Z][a-zA-Z0-9+.-]*:(//)?", "", text)
    return [name for name in re.split(r"[/\\]+", without_start) if name]


def role_of(path: str) -> str | None:
    """Tell from its name, else from its folder's, what a data set is for: train, val or test.

    >>> role_of("data/my_train.record"), role_of("valid/cells.tfrecord"), role_of("cells.record")
    ('train', 'val', None)
    >>> role_of("latest.record") is None
    True
    """
    for name in reversed(written_parts(path.lower())[-2:]):
        if "train" in name:
            return "train"
        if found := re.search(r"(?:^|[^a-z])(val|eval|dev|test)", name):
            return "test" if found[1] == "test" else "val"
    return None


def _is_label_map_name(name: str) -> bool:
    lower = name.lower()
    if not lower.endswith(_LABEL_MAP_ENDINGS):
        return False
    return lower.endswith(".pbtxt") or _LABEL_MAP_TEXT_NAME.search(lower) is not None


def _roots(config_folder: Path, written: Iterable[str]) -> Iterator[_Root]:
    """Yield where to look, the most likely places first."""
    own, working = Path(os.path.abspath(config_folder)), Path.cwd()
    yield _Root(own, _DEPTH)
    yield _Root(working, _DEPTH)
    for text in written:
        if (folder := _nearest_folder(text)) is not None:
            yield _Root(folder, 1)
    for folder in dict.fromkeys((own.parent, working.parent, own.parent.parent)):
        if folder not in (own, working, folder.parent):  # the root of the disk is nobody's project
            yield _Root(folder, _DEPTH, usual_only=True)


def _nearest_folder(text: str) -> Path | None:
    """Give the folder that a wrong path leads to or into, if that much of it is there."""
    path = expand(text)
    if is_remote(path) or "\0" in path or not os.path.isabs(path):
        return None
    for folder in (path, os.path.dirname(path)):
        if os.path.isdir(folder) and folder.count("/") > 1:
            return Path(folder)
    return None


def _walk(roots: Sequence[_Root], wanted: frozenset[str]) -> Iterator[str]:
    """Yield the files of the folders below the roots, each folder's once."""
    end, entries = time.monotonic() + _MOST_SECONDS, 0
    seen: set[str] = set()
    for found in _folders(roots, wanted):
        entries += len(found)
        if entries > _MOST_ENTRIES or time.monotonic() > end:
            return
        folder = os.path.realpath(os.path.dirname(found[0].path))
        if folder not in seen:
            seen.add(folder)
            yield from (entry.path for entry in found if _is_file(entry))


def _folders(roots: Sequence[_Root], wanted: frozenset[str]) -> Iterator[list[os.DirEntry[str]]]:
    """Yield what is in each folder that is not empty, upper levels first."""
    for root in roots:
        level = [str(root.folder)]
        for depth in range(root.depth + 1):
            below: list[str] = []
            is_choosy = root.usual_only and depth == 0
            for folder in level:
                if found := _entries(folder):
                    yield found
                below += [
                    entry.path
                    for entry in found
                    if _is_folder(entry) and (not is_choosy or _plain(entry.name) in wanted)
                ]
            level = below


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            entries = [each for each in found if not each.name.startswith(".")]
    except OSError:  # gone, or not ours to read
        return []
    return sorted(entries, key=lambda entry: entry.name)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Tell whether it is a file with something in it; only those of a fitting name are asked."""
    name = entry.name
    fits = name.endswith(".index") or _is_label_map_name(name) or is_record_name(name)
    try:
        return fits and entry.is_file() and entry.stat().st_size > 0
    except OSError:
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir() and entry.name not in _SKIPPED_FOLDERS
    except OSError:
        return False


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "", name.lower()).removesuffix("s")
