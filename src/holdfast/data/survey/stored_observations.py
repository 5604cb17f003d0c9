"""Observations of TFRecord files, kept beside them until the statistics of all are made.

So processes and machines that see the same files share the looking: each stores what its part of
the files shows, and whoever makes the statistics reads that instead of the images. The statistics
are those that one process alone would make, because all observations are entered in their order.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import groupby
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.data.part_of_work import PartOfWork
from holdfast.data.records import data_files
from holdfast.data.sources.tfrecord import RecordLayout
from holdfast.data.survey.box_validity import Reason
from holdfast.data.survey.observe import Observation, observe_records
from holdfast.errors import HoldfastError
from holdfast.files import cache_folder
from holdfast.progress import Progress, silent

FORMAT = 3  # to be raised whenever the same files would give other statistics
FOLDER_NAME = ".holdfast-observations"


class StoredObservations:
    """What is known of record files already, and how to look at the others.

    `names` is the label map, id -> name.
    """

    def __init__(
        self, files: Sequence[str], layout: RecordLayout, names: Mapping[int, str] | None
    ) -> None:
        self.files, self.layout, self.names = files, layout, names
        setting = [FORMAT, layout_key(layout), sorted((names or {}).items())]
        self._folders = {one: _folder_for(one) for one in dict.fromkeys(map(_folder_of, files))}
        there = {one: _listed(one) for one in self._folders.values()}
        self._stored: dict[str, str] = {}  # file -> where its observations are
        self._places: dict[str, str] = {}  # file -> where they are, or would be
        for file in files:
            folder = self._folders[_folder_of(file)]
            name = f"{digest([*setting, posixpath.basename(file), data_files.stamp(file)])}.json.gz"
            self._places[file] = data_files.join(folder, name)
            if name in there[folder]:
                self._stored[file] = self._places[file]

    def observations(self) -> Iterator[Observation]:
        """Give the observations of all files, in their order."""
        for is_stored, group in groupby(self.files, lambda file: file in self._stored):
            if not is_stored:
                yield from observe_records(list(group), self.layout, self.names)
                continue
            for file in group:
                yield from self._loaded(file)

    def store(self, part: PartOfWork, progress: Progress = silent) -> int:
        """Look at a part of the files, but for those that were looked at before.

        Gives how many records were looked at; progress is told in files.
        """
        mine = part.of(self.files)
        missing = [file for file in mine if file not in self._stored]
        seen = observe_records(missing, self.layout, self.names)
        count = 0
        for file, group in groupby(seen, lambda one: one.record[0] if one.record else ""):
            lines = [json.dumps(_encoded(each)) for each in group]
            self._write(file, lines)
            count += len(lines)
            progress(sum(file in self._stored for file in mine), len(mine))
        for file in missing:
            if file not in self._stored:  # it holds no record
                self._write(file, [])
        return count

    def remove(self) -> None:
        """Delete what is stored of these files, where that is allowed."""
        places, self._stored = list(self._stored.values()), {}
        if not places:
            return
        with suppress(HoldfastError, OSError, tf.errors.OpError):
            for place in places:
                data_files.remove(place)
            for folder in self._folders.values():
                if not data_files.list_folder(folder):
                    data_files.remove_folder(folder)

    def _write(self, file: str, lines: Sequence[str]) -> None:
        content = gzip.compress("\n".join(lines).encode(), compresslevel=1, mtime=0)
        data_files.write_bytes(self._places[file], content)
        self._stored[file] = self._places[file]

    def _loaded(self, file: str) -> Iterator[Observation]:
        try:
            lines = gzip.decompress(data_files.read_bytes(self._stored[file])).decode().splitlines()
            found = [_decoded(json.loads(line), file, each) for each, line in enumerate(lines)]
        except (HoldfastError, OSError, EOFError, ValueError, TypeError, KeyError):
            yield from observe_records([file], self.layout, self.names)
            return
        yield from found


def layout_key(layout: RecordLayout) -> dict[str, Any]:
    """Give all that tells one way to read records from another, as JSON values."""
    masks = layout.masks.value if layout.masks else None
    class_ids = sorted(layout.class_ids.items()) if layout.class_ids is not None else None
    lists = sorted(layout.lists)
    return asdict(layout) | {"masks": masks, "class_ids": class_ids, "lists": lists}


def digest(value: Any) -> str:
    """Digest JSON values."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def is_protected(folder: str) -> bool:
    """Tell whether a local folder is marked as read-only: that binds us even as root."""
    try:
        return "://" not in folder and not os.stat(folder or ".").st_mode & 0o222
    except OSError:
        return True


def _folder_of(file: str) -> str:
    return posixpath.dirname(file)


def _folder_for(folder: str) -> str:
    if is_protected(folder):
        return data_files.join(str(cache_folder()), f"observations-{digest(folder)[:16]}")
    return data_files.join(folder, FOLDER_NAME)


def _listed(folder: str) -> set[str]:
    return set(data_files.list_folder(folder)) if data_files.is_folder(folder) else set()


def _encoded(seen: Observation) -> dict[str, Any]:
    """Give JSON values, without what the place of the record says."""
    values = seen._asdict()
    for name in ("place", "record", "merged_into"):
        del values[name]
    arrays = {name: getattr(seen, name).tolist() for name in _ARRAYS}
    keys = [each.hex() for each in seen.box_keys]
    reasons = [int(each) for each in seen.box_reasons]
    changed = {"content": seen.content.hex(), "box_keys": keys, "box_reasons": reasons}
    return values | arrays | changed | {"reason": int(seen.reason)}


def _decoded(values: dict[str, Any], file: str, number: int) -> Observation:
    arrays = {name: np.array(values[name], kind) for name, kind in _ARRAYS.items()}
    arrays["boxes"] = arrays["boxes"].reshape(-1, 4)
    changed = {
        "place": f"{file}, record {number}",
        "record": (file, number),
        "content": bytes.fromhex(values["content"]),
        "reason": Reason(values["reason"]),
        "box_reasons": tuple(map(Reason, values["box_reasons"])),
        "box_keys": tuple(map(bytes.fromhex, values["box_keys"])),
    }
    texts = {name: tuple(values[name]) for name in ("class_names", "remarks", "unknown_classes")}
    return Observation(**values | arrays | changed | texts)


_ARRAYS: dict[str, Any] = {
    "boxes": np.float32,
    "pixel_mean": np.float64,
    "pixel_square_mean": np.float64,
}
