"""What has been converted so far: one JSON file beside the shards, so that work can go on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version

from holdfast.data import files
from holdfast.data.conversion_plan import Shard
from holdfast.data.sources.source import Source
from holdfast.errors import HoldfastError

MANIFEST_NAME = "convert.json"


@dataclass(frozen=True, kw_only=True)
class Incident:
    """Something about one image that a user should know."""

    reason: str
    source_id: str
    place: str
    detail: str = ""
    boxes: int = 0  # how many were left out
    whole_image: bool = False  # the image was left out


@dataclass(frozen=True, kw_only=True)
class ShardRecord:
    """A finished shard."""

    key: str  # of what it was made from
    size_bytes: int
    images: int
    objects: dict[str, int]  # class name -> objects
    left_out: tuple[Incident, ...] = ()
    remarks: tuple[Incident, ...] = ()  # written, but not as the files say


class Manifest:
    """The shards of a folder: finished ones with their record, planned ones with None."""

    def __init__(self, folder: str) -> None:
        self.path = files.join(folder, MANIFEST_NAME)
        self.folder = folder
        self.shards: dict[str, ShardRecord | None] = _load(self.path)

    def finished(self, name: str, key: str) -> ShardRecord | None:
        """Give the record of a shard that is there, whole and made from the same; or None."""
        record = self.shards.get(name)
        stamp = files.stamp(files.join(self.folder, name))
        unchanged = record and record.key == key and stamp and stamp.size_bytes == record.size_bytes
        return record if unchanged else None

    def begin(self, names: Iterable[str]) -> None:
        """Note which shards there will be; files of an earlier plan that it lacks are deleted."""
        planned = list(names)
        for name in self.shards.keys() - set(planned):
            files.remove(files.join(self.folder, name))
        for name in planned:
            files.remove_temporaries(files.join(self.folder, name))
        self.shards = {name: self.shards.get(name) for name in planned}
        self.save()

    def finish(self, name: str, record: ShardRecord) -> None:
        """Note that a shard is done."""
        self.shards[name] = record
        self.save()

    def save(self) -> None:
        """Write the file, whole."""
        shards = {name: record and asdict(record) for name, record in self.shards.items()}
        text = json.dumps({"holdfast": version("holdfast"), "shards": shards}, indent=1)
        files.write_bytes(self.path, text.encode() + b"\n")


def shard_key(shard: Shard, source: Source) -> str:
    """Digest everything that a shard is made from: settings, annotations, state of image files."""
    parts = [version("holdfast"), shard.name, repr(source.label_map), repr(source.masks)]
    for entry in shard.entries:
        stamp = files.stamp(entry.image_path) if entry.image_path else None
        parts += [entry.source_id, entry.filename, entry.fingerprint, repr(stamp)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _load(path: str) -> dict[str, ShardRecord | None]:
    if not files.exists(path):
        return {}
    try:
        shards = json.loads(files.read_bytes(path))["shards"]
        return {name: _record(values) if values else None for name, values in shards.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        fix = "Delete it and the shards beside it, or choose another folder."
        raise HoldfastError(f"{path} is not a record of a conversion.", fix=fix) from None


def _record(values: dict[str, object]) -> ShardRecord:
    lists = {
        name: tuple(Incident(**incident) for incident in values.pop(name))  # type: ignore[attr-defined]
        for name in ("left_out", "remarks")
    }
    return ShardRecord(**values, **lists)  # type: ignore[arg-type]
