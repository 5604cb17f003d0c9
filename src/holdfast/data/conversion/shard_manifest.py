"""What has been converted so far: JSON files beside the shards, so that work can go on.

A conversion has one, `convert.json`. Each part of a conversion that several processes share writes
one of its own, `convert-3-of-16.json`; the call that ends the conversion takes them over.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, NamedTuple

from holdfast.data.conversion.shard_plan import Shard
from holdfast.data.part_of_work import PartOfWork
from holdfast.data.records import data_files
from holdfast.data.sources.source import Source
from holdfast.errors import HoldfastError

MANIFEST_NAME = "convert.json"
# What a conversion writes beside the manifest. A name of another form is not ours to delete,
# whatever the manifest says.
_PART_NAME = re.compile(r"convert-\d+-of-\d+\.json")
_SHARD_NAME = re.compile(r"(train|val|test)\.(record|part)-\d{5,}-of-\d{5,}")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What a conversion is made from."""

    location: str
    format: str
    selection: str = ""  # the classes that were asked for
    to: str = "tfrecord"

    def __str__(self) -> str:
        chosen = f", {self.selection}" if self.selection else ""
        return f"{self.location} ({self.format}{chosen}) to {self.to}"


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


class ShardManifest:
    """The shards of a folder: finished ones with their record, planned ones with None.

    part: the part of the conversion that this process does; its shards are noted in a file of the
    part's own, so that no two processes write the same file.
    """

    def __init__(self, folder: str, part: PartOfWork | None = None) -> None:
        self.folder, self.part = folder, part
        self._whole_path = data_files.join(folder, MANIFEST_NAME)
        name = f"convert-{part.number}-of-{part.count}.json" if part else MANIFEST_NAME
        self.path = data_files.join(folder, name)
        self.exists = data_files.exists(self.path)
        loaded = _load(self.path) if self.exists else _Loaded(None, "", {})
        self.origin, self.plan, self.shards = loaded
        self.others = {path: _load(path) for path in _manifests(folder) if path != self.path}

    def refuse_other(self, origin: Origin) -> None:
        """Raise an error if the folder holds a conversion of anything but `origin`."""
        found = {path: loaded.origin for path, loaded in self.others.items()}
        for path, there in {**found, **({self.path: self.origin} if self.exists else {})}.items():
            if there == origin:
                continue
            what = f"{self.folder} holds the conversion of {there}, not of {origin}."
            if there is None:
                what = f"{path} does not say which data the conversion beside it was made from."
            raise HoldfastError(what, fix="Choose another folder, or delete this one first.")

    def noted(self) -> set[str]:
        """Name the shards that any process has planned here."""
        return set(self.shards).union(*(loaded.shards for loaded in self.others.values()))

    def finished(self, name: str, key: str) -> ShardRecord | None:
        """Give the record of a shard that is there, whole and made from the same; or None."""
        record = self.shards.get(name)
        stamp = data_files.stamp(data_files.join(self.folder, name))
        unchanged = record and record.key == key and stamp and stamp.size_bytes == record.size_bytes
        return record if unchanged else None

    def begin(self, names: Iterable[str], origin: Origin, plan: str = "") -> None:
        """Note which shards there will be; files of an earlier plan that it lacks are deleted.

        plan: a digest of all that the shards are made from, where they cannot be replaced singly.
        A part deletes only what it has planned itself.
        """
        self.origin, self.plan = origin, plan
        planned = list(names)
        earlier = set(self.shards) if self.part else self.noted()
        for name in earlier - set(planned):
            data_files.remove(data_files.join(self.folder, name))
        data_files.remove_temporaries(self.folder, planned)
        known = self._known()
        self.shards = {name: known.get(name) for name in planned}
        self.save()

    def take_over_parts(self) -> None:
        """Delete the files of the parts: all of their shards are noted here."""
        for path in self.others:
            data_files.remove(path)
        self.others = {}

    def _known(self) -> dict[str, ShardRecord]:
        """Give the records of all processes; those of parts are newer than those of the whole."""
        whole_first = sorted(self.others.items(), key=lambda one: one[0] != self._whole_path)
        every = [self.shards, *(loaded.shards for _, loaded in whole_first)]
        every = every[1:] + every[:1] if self.part else every
        return {name: one for shards in every for name, one in shards.items() if one}

    def finish(self, name: str, record: ShardRecord) -> None:
        """Note that a shard is done."""
        self.shards[name] = record
        self.save()

    def save(self) -> None:
        """Write the file, whole."""
        shards = {name: record and asdict(record) for name, record in self.shards.items()}
        source = asdict(self.origin) if self.origin else None
        values = {"holdfast": version("holdfast"), "source": source, "shards": shards}
        values |= {"plan": self.plan} if self.plan else {}
        data_files.write_bytes(self.path, json.dumps(values, indent=1).encode() + b"\n")


def origin_of(source: Source, to: str = "tfrecord") -> Origin:
    """Say what a source is, the same for every way to write its path."""
    is_place = "://" not in source.location and data_files.exists(source.location)
    location = os.path.realpath(source.location) if is_place else source.location
    return Origin(location=location, format=source.format, selection=source.selection, to=to)


def shard_key(shard: Shard, source: Source) -> str:
    """Digest everything that a shard is made from: settings, annotations, state of image files."""
    parts = [version("holdfast"), shard.name, repr(source.label_map), repr(source.masks)]
    for entry in shard.entries:
        stamp = data_files.stamp(entry.image_path) if entry.image_path else None
        parts += [entry.source_id, entry.filename, entry.fingerprint, repr(stamp)]
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()


def _manifests(folder: str) -> list[str]:
    """List the records of all processes that have converted into a folder."""
    names = data_files.list_folder(folder) if data_files.is_folder(folder) else []
    chosen = [name for name in names if name == MANIFEST_NAME or _PART_NAME.fullmatch(name)]
    return [data_files.join(folder, name) for name in chosen]


class _Loaded(NamedTuple):
    """What a manifest says."""

    origin: Origin | None
    plan: str
    shards: dict[str, ShardRecord | None]


def _load(path: str) -> _Loaded:
    try:
        document = json.loads(data_files.read_bytes(path))
        source = document.get("source")
        shards = {
            name: _record(values) if values else None
            for name, values in document["shards"].items()
            if _SHARD_NAME.fullmatch(name)
        }
        origin = Origin(**source) if source else None
        return _Loaded(origin, str(document.get("plan", "")), shards)
    except (AttributeError, KeyError, TypeError, ValueError):
        fix = "Delete it and the shards beside it, or choose another folder."
        raise HoldfastError(f"{path} is not a record of a conversion.", fix=fix) from None


def _record(values: dict[str, Any]) -> ShardRecord:
    for name in ("left_out", "remarks"):
        values[name] = tuple(Incident(**incident) for incident in values[name])
    return ShardRecord(**values)
