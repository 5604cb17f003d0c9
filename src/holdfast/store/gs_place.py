"""Places in Cloud Storage: gs://BUCKET/NAME."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from holdfast.errors import HoldfastError
from holdfast.files import broken_url

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")


class GsPlace(NamedTuple):
    """A bucket, and the name of an object in it or the start of several names."""

    bucket: str
    name: str  # without slashes around it

    @classmethod
    def of(cls, url: str) -> GsPlace:
        """Read a URL; HoldfastError if it names no bucket.

        >>> GsPlace.of("gs://cells/runs/one/")
        GsPlace(bucket='cells', name='runs/one')
        """
        bucket, _, name = url.removeprefix("gs://").partition("/")
        if not _BUCKET.fullmatch(bucket):
            raise HoldfastError(
                f"{url} names no bucket.",
                fix="Write gs://BUCKET/FOLDER; a bucket has 3 to 63 small letters, digits, - _ and "
                ".",
            )
        return cls(bucket, name.strip("/"))

    def below(self, name: str) -> GsPlace:
        """Give a place inside of this one."""
        return self._replace(name=f"{self.name}/{name}" if self.name else name)

    def __str__(self) -> str:
        return f"gs://{self.bucket}/{self.name}".rstrip("/")


def store_url(path: str | os.PathLike[str]) -> str | None:
    """Give the gs:// URL that a path is, or was before pathlib took a slash; None for any other.

    >>> store_url(Path("gs://cells/one")), store_url("gs://cells/one"), store_url("runs/one")
    ('gs://cells/one', 'gs://cells/one', None)
    """
    text = os.path.expandvars(os.fspath(path))
    url = broken_url(Path(text)) if text.startswith("gs:/") else None
    return url if url is not None and url.startswith("gs://") else None
