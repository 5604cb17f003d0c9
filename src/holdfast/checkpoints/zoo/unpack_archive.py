"""Unpack an archive that a stranger may have made: nothing leaves the folder, or is endless."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from holdfast.checkpoints.zoo.disk_space import refuse_full_disk
from holdfast.errors import HoldfastError
from holdfast.progress import Progress, silent
from holdfast.units import bytes_text

MOST_BYTES = 8 * 2**30  # of all files; the largest archives of the zoos have less than a quarter
_MOST_MEMBERS = 10_000
_CHUNK = 2**20
# The rest - graphs, SavedModels, TFLite files - is of no use here, and most of the bytes.
_WANTED = re.compile(r"(^|/)(pipeline\.config|checkpoint|[^/]+\.(index|data-\d{5}-of-\d{5}))$")
_SAVED_MODEL = re.compile(r"(^|/)variables/[^/]+$")  # of a SavedModel: not a checkpoint's


def unpack_archive(archive: Path, folder: Path, progress: Progress = silent) -> None:
    """Write config and checkpoint of a tar archive into a folder, without the archive's own one.

    All names are looked at, also of what is not written. HoldfastError if one is absolute, leads
    out of the folder or is not a plain file or folder, or if there is too much.
    """
    try:
        with tarfile.open(archive, "r:*") as opened:
            members = list(_judged(opened, archive))
            chosen = _chosen(members)
            if not chosen:
                raise _unusable(archive, "holds no checkpoint")
            refuse_full_disk(folder, sum(member.size for member in chosen.values()))
            for done, (name, member) in enumerate(chosen.items(), 1):
                source = opened.extractfile(member)
                assert source is not None  # it is a plain file
                _write(source, folder / name)
                progress(done, len(chosen))
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise _unusable(archive, f"is not a whole tar archive ({error})") from error
    except OSError as error:
        if error.errno is None:  # gzip's own: not a file of gzip, or damaged
            raise _unusable(archive, f"is not a whole tar archive ({error})") from error
        raise


def _judged(opened: tarfile.TarFile, archive: Path) -> Iterator[tarfile.TarInfo]:
    total = 0
    for count, member in enumerate(opened, 1):
        path = PurePosixPath(member.name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in member.name:
            raise _unusable(archive, f"has a file that would leave its folder: {member.name}")
        if not (member.isreg() or member.isdir()):
            raise _unusable(archive, f"has a link or a device: {member.name}")
        total += member.size
        if total > MOST_BYTES or count > _MOST_MEMBERS:
            raise _unusable(archive, f"would unpack to more than {bytes_text(MOST_BYTES)}")
        yield member


def _chosen(members: list[tarfile.TarInfo]) -> dict[str, tarfile.TarInfo]:
    """Name the files that are wanted by where they go."""
    found = {
        "/".join(part for part in PurePosixPath(member.name).parts if part != "."): member
        for member in members
        if member.isreg() and _WANTED.search(member.name) and not _SAVED_MODEL.search(member.name)
    }
    if not any(name.endswith(".index") for name in found):
        return {}
    top = os.path.commonpath(os.path.dirname(name) for name in found)
    top = top.removesuffix("checkpoint").rstrip("/") if top.endswith("checkpoint") else top
    return {name.removeprefix(f"{top}/") if top else name: each for name, each in found.items()}


def _write(source: IO[bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as stream:
        shutil.copyfileobj(source, stream, _CHUNK)
        stream.flush()
        os.fsync(stream.fileno())


def _unusable(archive: Path, why: str) -> HoldfastError:
    return HoldfastError(
        f"{archive} {why}: nothing was unpacked.",
        fix="Get it again from where it was published.",
    )
