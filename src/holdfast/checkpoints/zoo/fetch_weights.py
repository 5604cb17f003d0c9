"""Bring published weights to this machine: from the cache, a file, a mirror or the zoo."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.checkpoints.zoo.disk_space import FullDiskError
from holdfast.checkpoints.zoo.download import download, forget
from holdfast.checkpoints.zoo.find_weights import find_weights, is_known
from holdfast.checkpoints.zoo.unpack_archive import unpack_archive
from holdfast.checkpoints.zoo.weights_cache import (
    StoredWeights,
    alone_with,
    keep,
    stored_weights,
    weights_in,
)
from holdfast.config.paths import expand, is_remote
from holdfast.errors import HoldfastError
from holdfast.progress import Watch, in_megabytes, unwatched

Proof = Callable[[StoredWeights], None]  # raises HoldfastError where weights are not what they say

_KERAS = ".h5"
_ENDINGS = (".tar.gz", ".tgz", ".tar", _KERAS)
_MIRROR = "HOLDFAST_MIRROR"


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """What is to be fetched, and from where."""

    name: str  # in the cache
    place: str  # address, or path of a file or folder
    file_name: str
    md5: str = ""

    @property
    def is_keras(self) -> bool:
        return self.file_name.endswith(_KERAS)


def fetch_weights(
    name: str,
    *,
    source: str | None = None,
    mirror: str | None = None,
    prove: Proof,
    watch: Watch = unwatched,
) -> StoredWeights:
    """Give weights that are on this machine and were proved; they are fetched if they are not here.

    Args:
        name: Of published weights or of a recipe; or an address, an archive or a folder.
        source: A file or folder that is taken in place of what was published under that name.
        mirror: Address or folder where files of the same names are. Default: HOLDFAST_MIRROR.
        prove: Called before weights come into the cache; what it refuses is not kept.
        watch: Is told of a download's progress.
    """
    wanted = _wanted(name, source, mirror or os.environ.get(_MIRROR))
    if source is None:
        here = _in_place(wanted) or stored_weights(wanted.name)
        if here is not None:
            return here
    with alone_with(wanted.name) as folder:
        if source is None and (here := stored_weights(wanted.name)):
            return here  # another process was faster
        part = folder / f".{wanted.name}.part"
        file = _brought(wanted, part, watch)
        try:
            _unpack(wanted, file, folder / f".{wanted.name}.unpacking", prove, watch)
        except FullDiskError:
            raise  # what was downloaded waits for more room
        except HoldfastError:
            forget(part)
            raise
        forget(part)
    stored = stored_weights(wanted.name)
    assert stored is not None
    return stored


def find_stored(name: str) -> StoredWeights | None:
    """Find weights that were fetched before, or lie in a folder of the user's."""
    wanted = _wanted(name, None, None)
    return _in_place(wanted) or stored_weights(wanted.name)


def _wanted(name: str, source: str | None, mirror: str | None) -> _Wanted:
    path = _local(name)
    if not is_known(name):
        if path is None:
            return _Wanted(name=_own_name(name), place=name, file_name=_last_part(name))
        if path.exists():
            own = _own_name(str(path.resolve()))
            return _Wanted(name=own, place=str(path), file_name=path.name)
        if "/" in name or name.endswith(_ENDINGS):
            fix = "Give a name of `holdfast weights list`, or a path."
            raise HoldfastError(f"There is no {name}.", fix=fix)
    known = find_weights(name)
    place = source or known.address
    if source is None and mirror is not None:
        place = f"{mirror.rstrip('/')}/{known.file_name}"
    return _Wanted(name=known.name, place=place, file_name=known.file_name, md5=known.md5)


def _local(place: str) -> Path | None:
    """Give the path of what is on this machine, also as a file: address; None for others."""
    if place.startswith("file:"):
        return Path(urllib.request.url2pathname(urllib.parse.urlsplit(place).path))
    return None if is_remote(place) else Path(expand(place))


def _own_name(place: str) -> str:
    """Make a name that no other address or path has."""
    stem = _last_part(place)
    for ending in _ENDINGS:
        stem = stem.removesuffix(ending)
    stem = re.sub(r"[^\w.-]+", "_", stem).strip(".") or "weights"
    return f"{stem}-{hashlib.sha256(place.encode()).hexdigest()[:8]}"


def _last_part(place: str) -> str:
    return urllib.parse.unquote(urllib.parse.urlsplit(place).path).rpartition("/")[2]


def _in_place(wanted: _Wanted) -> StoredWeights | None:
    """Give a folder of the user's that holds weights already; it is not copied."""
    path = _local(wanted.place)
    if path is None or not path.is_dir():
        return None
    found = weights_in(path, wanted.name)
    if found is None:
        raise _no_weights(path)
    return found


def _brought(wanted: _Wanted, part: Path, watch: Watch) -> Path:
    """Give the file or folder on this machine; what is elsewhere is downloaded to `part`."""
    path = _local(wanted.place)
    if path is None:
        path = part
        by_hand = f"holdfast weights get {wanted.name} --from FILE"
        with watch(f"download {wanted.file_name}", "MB") as progress:
            download(wanted.place, path, by_hand=by_hand, progress=in_megabytes(progress))
    elif not path.exists():
        raise HoldfastError(f"There is no {path}.", fix="Check the path, or the mirror.")
    if wanted.md5 and path.is_file() and _md5(path) != wanted.md5:
        forget(part)
        raise HoldfastError(
            f"{wanted.place} is not the published file: its MD5 is not {wanted.md5}.",
            fix="Download it again; a proxy or a mirror may have changed it.",
        )
    return path


def _unpack(wanted: _Wanted, file: Path, unpacked: Path, prove: Proof, watch: Watch) -> None:
    """Make the folder of the weights beside their place, prove it, and move it there."""
    shutil.rmtree(unpacked, ignore_errors=True)  # of a process that was killed
    unpacked.mkdir()
    try:
        if file.is_dir():
            _copy(file, unpacked)
        elif wanted.is_keras:
            shutil.copyfile(file, unpacked / wanted.file_name)
        else:
            with watch("unpack", "files") as progress:
                unpack_archive(file, unpacked, progress)
        found = weights_in(unpacked, wanted.name)
        if found is None:
            raise _no_weights(file)
        prove(found)
        keep(unpacked, wanted.name)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)


def _copy(source: Path, folder: Path) -> None:
    """Copy config and checkpoint of an unpacked archive."""
    found = weights_in(source, source.name)
    if found is None:
        raise _no_weights(source)
    prefix = Path(found.checkpoint)
    files = [prefix] if found.is_classifier else list(prefix.parent.glob(f"{prefix.name}.*"))
    for file in (*files, *((found.config,) if found.config else ())):
        shutil.copyfile(file, folder / file.name)


def _no_weights(path: Path) -> HoldfastError:
    return HoldfastError(
        f"{path} holds no weights: neither a checkpoint nor a file of Keras weights.",
        fix="Give an archive of the model zoo, the folder it unpacks to, or a .h5 file.",
    )


def _md5(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "md5").hexdigest()
