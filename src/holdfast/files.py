"""Files of this machine: written so that a reader sees the old content or the new, never half."""

from __future__ import annotations

import io
import os
import re
import shutil
from pathlib import Path
from typing import IO

from holdfast.errors import HoldfastError


def write_text(path: Path, text: str) -> None:
    """Replace a file's content atomically; its folder is made if it is missing."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file's content atomically; its folder is made if it is missing."""
    write_stream(path, io.BytesIO(content))


def write_stream(path: Path, content: IO[bytes]) -> None:
    """Replace a file's content atomically by the rest of a stream."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as stream:
            shutil.copyfileobj(content, stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Give the folder for what can be made or fetched again: HOLDFAST_CACHE, else the user's."""
    if own := os.environ.get("HOLDFAST_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "holdfast"


def broken_url(path: str | Path) -> str | None:
    """Give the URL that a path was before pathlib took one of its slashes; None if it was none.

    >>> broken_url(Path("gs://bucket/run"))
    'gs://bucket/run'
    """
    match = re.fullmatch(r"([a-zA-Z][a-zA-Z0-9+.-]+):/+(.*)", str(path))
    return f"{match[1]}://{match[2]}" if match else None


def shown_path(path: str | Path) -> str:
    """Write a path as the user did, also if it was a URL.

    >>> shown_path(Path("gs://bucket/run")), shown_path(Path("runs/one"))
    ('gs://bucket/run', 'runs/one')
    """
    return broken_url(path) or str(path)


def refuse_remote(path: str | Path, what: str) -> None:
    """Raise if a path that is to be written to was a URL: it would become a local folder."""
    if url := broken_url(path):
        raise HoldfastError(
            f"{url} is remote, and {what} has to be on this machine.",
            fix="Name a local folder, and copy it afterwards.",
        )


def refuse_blocked(folder: Path, what: str) -> None:
    """Raise where a file is in the way of a folder to be made: before any work, not after it.

    what: who wants the folder, such as `--out`.
    """
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise HoldfastError(
                f"{what}: {place} is a file, and a folder is needed there.",
                fix="Give another place.",
            )
