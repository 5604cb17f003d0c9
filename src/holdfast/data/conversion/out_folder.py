"""A folder that is there when all of it is: made under another name, which it loses at the end."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from contextlib import suppress

import tensorflow as tf

from holdfast.data.conversion.shard_manifest import Origin, ShardManifest
from holdfast.data.records import data_files
from holdfast.errors import HoldfastError

_UNFINISHED = ".partial"


class OutFolder:
    """The folder of a conversion; one that holds anything else is refused, never written to.

    origin says what data it is made from, plan is a digest of all that goes into it.
    """

    def __init__(self, path: str, origin: Origin, plan: str) -> None:
        if posixpath.basename(path) in ("", ".", ".."):
            what = f"{path or '/'} cannot be replaced by a folder that is made under another name."
            raise HoldfastError(what, fix="Name a folder in it.")
        self.path, self.origin, self.plan = path, origin, plan
        self.unfinished = path + _UNFINISHED
        self.is_complete = _holds_anything(path)
        self._folders: set[str] = set()
        if self.is_complete:
            self._check(
                ShardManifest(path),
                f"{path} holds an earlier conversion of the same data, of which something has "
                "changed since: its files or the options.",
            )

    def begin(self, names: Sequence[str]) -> ShardManifest:
        """Start in the unfinished folder, or go on in what an interruption has left there."""
        manifest = ShardManifest(self.unfinished)
        if _holds_anything(self.unfinished):
            self._check(
                manifest,
                f"{self.unfinished} is what an interrupted conversion has left, and the data or "
                "the options have changed since.",
            )
        manifest.begin(names, self.origin, self.plan)
        return manifest

    def write(self, path: str, pieces: Iterable[bytes]) -> int:
        """Write a file of the unfinished folder and give its size; half files are no harm there."""
        place = data_files.join(self.unfinished, path)
        folder = posixpath.dirname(place)
        try:
            if folder not in self._folders:
                tf.io.gfile.makedirs(folder)
                self._folders.add(folder)
            with tf.io.gfile.GFile(place, "wb") as stream:
                return sum(_write(stream, piece) for piece in pieces)
        except (OSError, tf.errors.OpError) as error:
            raise HoldfastError(f"{place} cannot be written: {_reason(error)}.") from None

    def publish(self) -> None:
        """Give the folder its name."""
        try:
            tf.io.gfile.rename(self.unfinished, self.path, overwrite=True)
        except (OSError, tf.errors.OpError) as error:
            what = f"{self.unfinished} is complete, but cannot be renamed: {_reason(error)}."
            raise HoldfastError(what, fix=f"Rename it to {self.path}.") from None

    def _check(self, manifest: ShardManifest, changed: str) -> None:
        if not manifest.exists:
            fix = "Choose a folder that does not exist yet."
            raise HoldfastError(
                f"{manifest.folder} is not empty, and not from a conversion.", fix=fix
            )
        manifest.refuse_other(self.origin)
        if manifest.plan != self.plan:
            raise HoldfastError(changed, fix="Delete it, or choose another folder.")


def _holds_anything(path: str) -> bool:
    """Tell whether there is anything but an empty folder."""
    if not data_files.exists(path):
        return False
    with suppress(tf.errors.OpError):
        return not data_files.is_folder(path) or bool(tf.io.gfile.listdir(path))
    return True


def _write(stream: tf.io.gfile.GFile, piece: bytes) -> int:
    stream.write(piece)
    return len(piece)


def _reason(error: Exception) -> str:
    return str(getattr(error, "message", "") or error).split("\n")[0].rstrip(".")
