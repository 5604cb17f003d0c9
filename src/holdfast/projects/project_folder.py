"""The folder that `holdfast new` fills: whose it is, and how a config in it names files."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from holdfast.config.paths import Found, find_files, is_remote
from holdfast.errors import HoldfastError
from holdfast.files import refuse_remote, write_text

CONFIG_NAME = "pipeline.config"
MANIFEST_NAME = "new.json"


class NewFolder:
    """A folder for a config and its records; one that others use is refused.

    The same command may fill it again, to go on after an interruption or with more images, as long
    as nobody has edited the config. shown: where the user will find it, if not at `path`.
    """

    def __init__(self, path: Path, shown: Path | None = None) -> None:
        refuse_remote(path, "a new project")
        self.path, self.shown = path, shown or path
        self.config = path / CONFIG_NAME
        # Named after the folder: a config looks paths up from the working directory first, where
        # `records` may well be those of another data set.
        name = re.sub(r"[^\w.-]+", "_", path.resolve().name) or "new"
        self.records = path / f"{name}_records"
        self._manifest = path / MANIFEST_NAME

    def claim(self, origin: Mapping[str, Any]) -> None:
        """Take the folder for what is made from `origin`: the recipe, the data and the options."""
        if self.path.exists() and not self.path.is_dir():
            raise HoldfastError(f"{self.path} is a file.", fix=_OTHER)
        known = self._read()
        if known is not None:
            self._refuse_other(origin, known["origin"])
            self._refuse_edited(known.get("config_sha256"))
        elif self.path.is_dir() and any(self.path.iterdir()):
            raise HoldfastError(
                f"{self.path} is not empty, and was not made by `holdfast new`.", fix=_OTHER
            )
        else:
            self._write(origin, digest=None)

    def write_config(self, text: str, origin: Mapping[str, Any]) -> None:
        """Write the config; what is there is known to be unedited."""
        # In this order, a kill at any moment leaves no config that looks as if it was edited.
        self.config.unlink(missing_ok=True)
        self._write(origin, digest=_digest(text.encode()))
        write_text(self.config, text)

    def _read(self) -> dict[str, Any] | None:
        try:
            document = json.loads(self._manifest.read_bytes())
            return document if isinstance(document["origin"], dict) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write(self, origin: Mapping[str, Any], digest: str | None) -> None:
        document = {"holdfast": version("holdfast"), "origin": origin, "config_sha256": digest}
        try:
            write_text(self._manifest, json.dumps(document, indent=1) + "\n")
        except OSError as error:
            reason = f"{self.path} cannot be written: {error.strerror}."
            raise HoldfastError(reason, fix=_OTHER) from None

    def _refuse_other(self, origin: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        for name, value in origin.items():
            if known.get(name) != value:
                was, now = (json.dumps(each) for each in (known.get(name), value))
                raise HoldfastError(
                    f"{self.path} was made with {name} {was}, not {now}.",
                    fix="Give another folder with --out, or delete this one.",
                )

    def _refuse_edited(self, digest: str | None) -> None:
        if self.config.exists() and _digest(self.config.read_bytes()) != digest:
            raise HoldfastError(
                f"{self.config} was edited since `holdfast new` wrote it.",
                fix="Keep it as it is, move it away to have it written again, or give another "
                "folder with --out.",
            )


def written_path(path: str, folder: Path, look: Callable[[str, Path], Found] = find_files) -> str:
    """Say how a config in the folder names a file, a pattern or (with `look`) a checkpoint.

    Relative to the folder, unless the user gave an absolute path to somewhere else, or the relative
    one would lead elsewhere from the working directory.
    """
    if is_remote(path):
        return path
    place, above = os.path.abspath(path), os.path.abspath(folder)
    if os.path.isabs(path) and os.path.commonpath([place, above]) != above:
        return path
    relative = Path(os.path.relpath(place, above)).as_posix()
    found = look(relative, folder)
    is_to_be_made = not folder.exists() and not found.files
    is_same = _files(found) == _files(look(place, folder))
    return relative if is_same or is_to_be_made else place


def _files(found: Found) -> set[str]:
    return {os.path.realpath(file) for file in found.files}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_OTHER = "Give another folder with --out."
