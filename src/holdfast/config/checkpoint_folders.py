"""Which checkpoint a path means: that of its prefix, or the latest of a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.config.schema.checkpoint_state import CheckpointState
from holdfast.config.text.decode import decode

# Folders in which a checkpoint may lie: that of a zoo archive or an export, and that of a run.
_INNER = ("checkpoint", "checkpoints")
_OWN_FOLDER = re.compile(r"step-(\d{8,})")  # as Holdfast names the folder of a checkpoint
_OWN_PREFIX = "tensors"


@dataclass(frozen=True, kw_only=True)
class FileSystem:
    """How to look at files: those of this machine, or those behind a URL."""

    is_file: Callable[[str], bool]
    is_folder: Callable[[str], bool]
    names: Callable[[str], Sequence[str]]  # of what is in a folder
    read: Callable[[str], bytes]


def _read(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


LOCAL = FileSystem(is_file=os.path.isfile, is_folder=os.path.isdir, names=os.listdir, read=_read)


def meant_checkpoints(path: str, files: FileSystem = LOCAL) -> tuple[str, ...]:
    """Give the prefix of the checkpoint that a path means; () if there is none.

    A path is a prefix, or a folder, of which the latest is meant: the one that its `checkpoint`
    file names, else the one with the highest number. Where it is not clear which one that is, all
    of them are given.
    """
    path = path.rstrip("/") or path
    if prefix_exists(path, files):
        return (path,)
    return _latest_of_folder(path, files) if files.is_folder(path) else ()


def prefix_exists(prefix: str, files: FileSystem = LOCAL) -> bool:
    """Tell whether a checkpoint starts with this prefix; its values may still be missing."""
    # A single file without .index is the oldest format, in which slim's networks are published.
    return files.is_file(f"{prefix}.index") or files.is_file(prefix)


def prefixes_in(folder: str, files: FileSystem = LOCAL) -> list[str]:
    """List the prefixes of all checkpoints that lie in a folder itself."""
    names = sorted(files.names(folder)) if files.is_folder(folder) else []
    return [f"{folder}/{name.removesuffix('.index')}" for name in names if name.endswith(".index")]


def _latest_of_folder(folder: str, files: FileSystem) -> tuple[str, ...]:
    if named := _named_by_state_file(folder, files):
        return (named,)
    if prefixes := prefixes_in(folder, files):
        return _highest_number(prefixes)
    if own := _latest_own(folder, files):
        return (own,)
    inner = (f"{folder}/{name}" for name in _INNER)
    found = (_latest_of_folder(each, files) for each in inner if files.is_folder(each))
    return next((each for each in found if each), ())


def _named_by_state_file(folder: str, files: FileSystem) -> str | None:
    state_file = f"{folder}/checkpoint"
    if not files.is_file(state_file):
        return None
    text = files.read(state_file).decode("utf-8", "replace")
    named = decode(text, CheckpointState).message.model_checkpoint_path
    if not named:
        return None
    # It may name a place on the machine where the training ran: its folder was copied from there.
    last_part = re.split(r"[/\\]", named)[-1]
    places = (f"{folder}/{named}", f"{folder}/{last_part}", named)
    return next((prefix for prefix in places if prefix_exists(prefix, files)), None)


def _highest_number(prefixes: Sequence[str]) -> tuple[str, ...]:
    numbers = {prefix: re.search(r"-(\d+)$", prefix) for prefix in prefixes}
    stems = {prefix[: match.start()] if match else prefix for prefix, match in numbers.items()}
    if len(stems) > 1:
        return tuple(prefixes)
    return (max(prefixes, key=lambda prefix: int(match[1]) if (match := numbers[prefix]) else -1),)


def _latest_own(folder: str, files: FileSystem) -> str | None:
    steps = {
        int(match[1]): f"{folder}/{match[0]}/{_OWN_PREFIX}"
        for name in files.names(folder)
        if (match := _OWN_FOLDER.fullmatch(name.rstrip("/")))
    }
    whole = [step for step, prefix in steps.items() if prefix_exists(prefix, files)]
    return steps[max(whole)] if whole else None
