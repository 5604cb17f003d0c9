"""Where the files that a config names are: expanded, globbed and looked up as the OD API does."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import NamedTuple

PLACEHOLDER = "PATH_TO_BE_CONFIGURED"


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


def expand(text: str) -> str:
    """Replace a leading `~` and environment variables."""
    return os.path.expanduser(os.path.expandvars(text))


def is_remote(text: str) -> bool:
    """Tell a URL such as gs://bucket/file from a local path."""
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+://", text) is not None


def is_glob(text: str) -> bool:
    """Tell whether a path stands for a pattern of files."""
    return any(character in text for character in "*?[")


def find_files(text: str, config_folder: Path) -> Found:
    """Look a path or glob up from the working directory, then from the config's folder."""
    return _find(text, config_folder, _matches)


def find_checkpoint(text: str, config_folder: Path) -> Found:
    """Look a checkpoint up: a prefix such as ckpt-0, or a folder with a checkpoint in it."""
    return _find(text, config_folder, _checkpoint_files)


def missing_shards(found: Found) -> tuple[int, int] | None:
    """Give (present, expected) when some of the shards named …-of-N are not there."""
    totals = {match[1] for file in found.files if (match := re.search(r"-of-(\d+)", file.name))}
    if len(totals) != 1:
        return None
    expected = int(totals.pop())
    return (len(found.files), expected) if len(found.files) < expected else None


def _find(text: str, config_folder: Path, look: Callable[[str], tuple[Path, ...]]) -> Found:
    path = expand(text)
    if is_remote(path):
        return Found((), Base.REMOTE)
    if os.path.isabs(path):
        files = look(path)
        return Found(files, Base.ABSOLUTE if files else Base.NOWHERE)
    if files := look(path):
        return Found(files, Base.WORKING_DIRECTORY)
    if files := look(str(config_folder / path)):
        return Found(files, Base.CONFIG_FOLDER)
    return Found((), Base.NOWHERE)


def _matches(path: str) -> tuple[Path, ...]:
    if os.path.exists(path):
        return (Path(path),)
    return tuple(Path(match) for match in sorted(glob.glob(path))) if is_glob(path) else ()


def _checkpoint_files(path: str) -> tuple[Path, ...]:
    if os.path.isdir(path):
        return tuple(sorted(Path(path).glob("*.index")))
    return tuple(Path(name) for name in (f"{path}.index", path) if os.path.isfile(name))
