"""The events of a run that is being written, each line read once."""

from __future__ import annotations

from pathlib import Path

from holdfast.runs.events import Event, event_of


class EventTail:
    """Keeps what was read, and reads on where it stopped; what was dropped is read anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._events: list[Event] = []
        self._offset = 0
        self._file = 0  # its number: a file that was cut is a new one

    def read(self) -> tuple[Event, ...]:
        """Give all events so far, without a last line that is still being written."""
        if not self._path.exists():
            return ()
        found = self._path.stat()
        if found.st_ino != self._file or found.st_size < self._offset:
            self._events, self._offset, self._file = [], 0, found.st_ino
        with open(self._path, "rb") as stream:
            stream.seek(self._offset)
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                event = event_of(line)
                if event is not None:
                    self._events.append(event)
        return tuple(self._events)
