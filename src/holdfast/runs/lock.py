"""One process at a time trains in a run."""

from __future__ import annotations

import fcntl
import os
import warnings
from pathlib import Path

from holdfast.errors import HoldfastError

LOCK_NAME = ".lock"


class RunLock:
    """Held from its making to `release` or to the end of the process, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = _opened(folder)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._descriptor, 20).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            raise HoldfastError(
                f"Another process ({holder or 'not known'}) is training in {folder}.",
                fix="Wait until it ends or stop it, or give this training another --run.",
            ) from None
        except OSError as error:
            warnings.warn(
                f"{folder} is on a file system that cannot lock files ({error.strerror}): make "
                "sure that no other process trains there.",
                stacklevel=3,
            )
        os.truncate(self._descriptor, 0)
        os.write(self._descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Let another process train; releasing twice does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _opened(folder: Path) -> int:
    """Open the file, which is never deleted: else two processes could lock two of its name."""
    try:
        return os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise HoldfastError(
            f"The folder {folder} cannot be written to: {error.strerror}.",
            fix="Check its permissions, or give another --run.",
        ) from error
