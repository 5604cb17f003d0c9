"""Tensors by name in TensorFlow's bundle format: written for good, read with their checksums."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.errors import HoldfastError

# The reader raises errors of TensorFlow, and some of Python (a file that ends early: IndexError).
_READ_ERRORS = (tf.errors.OpError, RuntimeError, ValueError, LookupError, MemoryError)
# Its errors carry no code: what was wrong is in their text alone. A text that is not listed counts
# as something that may pass, which is the mistake that loses nothing.
_SIGNS_OF_DAMAGE = (
    *("checksum", "corrupt", "sstable", "data loss", "read less bytes", "parse"),
    *("no such file", "failed to find any matching files", "is a directory", "not found in"),
)


class DamagedCheckpointError(HoldfastError):
    """A checkpoint whose files are missing, cut short or changed."""


class UnreadableCheckpointError(HoldfastError):
    """A checkpoint that cannot be read now, and may be whole: no permission, no memory."""


class Bundle(Mapping[str, np.ndarray]):
    """The tensors of a bundle, each read when it is asked for, and checked by its checksum."""

    def __init__(self, prefix: Path | str) -> None:
        self.prefix = str(prefix)  # not a Path, which would break a URL
        try:
            self._reader = tf.compat.v1.train.NewCheckpointReader(self.prefix)
            shapes = self._reader.get_variable_to_shape_map()
        except _READ_ERRORS as error:
            raise _failure(self.prefix, f"{prefix}.index", error) from error
        self.shapes = {name: tuple(shapes[name]) for name in sorted(shapes)}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.shapes:
            raise KeyError(name)
        try:
            return np.asarray(self._reader.get_tensor(name))
        except _READ_ERRORS as error:
            raise _failure(self.prefix, f"{self.prefix}: {name}", error) from error

    def __contains__(self, name: object) -> bool:
        return name in self.shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)

    def verify(self) -> None:
        """Read everything once, one by one.

        DamagedCheckpointError names what is not whole, UnreadableCheckpointError what may be.
        """
        for name in self:
            self[name]


def write_bundle(prefix: Path, tensors: Mapping[str, Any]) -> None:
    """Write tensors or variables; when this returns, they are on the disk.

    A failure leaves files behind, which the caller removes with their folder.
    """
    try:
        with tf.device("/cpu:0"):
            tf.raw_ops.SaveV2(
                prefix=str(prefix),
                tensor_names=list(tensors),
                shape_and_slices=[""] * len(tensors),
                tensors=[tf.convert_to_tensor(each) for each in tensors.values()],
            )
    except tf.errors.OpError as error:
        # Not passed on as it is: a full disk has the type of memory that ran out.
        raise unwritable(prefix, _first_line(error)) from error
    for path in prefix.parent.glob(f"{prefix.name}.*"):
        sync(path)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise  # else a mount, which knows of no such thing for folders
    finally:
        os.close(descriptor)


def unwritable(path: Path, why: object) -> HoldfastError:
    """Say that a checkpoint cannot be written, and what to do."""
    return HoldfastError(
        f"The checkpoint {path} cannot be written: {why}.",
        fix="Free space on the disk (--keep limits the checkpoints that stay), then start the same "
        "command again: the run resumes.",
    )


def unreadable(what: object, why: object) -> UnreadableCheckpointError:
    """Say that a checkpoint cannot be read for a reason outside of it, and what to do."""
    return UnreadableCheckpointError(
        f"{what} cannot be read: {why}.",
        fix="It may be whole, so nothing was changed. Mend the cause (permissions, memory, the "
        "disk or its connection), then start the same command again.",
    )


def _failure(prefix: str, what: str, error: Exception) -> HoldfastError:
    """Tell damage, which stays, from what keeps the files from being read now."""
    hindrance = _hindrance(prefix)
    if hindrance is not None:
        return unreadable(what, hindrance.strerror)
    reason = _first_line(error)
    if isinstance(error, MemoryError):
        return unreadable(what, "there is not enough memory")
    if not any(sign in reason.lower() for sign in _SIGNS_OF_DAMAGE):
        return unreadable(what, reason.rstrip("."))
    return DamagedCheckpointError(
        f"{what} cannot be read: {reason}",
        fix="The file is missing, cut short or damaged: use an earlier checkpoint.",
    )


def _hindrance(prefix: str) -> OSError | None:
    """Try to read the files without TensorFlow, which says of a closed folder that it is empty.

    What is behind a URL is not tried.
    """
    folder, name = os.path.split(prefix)
    try:
        for entry in os.scandir(folder):
            if entry.name.startswith(f"{name}.") and entry.is_file():
                with open(entry.path, "rb") as stream:
                    stream.read(1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return error
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
