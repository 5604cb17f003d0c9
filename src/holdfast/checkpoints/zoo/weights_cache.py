"""The folder of this user where fetched weights are kept: whole ones only, by name."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.config.checkpoint_folders import meant_checkpoints
from holdfast.errors import HoldfastError

CONFIG_NAME = "pipeline.config"


@dataclass(frozen=True, kw_only=True)
class StoredWeights:
    """Weights on this machine."""

    name: str
    folder: Path
    checkpoint: str  # prefix of a checkpoint, or a file of Keras weights

    @property
    def is_classifier(self) -> bool:
        """Whether they are a file of Keras weights, which fills a backbone alone."""
        return self.checkpoint.endswith((".h5", ".hdf5"))

    @property
    def config(self) -> Path | None:
        """The config that lies beside them, as in archives of the zoos."""
        path = self.folder / CONFIG_NAME
        return path if path.is_file() else None


def cache_folder() -> Path:
    """Say where weights are kept: below HOLDFAST_CACHE, else where the user's caches are."""
    if named := os.environ.get("HOLDFAST_CACHE"):
        return Path(named).expanduser() / "weights"
    usual = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(usual).expanduser() / "holdfast" / "weights"


def stored_weights(name: str) -> StoredWeights | None:
    """Find weights in the cache; what is there is whole."""
    return weights_in(cache_folder() / name, name)


def weights_in(folder: Path, name: str) -> StoredWeights | None:
    """Find the weights in a folder: the latest checkpoint, or a file of Keras weights."""
    if not folder.is_dir():
        return None
    files = sorted(folder.glob("*.h5"))
    found = meant_checkpoints(str(folder)) or tuple(map(str, files[:1]))
    if not found:
        return None
    return StoredWeights(name=name, folder=folder, checkpoint=found[0])


@contextmanager
def alone_with(name: str) -> Iterator[Path]:
    """Give the folder for files on their way; other processes that want the same weights wait."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / f".{name}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise HoldfastError(
            f"The cache {folder} cannot be written to: {error.strerror}.",
            fix="Let HOLDFAST_CACHE name a folder that you may write to.",
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # ends with the process, however that ends
        yield folder
    finally:
        os.close(descriptor)


def keep(unpacked: Path, name: str) -> None:
    """Move a folder into the cache at once; one of the same name is replaced."""
    place = cache_folder() / name
    old = place.with_name(f".{name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        os.rename(place, old)
    os.rename(unpacked, place)
    shutil.rmtree(old, ignore_errors=True)
