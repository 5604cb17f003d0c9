"""Copies of what lies in the store, kept in the cache and fetched again only where it changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.files import cache_folder, write_text
from holdfast.store.gs_place import GsPlace
from holdfast.store.store_client import StoreClient, StoredObject

_COPY, _STATE = "copy", "generations.json"


def copy_folder(place: GsPlace, kind: str) -> Path:
    """Give the folder of the cache where copies of a place are; kind: what for.

    >>> copy_folder(GsPlace("cells", "runs/one"), "runs").name
    'one-9e5b4bcee6'
    """
    digest = hashlib.sha256(str(place).encode()).hexdigest()[:10]
    name = place.name.rpartition("/")[2] or place.bucket
    return cache_folder() / kind / f"{name}-{digest}"


def fetch_file(client: StoreClient, place: GsPlace, found: StoredObject) -> Path:
    """Bring one object here; its copy has its name."""
    folder = copy_folder(place, "files")
    name = place.name.rpartition("/")[2]
    bring(client, place._replace(name=place.name[: -len(name) - 1]), {name: found}, folder)
    return folder / _COPY / name


def fetch_folder(client: StoreClient, place: GsPlace, found: Mapping[str, StoredObject]) -> Path:
    """Bring all objects that were found below a place here, and remove other copies."""
    folder = copy_folder(place, "files")
    bring(client, place, found, folder)
    return folder / _COPY


def bring(
    client: StoreClient, place: GsPlace, found: Mapping[str, StoredObject], folder: Path
) -> None:
    """Make the copy in a folder what was found: what has changed is fetched, the rest goes."""
    state, copy = folder / _STATE, folder / _COPY
    known = _generations(state)
    for path in [each for each in copy.rglob("*") if each.is_file()]:
        if str(path.relative_to(copy)) not in found:
            path.unlink()
    kept: dict[str, int] = {}
    for name, each in found.items():
        path = copy / name
        if name.startswith("/") or ".." in Path(name).parts:
            raise HoldfastError(f"{place.below(name)}: no file can have such a name.")
        if known.get(name) != each.generation or not path.is_file():
            client.download(place.below(name), path)
        kept[name] = each.generation
    write_text(state, json.dumps(kept))


def _generations(state: Path) -> dict[str, int]:
    try:
        return dict(json.loads(state.read_text()))
    except (OSError, ValueError, TypeError):
        return {}
