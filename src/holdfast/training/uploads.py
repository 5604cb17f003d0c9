"""A run of the store as its training sees it: uploaded after each checkpoint, or later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.runs.run_mirror import LostRunError, RunMirror, run_folder
from holdfast.store.gs_place import store_url
from holdfast.training.cluster import is_chief
from holdfast.training.surviving.failure import TrainingFailedError

UPLOAD_FAILED = "upload_failed"  # kind of event


class Uploads:
    """Where a training keeps its run: in a folder, and perhaps in the store as well."""

    def __init__(self, folder: Path, mirror: RunMirror | None, tell: Callable[[str], None]) -> None:
        self.folder = folder
        self.missing: tuple[str, ...] = ()  # at the end: files that are not in the store
        self._mirror = mirror
        self._tell = tell
        self._fails = False

    def push(self, failed: Callable[[str], None]) -> None:
        """Upload what has changed; failed hears why that was not possible, and all goes on."""
        if self._mirror is None:
            return
        try:
            is_stored = self._mirror.push()
        except LostRunError as error:
            raise TrainingFailedError(error.message, fix=error.fix) from error
        if not is_stored:
            failed(self._mirror.problem)
            if not self._fails:  # once: it may last
                self._tell(
                    f"Not uploaded: {self._mirror.problem} Training continues in {self.folder}, "
                    "and the upload is tried again at each checkpoint."
                )
        elif self._fails:
            self._tell(f"Everything is uploaded again to {self._mirror.place}.")
        self._fails = not is_stored

    def finish(self) -> None:
        """Upload the rest, with more patience."""
        if self._mirror is not None:
            self.missing = self._mirror.finish()


@contextmanager
def open_uploads(run: str | Path, tell: Callable[[str], None]) -> Iterator[Uploads]:
    """Give the folder to train in: of a gs:// run, a copy that nobody else trains in meanwhile.

    However the training ends, what it has written is uploaded, if that is possible.
    """
    url, folder = store_url(run), run_folder(run)
    if url is None or not is_chief():
        yield Uploads(folder, None, tell)
        return
    mirror = RunMirror(url, tell)
    try:
        yield Uploads(folder, mirror, tell)
    except BaseException:
        with suppress(LostRunError):
            mirror.push()
        raise
    finally:
        mirror.close()
