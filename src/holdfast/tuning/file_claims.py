"""Files that one process at a time holds, on one machine or a folder shared by several.

The kernel lets go of a claim when its process ends, however it ends: nobody waits for the dead.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from holdfast.errors import HoldfastError


class FileClaim:
    """Held from `claimed` to `release`, or to the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def claimed(cls, path: Path, *, waits: bool) -> FileClaim | None:
        """Claim a file, which is made if it is missing; None if another process holds it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError as error:
            os.close(descriptor)
            raise HoldfastError(
                f"{path.parent} is on a file system that cannot lock files ({error.strerror}).",
                fix="Give a folder on another one as --out.",
            ) from error
        return cls(descriptor)

    def release(self) -> None:
        """Let another process have it."""
        os.close(self._descriptor)

    def __enter__(self) -> FileClaim:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def waited_for(path: Path) -> FileClaim:
    """Claim a file as soon as nobody else holds it."""
    claim = FileClaim.claimed(path, waits=True)
    assert claim is not None
    return claim
