"""Whatever a user names to be read, as a path of this machine: of gs:// places, a copy is made."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.runs.run import CHECKPOINTS_NAME, MANIFEST_NAME
from holdfast.store.fetched import fetch_file, fetch_folder
from holdfast.store.gs_place import GsPlace, store_url
from holdfast.store.store_client import StoreClient

MARKER_NAME = "checkpoint.json"  # the last file of a step to be uploaded
_STEP = re.compile(rf"({CHECKPOINTS_NAME}/step-\d+)/(.+)")
_NOT_READ = ("tensorboard/", "pictures/")


def local_path(path: str | os.PathLike[str]) -> Path:
    """Give a path of this machine as it is; of a gs:// file, folder or run, that of a copy.

    Of a run, the checkpoints that are whole are copied, and not what is only to be looked at.
    """
    url = store_url(path)
    if url is None:
        return Path(path)
    place, client = GsPlace.of(url), StoreClient()
    if found := client.find(place):
        return fetch_file(client, place, found)
    listed = client.objects(place)
    inside = {name: listed[name] for name in listed if name and not name.endswith("/")}
    if not inside:
        raise HoldfastError(f"There is no {url}.", fix="Check the name.")
    if MANIFEST_NAME in inside:
        parts = whole_steps(inside)
        inside = {
            name: each
            for name, each in inside.items()
            if not name.startswith((".", *_NOT_READ)) and (step_of(name) in parts)
        }
    return fetch_folder(client, place, inside)


def local_folder(path: str | os.PathLike[str]) -> Path:
    """Do the same for folders alone: a gs:// file, such as a config, stays where it is."""
    url = store_url(path)
    if url is None or StoreClient().find(GsPlace.of(url)) is not None:
        return Path(path)
    return local_path(path)


def step_of(name: str) -> str | None:
    """Give the folder of the checkpoint that a file of a run belongs to; None for other files."""
    match = _STEP.fullmatch(name)
    return match[1] if match else None


def whole_steps(names: Iterable[str]) -> set[str | None]:
    """List the folders of checkpoints whose last file is there; None stands for all else."""
    return {None} | {step_of(name) for name in names if name.endswith(f"/{MARKER_NAME}")}
