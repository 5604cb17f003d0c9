"""Buckets as folders: Vertex mounts gs://BUCKET at /gcs/BUCKET, and so do our Kubernetes jobs."""

from __future__ import annotations

import re

from holdfast.errors import HoldfastError

_BUCKET = re.compile(r"gs://([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])(/.*)?")
_IN_CONFIG = re.compile(r"""(["'])gs://""")


def mounted(place: str) -> str:
    """Give the folder where a job finds a place in a bucket; other places stay.

    >>> mounted("gs://cells/runs/one"), mounted("/data/run")
    ('/gcs/cells/runs/one', '/data/run')
    """
    return f"/gcs/{place.removeprefix('gs://')}" if place.startswith("gs://") else place


def bucket_of(place: str) -> str | None:
    """Give the bucket of a gs:// or /gcs/ place; None for any other.

    >>> bucket_of("gs://cells/runs"), bucket_of("/gcs/cells/runs"), bucket_of("runs")
    ('cells', 'cells', None)
    """
    url = re.sub(r"^/gcs/", "gs://", place)
    if not url.startswith("gs://"):
        return None
    found = _BUCKET.fullmatch(url)
    if found is None:
        raise HoldfastError(
            f"{place} does not name a bucket.",
            fix="Write gs://BUCKET/FOLDER; a bucket has 3 to 63 small letters, digits, - _ and .",
        )
    return found[1]


def config_with_mounts(text: str) -> str:
    """Rewrite the gs:// paths of a config's text as those of the mounts; all else stays.

    >>> config_with_mounts('label_map_path: "gs://cells/map.pbtxt"')
    'label_map_path: "/gcs/cells/map.pbtxt"'
    """
    return _IN_CONFIG.sub(r"\1/gcs/", text)


def buckets_in_config(text: str) -> tuple[str, ...]:
    """List the buckets that a config's text names, each once, in its order."""
    found = re.findall(r"""["'](?:gs://|/gcs/)([^/"']+)""", text)
    return tuple(dict.fromkeys(found))
