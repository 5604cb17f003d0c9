"""Read a pipeline.config or label map from disk, and write one."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from holdfast.config.foreign import foreign_problem
from holdfast.config.part_choices import parse_choice
from holdfast.config.remote_config import with_urls
from holdfast.config.schema.message import Message
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.encode import encode
from holdfast.config.text.overrides import apply_overrides
from holdfast.config.text.tokens import Position
from holdfast.errors import ConfigError, Problem, in_file_order, nearest
from holdfast.files import broken_url, write_text
from holdfast.store.gs_place import GsPlace, store_url
from holdfast.store.store_client import StoreClient
from holdfast.store.store_errors import StoreError

M = TypeVar("M", bound=Message)


class ReadText(NamedTuple, Generic[M]):
    """A file as read: the message, every mistake, and where each field stands."""

    path: Path
    message: M
    problems: tuple[Problem, ...]
    positions: Mapping[str, Position]


def load_config(
    path: str | os.PathLike[str],
    overrides: Mapping[str, Any] | None = None,
    use: Iterable[str] = (),
) -> TrainEvalPipelineConfig:
    """Read a pipeline.config as the OD API would.

    Args:
        path: The file.
        overrides: Values that replace single fields, under the same checks as the file.
        use: Parts of one's own that the file has no field for, as `--use` takes them:
            `["augmentation=fog,density=0.4"]`.

    Returns:
        The config: frozen, typed, with the OD API's names and defaults.

    Raises:
        ConfigError: The file cannot be read or has mistakes; `problems` lists all of them.

    Example:
        >>> config = holdfast.load_config("pipeline.config", {"train_config.batch_size": 4})
        >>> config.train_config.batch_size
        4
    """
    source = read_config(path, overrides, use)
    if source.problems:
        raise ConfigError(str(path), source.problems)
    return source.message


def save_config(config: TrainEvalPipelineConfig, path: str | os.PathLike[str]) -> None:
    """Write a config as a file that the OD API reads, too.

    Fields that were never set are left out. Comments of the file it was read from are lost.

    Args:
        config: The config, for example from `load_config`.
        path: The file to write. It appears whole or not at all.

    Example:
        >>> config = holdfast.load_config("pipeline.config", {"train_config.batch_size": 4})
        >>> holdfast.save_config(config, "smaller.config")
        >>> holdfast.load_config("smaller.config") == config
        True
    """
    write_text(Path(path), encode(config))


def read_config(
    path: str | os.PathLike[str],
    overrides: Mapping[str, Any] | None = None,
    use: Iterable[str] = (),
) -> ReadText[TrainEvalPipelineConfig]:
    """Read a pipeline.config and keep the mistakes and places beside it.

    Raises ConfigError only where there is no text to read: no file, not UTF-8, or a file of another
    kind, which is then said.
    """
    choices = tuple(parse_choice(text) for text in use)
    source = _read_pipeline(Path(path))
    if choices:
        source = source._replace(message=source.message.replace(parts=choices))
    if not overrides:
        return source
    message, problems = apply_overrides(source.message, overrides)
    return source._replace(
        message=message,
        problems=in_file_order([*source.problems, *problems]),
    )


def _read_pipeline(path: Path) -> ReadText[TrainEvalPipelineConfig]:
    """Read a pipeline.config; of a file that is something else, say what it is."""
    try:
        source = read_message(path, TrainEvalPipelineConfig)
    except ConfigError:
        if foreign := foreign_problem(path):
            raise ConfigError(str(path), [foreign]) from None
        raise
    if source.problems and (foreign := foreign_problem(path)):
        raise ConfigError(str(path), [foreign])
    message = source.message.replace(folder=str(path.parent))
    if url := store_url(path):
        message = with_urls(source.message.replace(folder="."), url.rpartition("/")[0])
    return source._replace(message=message)


def read_message(path: str | os.PathLike[str], message_type: type[M]) -> ReadText[M]:
    """Read any message file and keep the mistakes and places beside it."""
    place = Path(path)
    message, problems, positions = decode(read_text(place), message_type)
    return ReadText(place, message, in_file_order(problems), positions)


def placed(problem: Problem, positions: Mapping[str, Position]) -> Problem:
    """Give a problem the place of its field, or of the nearest message around it."""
    path = problem.path
    while path and path not in positions:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    if path not in positions:
        return problem
    line, column = positions[path]
    return dataclasses.replace(problem, line=line, column=column)


def read_text(path: Path) -> str:
    """Read UTF-8 text, or say in a ConfigError why that is impossible."""
    try:
        url = store_url(path)
        content = path.read_bytes() if url is None else StoreClient().read(GsPlace.of(url))
    except StoreError as error:
        problem = Problem(message=error.message, fix=error.fix)
        raise ConfigError(str(url), [problem]) from error
    except OSError as error:
        raise ConfigError(str(path), [_unreadable(path, error)]) from error
    return decoded_text(content, str(path))


def decoded_text(content: bytes, source: str) -> str:
    """Take the content of a file for UTF-8 text, or say in a ConfigError why it is none."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(source, [_not_utf8(content, error)]) from error


def _unreadable(path: Path, error: OSError) -> Problem:
    if os.path.isdir(path):  # unlike Path.is_dir, it never raises
        inside = sorted(entry.name for entry in path.glob("*.config"))
        data = f"give a file; `holdfast inspect {path}` looks at data"
        fix = f"give the file: {path / inside[0]}" if inside else data
        return Problem(message="it is a folder", fix=fix)
    if url := broken_url(path):
        return Problem(message=f"{url} is remote", fix="copy it here, and name the copy")
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        beside = (
            [entry.name for entry in path.parent.glob("*")] if os.path.isdir(path.parent) else []
        )
        similar = nearest(path.name, beside)
        fix = f"did you mean {path.parent / similar[0]}?" if similar else "check the path"
        return Problem(message="there is no such file", fix=fix)
    return Problem(message=f"it cannot be read: {error.strerror}", fix="check path and permissions")


def _not_utf8(content: bytes, error: UnicodeDecodeError) -> Problem:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return Problem(message="it is encoded as UTF-16", fix="save it as UTF-8", line=1, column=1)
    before = content[: error.start]
    line_start = before.rfind(b"\n") + 1
    return Problem(
        message=f"byte 0x{content[error.start]:02x} is not UTF-8",
        fix="save the file as UTF-8",
        line=before.count(b"\n") + 1,
        column=len(before[line_start:].decode("utf-8", "replace")) + 1,
    )
