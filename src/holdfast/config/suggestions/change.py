"""One suggested option, and the readers and paths that options are about."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from holdfast.config.nearby import written_parts
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig

TRAIN, EVALUATION = "train_input_reader", "eval_input_reader"
INPUT = "tf_record_input_reader.input_path"  # of a reader
LABEL_MAP = "label_map_path"


class Change(NamedTuple):
    """A field, its new value as --set takes it, and what to tell of it."""

    path: str
    value: str
    label: str
    text: str  # "" if another change says it already


def readers_of(config: TrainEvalPipelineConfig) -> list[tuple[str, InputReader]]:
    """List the readers of a config by their paths, that for training first."""
    train = [(TRAIN, config.train_input_reader)] if config.train_input_reader else []
    return [
        *train,
        *((f"{EVALUATION}[{i}]", reader) for i, reader in enumerate(config.eval_input_reader)),
    ]


def inputs_of(reader: InputReader) -> tuple[str, ...]:
    """Give the paths and patterns of a reader's records."""
    return reader.tf_record_input_reader.input_path if reader.tf_record_input_reader else ()


def is_of(path: str, fields: Iterable[str]) -> bool:
    """Tell whether a path is one of these fields, or lies in one."""
    return any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in fields)


def namesakes(text: str, paths: Iterable[str]) -> list[str]:
    """List the paths whose file has the name that a path of any machine ends with.

    >>> namesakes("C:/me/train.record", ["data/train.record", "data/val.record"])
    ['data/train.record']
    """
    name = (written_parts(text) or [""])[-1]
    return [each for each in paths if fnmatchcase(each.rpartition("/")[2], name)]


def distance(path: str, others: Iterable[str]) -> int:
    """Count the folders between a file and the nearest of others; 0 without any."""
    folder = os.path.dirname(os.path.abspath(path))
    between = (
        len(Path(os.path.relpath(folder, os.path.dirname(os.path.abspath(other)))).parts)
        for other in others
    )
    return min(between, default=0)


def shown(path: str) -> str:
    """Write a path as short as it can be read from the working directory."""
    relative = os.path.relpath(path) if os.path.isabs(path) else path
    return path if relative.startswith("..") else relative


def list_text(texts: Sequence[str]) -> str:
    """Write texts as --set takes them for a list; a single one stands for itself.

    >>> list_text(["a.record"]), list_text(["a.record", "b, c.record"])
    ('a.record', '["a.record", "b, c.record"]')
    """
    if len(texts) == 1 and not texts[0].startswith("["):
        return texts[0]
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"
