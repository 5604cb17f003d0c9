"""What happened in a run, one JSON object a line: written so that a kill loses one line at most."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.errors import HoldfastError
from holdfast.runs.json_text import JsonValue, from_text, to_text


class Event(NamedTuple):
    """Something that happened at a step."""

    step: int
    kind: str
    values: dict[str, Any]


def read_events(path: Path) -> Iterator[Event]:
    """Yield the events of a file, which may still be growing; none if there is no file.

    Lines that are not events are passed over, and so is a last line without an end.
    """
    for _, event in _lines(path):
        if event is not None:
            yield event


class EventLog:
    """The writing end of a file of events; only the holder of the run's lock may open it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _cut_torn_line(path)
        self._stream = open(path, "ab", buffering=0)  # noqa: SIM115  as long as the log lives

    def append(self, step: int, kind: str, **values: JsonValue) -> None:
        """Write one event; when this returns, a kill of the process does not lose it."""
        line = to_text({"step": step, "kind": kind, **values}).encode() + b"\n"
        start = os.fstat(self._stream.fileno()).st_size
        try:
            _write_all(self._stream, line)
        except OSError as error:
            # The next line must not continue half of this one.
            os.truncate(self._stream.fileno(), start)
            raise HoldfastError(
                f"{self.path} cannot be written: {error.strerror}.",
                fix="Free space on the disk, then start the same command again: the run resumes.",
            ) from error

    def truncate_after(self, step: int) -> int:
        """Drop the events of later steps, which are about to be repeated; say how many."""
        dropped = sum(event.step > step for event in read_events(self.path))
        if dropped:
            self._stream.close()
            _keep_until(self.path, step)
            self._stream = open(self.path, "ab", buffering=0)  # noqa: SIM115
        return dropped

    def sync(self) -> None:
        """Wait until the events are on the disk, where a power failure does not lose them."""
        os.fsync(self._stream.fileno())

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def _lines(path: Path) -> Iterator[tuple[bytes, Event | None]]:
    if not path.exists():
        return
    with open(path, "rb") as stream:
        for line in stream:
            yield line, event_of(line)


def event_of(line: bytes) -> Event | None:
    """Read one line; None if it is not an event, or has no end."""
    if not line.endswith(b"\n"):
        return None
    try:
        values = from_text(line)
    except ValueError:
        return None
    if not isinstance(values, dict):
        return None
    step, kind = values.pop("step", None), values.pop("kind", None)
    if type(step) is not int or not isinstance(kind, str):
        return None
    return Event(step, kind, values)


def _write_all(stream: Any, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[stream.write(rest) :]


def _keep_until(path: Path, step: int) -> None:
    """Replace the file by its events up to a step; a kill leaves the one or the other."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as stream:
            for line, event in _lines(path):
                if event is not None and event.step <= step:
                    stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _cut_torn_line(path: Path) -> None:
    """End the file after its last whole line, so that the next one starts on its own."""
    if not path.exists():
        return
    with open(path, "r+b") as stream:
        end = stream.seek(0, os.SEEK_END)
        while end:
            start = max(end - _BLOCK_BYTES, 0)
            stream.seek(start)
            newline = stream.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        stream.truncate(end)


_BLOCK_BYTES = 1 << 16
