"""One machine at a time trains in a run of the store: an object that is created only if absent."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from holdfast.errors import HoldfastError
from holdfast.runs.json_text import from_text, to_text
from holdfast.store.gs_place import GsPlace
from holdfast.store.store_client import StoreClient
from holdfast.store.store_errors import StoreError

LOCK_OBJECT = ".lock"
RENEWAL_SECONDS = 15.0
STALE_SECONDS = 60.0  # without a renewal: the holder was killed
_CHANGED = 412


class StoreLock:
    """Held from its making to `release`, and renewed by a thread; a kill leaves it to be stale.

    owner: what only processes that exclude each other on their own machine share; one of them may
    take the lock of another at once. Clocks are not compared: a lock is stale when nobody renewed
    it while this process watched.
    """

    def __init__(
        self,
        run: GsPlace,
        owner: str,
        tell: Callable[[str], None],
        *,
        renewal_seconds: float = RENEWAL_SECONDS,
        stale_seconds: float = STALE_SECONDS,
    ) -> None:
        self._place = run.below(LOCK_OBJECT)
        self._owner = owner
        self._seconds = renewal_seconds, stale_seconds
        self._client = StoreClient()
        self.is_lost = False  # another process has taken it
        self._generation = self._taken(tell)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Let another process train; releasing twice does nothing."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._thread.join(timeout=self._seconds[0])
        with suppress(StoreError):  # it becomes stale
            self._client.delete(self._place, only_if=self._generation)

    def _taken(self, tell: Callable[[str], None]) -> int:
        """Take the lock: at once if it is free or ours, else when nobody renews it."""
        seen = 0  # the generation of another's lock
        while True:
            found = self._client.find(self._place)
            generation = found.generation if found is not None else 0
            if found is not None and generation != seen:
                holder = self._holder()
                if holder.get("owner") != self._owner:
                    if seen:
                        raise self._is_held(holder)
                    tell(_waits_text(holder, self._seconds[1]))
                    seen, watched_since = generation, time.monotonic()
            if seen and found is not None and time.monotonic() - watched_since < self._seconds[1]:
                time.sleep(self._seconds[0] / 4)
                continue
            try:
                return self._written(generation)
            except StoreError as error:
                if error.code != _CHANGED:  # else another process was faster: look who
                    raise

    def _written(self, generation: int) -> int:
        values = {
            "holder": f"process {os.getpid()} on {socket.gethostname()}",
            "owner": self._owner,
            "renewed": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        return self._client.write(self._place, to_text(values).encode(), only_if=generation)

    def _holder(self) -> dict[str, str]:
        try:
            values = from_text(self._client.read(self._place))
        except (StoreError, ValueError):
            return {}
        return values if isinstance(values, dict) else {}

    def _renew(self) -> None:
        while not self._ended.wait(self._seconds[0]):
            try:
                self._generation = self._written(self._generation)
            except StoreError as error:
                # The answer to a renewal may have been lost, and its repetition refused.
                if error.code == _CHANGED and not self._is_ours():
                    self.is_lost = True
                    return

    def _is_ours(self) -> bool:
        with suppress(StoreError):
            found = self._client.find(self._place)
            if found is not None and self._holder().get("owner") == self._owner:
                self._generation = found.generation
                return True
            return False
        return True  # it is not known: the next renewal will tell

    def _is_held(self, holder: dict[str, str]) -> HoldfastError:
        return HoldfastError(
            f"{_name(holder)} is training in {str(self._place).removesuffix('/.lock')}.",
            fix="Wait until it ends or stop it, or give this training another --run.",
        )


def _waits_text(holder: dict[str, str], seconds: float) -> str:
    return (
        f"{_name(holder)} holds the run. Unless it renews its lock within {seconds:.0f} s, it is "
        "dead, and this process goes on with the run."
    )


def _name(holder: dict[str, str]) -> str:
    return holder.get("holder") or "Another process"
