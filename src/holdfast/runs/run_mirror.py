"""A run of the store, trained in a folder of this machine: fetched at the start, then uploaded.

What is uploaded last decides: a checkpoint without its checkpoint.json is not there, nor is a run
without its manifest. So a kill at any moment leaves a run that any machine can go on with.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.files import write_text
from holdfast.runs.fetched_run import MARKER_NAME, step_of, whole_steps
from holdfast.runs.json_text import from_text, to_text
from holdfast.runs.lock import RunLock
from holdfast.runs.run import (
    CAPSULES_NAME,
    CHECKPOINTS_NAME,
    CONFIG_NAME,
    EVENTS_NAME,
    MANIFEST_NAME,
    PLAN_NAME,
    is_run,
)
from holdfast.runs.store_lock import LOCK_OBJECT, StoreLock
from holdfast.store.fetched import copy_folder
from holdfast.store.gs_place import GsPlace, store_url
from holdfast.store.store_client import StoreClient, StoredObject
from holdfast.store.store_errors import StoreError

_RUN, _FETCHING, _STATE = "run", "fetching", "state.json"
_OWN_NAMES = (CONFIG_NAME, PLAN_NAME, EVENTS_NAME, MANIFEST_NAME, LOCK_OBJECT)
_OWN_FOLDERS = (f"{CHECKPOINTS_NAME}/", f"{CAPSULES_NAME}/", "tensorboard/", "pictures/")
_LAST_SECONDS = 60.0  # at the end of a training, that the store is waited for


def run_folder(run: str | os.PathLike[str]) -> Path:
    """Give the folder of this machine where a run is trained: of a gs:// run, in the cache."""
    url = store_url(run)
    return Path(run) if url is None else copy_folder(GsPlace.of(url), "runs") / _RUN


class LostRunError(HoldfastError):
    """Another process has taken the run, and trains in it."""


@dataclass
class _State:
    """What this machine knows of the store; only of the run that its folder holds."""

    owner: str = field(default_factory=lambda: uuid.uuid4().hex)
    generations: dict[str, int] = field(default_factory=dict)  # of what is stored, by name
    uploaded: dict[str, list[int]] = field(default_factory=dict)  # bytes and time of the files


class RunMirror:
    """The folder of a run and its place in the store, held until `close`.

    tell hears what takes time or was decided. Nothing but the making raises StoreError.
    """

    def __init__(self, url: str, tell: Callable[[str], None]) -> None:
        self.place = GsPlace.of(url)
        self.folder = run_folder(url)
        self.problem = ""  # why the last upload is not complete
        self._home = self.folder.parent
        self._home.mkdir(parents=True, exist_ok=True)
        self._client = StoreClient()
        self._local_lock = RunLock(self._home)  # first: who holds it may write the state
        try:
            self._state = _read_state(self._home / _STATE)
            self._save_state()
            self._lock = StoreLock(self.place, self._state.owner, tell)
        except BaseException:
            self._local_lock.release()
            raise
        try:
            self._meet(self._client.objects(self.place), tell)
        except BaseException:
            self.close()
            raise

    def push(self) -> bool:
        """Upload what has changed and delete what is gone; tell whether all is stored.

        What could not be uploaded is tried again the next time. LostRunError if another process has
        taken the run: what this one does would be lost.
        """
        if self._lock.is_lost:
            raise LostRunError(
                f"Another process took over {self.place} while this one could not reach the store.",
                fix="Stop that one before you start this one again.",
            )
        self.problem = ""
        here = self._files()
        try:
            self._withdraw(here)
            for name in self._changed(here):
                self._upload(name)
            for name in self._gone(here):
                self._delete(name)
        except StoreError as error:
            self.problem = error.message
        self._save_state()
        return not self.problem

    def finish(self) -> tuple[str, ...]:
        """Upload the rest, with more patience; list the files that could not be."""
        self._client = StoreClient(patience_seconds=_LAST_SECONDS)
        self.push()
        return tuple(self._changed(self._files()))

    def close(self) -> None:
        """Let another process train in the run."""
        self._lock.release()
        self._local_lock.release()

    def _withdraw(self, here: Mapping[str, list[int]]) -> None:
        """Delete the markers of steps that are about to be written over."""
        steps = {step_of(name) for name in self._changed(here) if not _rank(name)} - {None}
        for marker in [f"{step}/{MARKER_NAME}" for step in steps]:
            if marker in self._state.generations:
                self._delete(marker)

    def _upload(self, name: str) -> None:
        path = self.folder / name
        stamp = _stamp(path)
        self._state.generations[name] = self._client.upload(self.place.below(name), path)
        self._state.uploaded[name] = stamp
        if path.name in (MARKER_NAME, MANIFEST_NAME):
            self._save_state()

    def _delete(self, name: str) -> None:
        self._client.delete(self.place.below(name))
        self._state.generations.pop(name)
        self._state.uploaded.pop(name, None)

    def _changed(self, here: Mapping[str, list[int]]) -> list[str]:
        """List the files to be uploaded, in their order: markers after what they stand for."""
        changed = [name for name, stamp in here.items() if self._state.uploaded.get(name) != stamp]
        return sorted(changed, key=lambda name: (_rank(name), name))

    def _gone(self, here: Mapping[str, list[int]]) -> list[str]:
        """List what is stored and no longer here; markers go before what they stand for."""
        gone = [name for name in self._state.generations if name not in here]
        return sorted(gone, key=lambda name: (-_rank(name), name))

    def _files(self) -> dict[str, list[int]]:
        """Give the stamps of the files here that belong into the store."""
        paths = self.folder.rglob("*") if self.folder.is_dir() else ()
        names = {str(path.relative_to(self.folder)): path for path in paths if path.is_file()}
        return {name: _stamp(path) for name, path in names.items() if _is_stored(name)}

    def _meet(self, stored: dict[str, StoredObject], tell: Callable[[str], None]) -> None:
        """Decide whether this machine's folder or the store's run is newer, and go on with it."""
        shutil.rmtree(self._home / _FETCHING, ignore_errors=True)
        strange = [each for each in stored if not each.startswith((*_OWN_NAMES, *_OWN_FOLDERS))]
        if strange and MANIFEST_NAME not in stored:
            raise HoldfastError(
                f"{self.place} is not empty, and not a run: it holds {', '.join(strange[:3])}.",
                fix="Give a new or empty place as --run.",
            )
        if self._is_ahead(stored):
            return
        if is_run(self.folder):
            tell(
                f"The copy of the run in {self.folder} is older than {self.place}: it is replaced."
            )
        shutil.rmtree(self.folder, ignore_errors=True)
        self._state.generations = {name: each.generation for name, each in stored.items()}
        self._state.generations.pop(LOCK_OBJECT, None)
        self._state.uploaded = {}
        if MANIFEST_NAME in stored:
            self._fetch(stored)
        self._save_state()

    def _is_ahead(self, stored: dict[str, StoredObject]) -> bool:
        """Tell whether nobody else has written to the store since this machine did."""
        known = self._state.generations
        deciding = [name for name in stored if _rank(name)]
        if not is_run(self.folder):
            return False
        if MANIFEST_NAME not in stored:
            return MANIFEST_NAME not in known  # else somebody deleted the run, to begin anew
        return all(known.get(name) == stored[name].generation for name in deciding)

    def _fetch(self, stored: dict[str, StoredObject]) -> None:
        """Bring the whole run here; nothing of it is seen before all of it is."""
        whole = whole_steps(stored)
        wanted = [name for name in stored if _is_stored(name) and step_of(name) in whole]
        for name in wanted:
            path = self._home / _FETCHING / name
            self._client.download(self.place.below(name), path)
            self._state.uploaded[name] = _stamp(path)
        os.rename(self._home / _FETCHING, self.folder)

    def _save_state(self) -> None:
        write_text(self._home / _STATE, to_text(asdict(self._state)) + "\n")


def _read_state(path: Path) -> _State:
    try:
        return _State(**from_text(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return _State()


def _stamp(path: Path) -> list[int]:
    """Tell one version of a file from another: its size and time."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _is_stored(name: str) -> bool:
    """Tell whether a file of a run is uploaded: not what is being written, nor what is damaged."""
    parts = Path(name).parts
    return not any(part.startswith(".") for part in parts) and "damaged" not in parts


def _rank(name: str) -> int:
    """Say how late a file is uploaded: it stands for those before it."""
    if name == MANIFEST_NAME:
        return 2
    return 1 if name.endswith(f"/{MARKER_NAME}") else 0
