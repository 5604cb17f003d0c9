"""Download a file: with progress, resumed where it was cut, whole or not at all."""

from __future__ import annotations

import errno
import http.client
import json
import os
import time
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from holdfast.checkpoints.zoo.disk_space import FullDiskError, refuse_full_disk
from holdfast.errors import HoldfastError
from holdfast.files import write_text
from holdfast.progress import Progress, silent
from holdfast.units import bytes_text

PAUSE_SECONDS = 1.0  # before a cut download is resumed; doubled each time
_TRIES = 5  # in a row that bring nothing new
_TIMEOUT_SECONDS = 30.0  # without a byte
_CHUNK = 2**18
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})  # answers that may be better later
_SATISFIED = 416  # nothing is left behind the first byte that was asked for


def download(address: str, path: Path, *, by_hand: str, progress: Progress = silent) -> None:
    """Download a file to `path`, resuming what an earlier call left there.

    What has come so far is kept at `path` when the connection breaks; beside it, in a .json file,
    is what it is a part of: `forget` removes both. A server that cannot resume, or has another
    file by now, starts over.

    by_hand: the command that takes the file after it was downloaded in another way.
    """
    transfer = _Transfer(address, path, progress)
    tries, pause, most = 0, PAUSE_SECONDS, transfer.have
    while True:
        try:
            if transfer.run():
                return
            reason = "the connection ended early"
        except urllib.error.HTTPError as error:
            error.close()
            if error.code not in _BUSY:
                raise _refused(address, error, by_hand) from error
            reason = f"the server answers {error.code} {error.reason}"
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise FullDiskError(path.parent) from error
            reason = _reason(error)
        tries = 1 if transfer.have > most else tries + 1
        most = max(most, transfer.have)
        if tries >= _TRIES or (transfer.have == 0 and _is_hopeless(reason)):
            raise _unreachable(address, reason, transfer, by_hand)
        time.sleep(pause)
        pause = min(2 * pause, 30.0)


def forget(path: Path) -> None:
    """Remove what a download has left at `path`."""
    path.unlink(missing_ok=True)
    _note_of(path).unlink(missing_ok=True)


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


@dataclass(frozen=True, kw_only=True)
class _Part:
    """What a half file is a part of."""

    address: str
    mark: str  # ETag, or else Last-Modified: another one is another file
    total: int | None  # bytes; None: the server does not say


class _Transfer:
    """One file on its way, over as many connections as it takes."""

    def __init__(self, address: str, path: Path, progress: Progress) -> None:
        self._address, self._path, self._progress = address, path, progress
        self._part = self._read_note()
        if self._part is None:
            forget(path)

    @property
    def have(self) -> int:
        """How many bytes have come."""
        return self._path.stat().st_size if self._path.exists() else 0

    @property
    def total(self) -> int | None:
        return self._part.total if self._part is not None else None

    def run(self) -> bool:
        """Take what one connection gives; tell whether the file is whole now."""
        if self._part is not None and self._part.total == self.have > 0:
            return self._finish()
        request = urllib.request.Request(self._address, headers={"User-Agent": "holdfast"})
        if self._part is not None and self.have:
            request.add_header("Range", f"bytes={self.have}-")
            if self._part.mark:
                request.add_header("If-Range", self._part.mark)
        try:
            response = urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS)
        except urllib.error.HTTPError as error:
            if error.code != _SATISFIED or not self.have:
                raise
            error.close()
            self._forget()  # the part is longer than the file: it was of another one
            return False
        with response:
            self._take(response)
        return (self.total is None or self.have == self.total) and self._finish()

    def _take(self, response: Any) -> None:
        begins_at = self._begin(response)
        refuse_full_disk(self._path.parent, (self.total or 0) - begins_at)
        with open(self._path, "r+b" if begins_at else "wb") as stream:
            stream.seek(begins_at)
            stream.truncate()
            done = begins_at
            while chunk := response.read(_CHUNK):
                stream.write(chunk)
                done += len(chunk)
                self._progress(done, self.total or done)

    def _begin(self, response: Any) -> int:
        """Say from which byte on the answer goes, and note what it is a part of."""
        begins_at, length = 0, response.headers.get("Content-Length")
        total = int(length) if length and length.isdecimal() else None
        if response.status == http.client.PARTIAL_CONTENT:
            begins_at, total = _content_range(response.headers.get("Content-Range", ""))
            if begins_at > self.have or (self.total and total != self.total):
                self._forget()
                raise http.client.HTTPException("the server resumes another file")
        mark = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
        if mark.startswith("W/"):  # says little about the bytes
            mark = response.headers.get("Last-Modified") or ""
        self._part = _Part(address=self._address, mark=mark, total=total)
        write_text(_note_of(self._path), json.dumps(asdict(self._part)))
        return begins_at

    def _finish(self) -> bool:
        with open(self._path, "rb") as stream:
            os.fsync(stream.fileno())
        return True

    def _forget(self) -> None:
        self._part = None
        forget(self._path)

    def _read_note(self) -> _Part | None:
        try:
            part = _Part(**json.loads(_note_of(self._path).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None
        # Without a total nobody could tell whether the part is whole.
        return part if part.address == self._address and part.total else None


def _content_range(text: str) -> tuple[int, int | None]:
    """Read `bytes 100-199/200`."""
    span, _, total = text.removeprefix("bytes ").partition("/")
    first = span.partition("-")[0]
    if not first.isdecimal():
        raise http.client.HTTPException(f"the server answers with the range {text!r}")
    return int(first), int(total) if total.isdecimal() else None


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return f"nothing came for {_TIMEOUT_SECONDS:g} s"
    return str(getattr(reason, "strerror", None) or reason or type(error).__name__)


def _is_hopeless(reason: str) -> bool:
    """Tell whether it is no use to try again: no network, a wrong host, a proxy that refuses."""
    signs = ("name or service", "name resolution", "nodename", "refused", "unreachable", "tunnel")
    return any(sign in reason.lower() for sign in (*signs, "certificate", "unknown url"))


def _unreachable(address: str, reason: str, transfer: _Transfer, by_hand: str) -> HoldfastError:
    kept = ""
    if transfer.have:
        total = f" of {bytes_text(transfer.total)}" if transfer.total else ""
        kept = f" {bytes_text(transfer.have)}{total} are kept: the same command resumes."
    return HoldfastError(f"{address} cannot be fetched: {reason}.{kept}", fix=_advice(by_hand))


def _refused(address: str, error: urllib.error.HTTPError, by_hand: str) -> HoldfastError:
    if error.code in (404, 410):
        return HoldfastError(
            f"{address} does not exist ({error.code}).",
            fix="Check the address, or name a mirror that has the file with --mirror.",
        )
    return HoldfastError(
        f"{address} is refused: {error.code} {error.reason}.", fix=_advice(by_hand)
    )


def _advice(by_hand: str) -> str:
    return (
        "Behind a proxy, set HTTPS_PROXY (and HTTP_PROXY); without network, download that address "
        f"elsewhere and run `{by_hand}`."
    )
