"""Results of many images, written one after the other: no list of them grows in memory."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, TextIO


class ResultFile:
    """A JSON document with one long list, which is complete only once it is finished."""

    def __init__(self, opening: str) -> None:
        """Begin with what precedes the items, e.g. `{"images": [`."""
        self._spool = tempfile.TemporaryFile(  # noqa: SIM115  closed by `close`
            "w+", encoding="utf-8", newline=""
        )
        self._spool.write(opening)
        self._separator = "\n"

    def add(self, item: dict[str, Any]) -> None:
        """Add an item to the list."""
        self._spool.write(self._separator + json.dumps(item))  # ASCII: any pipe can carry it
        self._separator = ",\n"

    def finish(self, closing: str) -> None:
        """Write what follows the items, e.g. `]}`."""
        self._spool.write(f"\n{closing}\n")

    def print_to(self, stream: TextIO) -> None:
        """Copy the document to a stream."""
        self._spool.seek(0)
        shutil.copyfileobj(self._spool, stream)

    def save(self, path: Path) -> None:
        """Write the document to a file, which appears whole."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with open(temporary, "w", encoding="utf-8", newline="") as stream:
                self.print_to(stream)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)

    def close(self) -> None:
        """Give the room of the document free."""
        self._spool.close()
