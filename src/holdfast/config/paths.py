"""Where the files that a config names are: expanded, globbed and looked up as the OD API does."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from holdfast.config.checkpoint_folders import meant_checkpoints

PLACEHOLDER = "PATH_TO_BE_CONFIGURED"
CHECKPOINT_PART = re.compile(r"\.(index|meta|data-\d+-of-\d+)$")
_ESCAPES = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v"}


class Base(Enum):
    """From where a path was found."""

    ABSOLUTE = "absolute"
    WORKING_DIRECTORY = "from the working directory"
    CONFIG_FOLDER = "from the config's folder"
    REMOTE = "remote, not looked up"
    NOWHERE = "not found"


class Found(NamedTuple):
    """What a path or glob leads to."""

    files: tuple[Path, ...]
    base: Base


class Shards(NamedTuple):
    """A data set in several files, some of which are not there."""

    first: Path
    present: int
    expected: int


def expand(text: str) -> str:
    """Replace a leading `~` and environment variables."""
    return os.path.expanduser(os.path.expandvars(text))


def is_remote(text: str) -> bool:
    """Tell a URL such as gs://bucket/file from a local path."""
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+://", text) is not None


def is_glob(text: str) -> bool:
    """Tell whether a path stands for a pattern of files."""
    return any(character in text for character in "*?[")


def meant(text: str) -> str:
    r"""Write a path with slashes for backslashes, also eaten ones, and a checkpoint's prefix.

    >>> meant("data\\a.record"), meant("data\train.record"), meant("a/ckpt-0.index")
    ('data/a.record', 'data/train.record', 'a/ckpt-0')
    """
    whole = "".join(f"/{escaped_letters(c)}" if c < " " else c for c in text)
    return CHECKPOINT_PART.sub("", whole.replace("\\", "/"))


def escaped_letters(character: str) -> str:
    """Give what stood behind the backslash of an escape: a letter, else an octal number."""
    return _ESCAPES.get(character, f"{ord(character):o}")


def find_files(text: str, config_folder: Path) -> Found:
    """Look a path or glob up from the working directory, then from the config's folder."""
    return _find(text, config_folder, _matches)


def find_checkpoint(text: str, config_folder: Path) -> Found:
    """Look a checkpoint up: a prefix such as ckpt-0, or a folder, of which the latest is meant.

    Its .index file is given, or the only file of the oldest kind; several where it is not clear
    which one of a folder is the latest.
    """
    return _find(text, config_folder, _checkpoint_files)


def incomplete_shards(files: Iterable[Path]) -> tuple[Shards, ...]:
    """List the data sets of which only some of the files named …-00000-of-N are there."""
    data_sets: dict[tuple[Path, str, str, str], list[Path]] = {}
    for file in dict.fromkeys(files):
        if match := _SHARD.fullmatch(file.name):
            key = (file.parent, match["before"], match["after"], match["total"])
            data_sets.setdefault(key, []).append(file)
    return tuple(
        Shards(present[0], len(present), int(total))
        for (*_, total), present in data_sets.items()
        if len(present) < int(total)
    )


_SHARD = re.compile(r"(?P<before>.*?)\d+-of-(?P<total>\d+)(?P<after>.*)")


def _find(text: str, config_folder: Path, look: Callable[[str, str], tuple[Path, ...]]) -> Found:
    if "\0" in text:  # which no file's name has, and for which the system raises ValueError
        return Found((), Base.NOWHERE)
    path = expand(text)
    if is_remote(path):
        return Found((), Base.REMOTE)
    if os.path.isabs(path):
        files = look("", path)
        return Found(files, Base.ABSOLUTE if files else Base.NOWHERE)
    if files := look("", path):
        return Found(files, Base.WORKING_DIRECTORY)
    if files := look(str(config_folder), path):
        return Found(files, Base.CONFIG_FOLDER)
    return Found((), Base.NOWHERE)


def _matches(folder: str, path: str) -> tuple[Path, ...]:
    whole = os.path.join(folder, path)
    if os.path.exists(whole):
        return (Path(whole),)
    if not is_glob(path):
        return ()
    matches = sorted(glob.glob(os.path.join(glob.escape(folder), path)))
    return tuple(Path(match) for match in matches if os.path.exists(match))  # a link may be broken


def _checkpoint_files(folder: str, path: str) -> tuple[Path, ...]:
    try:
        prefixes = meant_checkpoints(os.path.join(folder, path))
    except OSError:  # a folder that may not be read, or a name that is too long
        return ()
    names = (
        f"{prefix}.index" if os.path.isfile(f"{prefix}.index") else prefix for prefix in prefixes
    )
    return tuple(Path(name) for name in names)
