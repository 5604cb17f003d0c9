"""Finds a checkpoint of TensorFlow, here or behind a URL, by what a user or a config names."""

from __future__ import annotations

import re
from pathlib import Path

import tensorflow as tf

from holdfast.checkpoints.own.saved_checkpoints import DOCUMENT_NAME, TENSORS_NAME
from holdfast.config.checkpoint_folders import FileSystem, meant_checkpoints, prefixes_in
from holdfast.config.paths import Base, expand, is_remote
from holdfast.config.paths import find_checkpoint as look_up
from holdfast.data.records import data_files
from holdfast.errors import HoldfastError, nearest
from holdfast.runs.run import CHECKPOINTS_NAME, MANIFEST_NAME


def find_prefix(path: str) -> str:
    """Turn what a user names into the prefix of a checkpoint that exists.

    The latest of a folder is the one that its `checkpoint` file names, else the one with the
    highest number. Raises HoldfastError when there is none, or when it is not clear which.
    """
    path = re.sub(r"\.(index|meta|data-\d{5}-of-\d{5})$", "", path.rstrip("/\\") or path)
    if is_remote(path) and (own := _newest_of_run(path)):
        return own
    found = meant_checkpoints(path, _FILES)
    if len(found) > 1:
        raise _unclear(path, found)
    if not found:
        raise _empty(path) if data_files.is_folder(path) else _not_found(path)
    return found[0]


def named_checkpoint(text: str, config_folder: Path) -> str:
    """Give the path of the checkpoint that a config names, looked up as everything it names.

    Raises HoldfastError when there is none, or when it is not clear which of a folder is meant.
    """
    path = expand(text)
    if is_remote(path):
        return path if path.endswith((".h5", ".hdf5")) else find_prefix(path)
    found = look_up(text, config_folder)
    if found.base is Base.NOWHERE:
        raise HoldfastError(
            f"There is no checkpoint {text}.", fix="Correct train_config.fine_tune_checkpoint."
        )
    prefixes = [str(file).removesuffix(".index") for file in found.files]
    if len(prefixes) > 1:
        raise _unclear(text, prefixes)
    return prefixes[0]


def _newest_of_run(path: str) -> str | None:
    """Give the newest whole checkpoint of a run in the store; None if the path is not a run."""
    if not data_files.exists(f"{path}/{MANIFEST_NAME}"):
        return None
    folder = f"{path}/{CHECKPOINTS_NAME}"
    names = data_files.list_folder(folder) if data_files.exists(folder) else []
    whole = (name for name in reversed(names) if _is_file(f"{folder}/{name}/{DOCUMENT_NAME}"))
    newest = next(whole, None)
    return f"{folder}/{newest}/{TENSORS_NAME}" if newest else None


def _is_file(path: str) -> bool:
    return data_files.exists(path) and not data_files.is_folder(path)


def _read(path: str) -> bytes:
    with tf.io.gfile.GFile(path, "rb") as stream:
        return bytes(stream.read())


_FILES = FileSystem(
    is_file=_is_file, is_folder=data_files.is_folder, names=tf.io.gfile.listdir, read=_read
)


def _unclear(folder: str, prefixes: list[str] | tuple[str, ...]) -> HoldfastError:
    return HoldfastError(
        f"The folder {folder} holds several checkpoints: {', '.join(prefixes)}.",
        fix="Give the prefix of the one you mean instead of the folder.",
    )


def _empty(folder: str) -> HoldfastError:
    return HoldfastError(
        f"The folder {folder} holds no checkpoint: it has no .index file.",
        fix="Give the folder that holds files such as ckpt-0.index or model.ckpt-1000.index.",
    )


def _not_found(path: str) -> HoldfastError:
    name = _last_part(path)
    folder = path[: -len(name) - 1] or "."
    known = {_last_part(prefix): prefix for prefix in prefixes_in(folder, _FILES)}
    similar = [known[key] for key in nearest(name, known, 3)] or list(known.values())[:3]
    fix = "Give the path up to .index, e.g. folder/ckpt-0, or the folder itself."
    if similar:
        fix = f"Did you mean {' or '.join(similar)}?"
    return HoldfastError(
        f"There is no checkpoint {path}: neither {name}.index nor a folder {name} exists.", fix=fix
    )


def _last_part(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def checkpoint_in(folder: Path) -> str | None:
    """Find the checkpoint of an archive: in the folder, or one level down."""
    for place in (folder, folder / "checkpoint"):
        if place.is_dir() and any(place.glob("*.index")):
            return find_prefix(str(place))
    return None
