"""Finds a checkpoint of TensorFlow by prefix, by one of its files, or the latest of a folder."""

from __future__ import annotations

import re

import tensorflow as tf

from holdfast.errors import HoldfastError, nearest


def find_prefix(path: str) -> str:
    """Turn what a user names into the prefix of a checkpoint that exists.

    The latest of a folder is the one that its `checkpoint` file names, else the one with the
    highest number. Raises HoldfastError when there is none, or when it is not clear which.
    """
    path = _without_file_suffix(path.rstrip("/\\") or path)
    if prefix_exists(path):
        return path
    if tf.io.gfile.isdir(path):
        return _latest_of_folder(path)
    raise _not_found(path)


def prefix_exists(prefix: str) -> bool:
    """Tell whether a checkpoint starts with this prefix; its values may still be missing."""
    # A single file without .index is the oldest format, in which slim's networks are published.
    is_file = tf.io.gfile.exists(prefix) and not tf.io.gfile.isdir(prefix)
    return is_file or bool(tf.io.gfile.exists(f"{prefix}.index"))


def _without_file_suffix(path: str) -> str:
    return re.sub(r"\.(index|meta|data-\d{5}-of-\d{5})$", "", path)


def _latest_of_folder(folder: str) -> str:
    named = _named_by_state_file(folder)
    if named is not None:
        return named
    prefixes = _prefixes_in(folder)
    if prefixes:
        return _highest_number(folder, prefixes)
    inner = f"{folder}/checkpoint"  # a zoo archive or an export: folder/checkpoint/ckpt-0
    if tf.io.gfile.isdir(inner):
        return _latest_of_folder(inner)
    raise HoldfastError(
        f"The folder {folder} holds no checkpoint: it has no .index file.",
        fix="Give the folder that holds files such as ckpt-0.index or model.ckpt-1000.index.",
    )


def _named_by_state_file(folder: str) -> str | None:
    state_file = f"{folder}/checkpoint"
    if not tf.io.gfile.exists(state_file) or tf.io.gfile.isdir(state_file):
        return None
    state = tf.train.get_checkpoint_state(folder)
    if state is None:
        return None
    named = str(state.model_checkpoint_path)
    # It may name a place on the machine where the training ran: its folder was copied from there.
    moved = f"{folder}/{_last_part(named)}"
    return next((prefix for prefix in (moved, named) if prefix_exists(prefix)), None)


def _prefixes_in(folder: str) -> list[str]:
    if not tf.io.gfile.isdir(folder):
        return []
    names = sorted(tf.io.gfile.listdir(folder))
    return [f"{folder}/{name.removesuffix('.index')}" for name in names if name.endswith(".index")]


def _highest_number(folder: str, prefixes: list[str]) -> str:
    numbers = {prefix: re.search(r"-(\d+)$", prefix) for prefix in prefixes}
    stems = {prefix[: match.start()] if match else prefix for prefix, match in numbers.items()}
    if len(stems) > 1:
        raise HoldfastError(
            f"The folder {folder} holds several checkpoints: {', '.join(prefixes)}.",
            fix="Give the prefix of the one you mean instead of the folder.",
        )
    return max(prefixes, key=lambda prefix: int(match[1]) if (match := numbers[prefix]) else -1)


def _last_part(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _not_found(path: str) -> HoldfastError:
    name = _last_part(path)
    known = {_last_part(prefix): prefix for prefix in _prefixes_in(path[: -len(name) - 1] or ".")}
    similar = [known[key] for key in nearest(name, known, 3)] or list(known.values())[:3]
    fix = "Give the path up to .index, e.g. folder/ckpt-0, or the folder itself."
    if similar:
        fix = f"Did you mean {' or '.join(similar)}?"
    return HoldfastError(
        f"There is no checkpoint {path}: neither {name}.index nor a folder {name} exists.", fix=fix
    )
