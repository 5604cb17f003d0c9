"""The file of a capsule: a zip archive of JSON, records and arrays that any tool can open.

capsule.json      what, why, losses, image ids, positions, seed, plan, config, versions
batch/*.npy       the batch as the step took it: augmented, resized, padded
weights/*.npy     the detector's variables before the step, by the numbers of `weights.names`
records/*         the serialized examples that the images came from
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import HoldfastError
from holdfast.runs.json_text import from_text, to_text

FORMAT = 1
SUFFIX = ".capsule"
LARGEST_WEIGHTS_BYTES = 2 * 1024**3  # more are not put in: twice the largest published detector
LARGEST_RECORDS_BYTES = 256 * 1024**2
_DOCUMENT = "capsule.json"
_FAST = 1  # of zlib's levels: weights hardly get smaller

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Capsule:
    """What made one step."""

    document: Mapping[str, Any]  # the JSON part
    batch: Mapping[str, Array]  # by field of Batch and GroundTruth
    weights: Mapping[str, Array]  # by the names of a checkpoint; {} where they were too large
    records: Sequence[bytes] = field(default=())

    @property
    def weights_hash(self) -> str:
        """The SHA-256 of all weights, with their names."""
        digest = hashlib.sha256()
        for name in sorted(self.weights):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(self.weights[name]).tobytes())
        return digest.hexdigest()


def write_capsule(path: Path, capsule: Capsule) -> Path:
    """Write the file at once: a kill leaves the old one or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=_FAST) as archive:
            document = {"format": FORMAT, **capsule.document, **_contents(capsule)}
            archive.writestr(_DOCUMENT, to_text(document, indent=1))
            for name, array in capsule.batch.items():
                _write_array(archive, f"batch/{name}.npy", array)
            for number, array in enumerate(capsule.weights.values()):
                _write_array(archive, f"weights/{number:05d}.npy", array)
            for number, record in enumerate(capsule.records):
                archive.writestr(f"records/{number:05d}.tfexample", record)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def read_capsule(path: Path) -> Capsule:
    """Read a file; HoldfastError if it is not a capsule, or it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive)
    except FileNotFoundError:
        raise HoldfastError(f"There is no file {path}.", fix=_WHERE) from None
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, EOFError) as error:
        raise HoldfastError(
            f"{path} is not a capsule, or it is damaged: {error}.", fix=_WHERE
        ) from error


def _contents(capsule: Capsule) -> dict[str, Any]:
    sizes = [array.nbytes for array in capsule.weights.values()]
    known: Mapping[str, Any] = capsule.document.get("weights", {})
    return {
        "weights": {
            **known,
            "names": list(capsule.weights),
            "bytes": sum(sizes),
            "sha256": capsule.weights_hash if capsule.weights else None,
        },
        "records": len(capsule.records),
    }


def _read(archive: zipfile.ZipFile) -> Capsule:
    document = from_text(archive.read(_DOCUMENT))
    if document["format"] != FORMAT:
        raise HoldfastError(
            f"The capsule has format {document['format']}; this version reads {FORMAT}.",
            fix="Use the version of Holdfast that made it, or a newer one.",
        )
    names = document["weights"]["names"]
    capsule = Capsule(
        document=document,
        batch={
            name.removeprefix("batch/").removesuffix(".npy"): _read_array(archive, name)
            for name in archive.namelist()
            if name.startswith("batch/")
        },
        weights={
            name: _read_array(archive, f"weights/{number:05d}.npy")
            for number, name in enumerate(names)
        },
        records=[
            archive.read(f"records/{number:05d}.tfexample") for number in range(document["records"])
        ],
    )
    if capsule.weights and capsule.weights_hash != document["weights"]["sha256"]:
        raise ValueError("the weights are not those that were written")
    return capsule


def _write_array(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    with archive.open(name, "w", force_zip64=True) as stream:
        np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False)


def _read_array(archive: zipfile.ZipFile, name: str) -> Array:
    return np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)


_WHERE = "Give a file that `holdfast train` put into the folder capsules of a run."
