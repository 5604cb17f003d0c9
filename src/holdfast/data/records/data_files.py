"""Files of data sets, local and remote (gs://, …): found, listed, read, replaced."""

from __future__ import annotations

import glob as local_glob
import os
import platform
import posixpath
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import tensorflow as tf

from holdfast.errors import HoldfastError
from holdfast.store.store_errors import tensorflow_error

PATTERN_CHARACTERS = "*?["
_OF_THE_SYSTEM = ("lost+found", "System Volume Information", "$RECYCLE.BIN")


class Stamp(NamedTuple):
    """What tells one version of a file from another without reading it."""

    size_bytes: int
    modified_nanoseconds: int


def expand(path: str | os.PathLike[str]) -> str:
    """Replace a leading `~` and environment variables.

    >>> os.environ["BUCKET"] = "gs://cells"
    >>> expand("$BUCKET/train.record")
    'gs://cells/train.record'
    """
    return os.path.expanduser(os.path.expandvars(os.fspath(path)))


def is_remote(path: str) -> bool:
    """Tell a URL, which TensorFlow reads, from a path of this machine."""
    return "://" in path


@contextmanager
def store_errors(path: str) -> Iterator[None]:
    """Say in our words what TensorFlow's file system says about a store."""
    try:
        yield
    except tf.errors.OpError as error:
        if problem := tensorflow_error(error, path) if is_remote(path) else None:
            raise problem from None
        raise


def join(folder: str, *names: str) -> str:
    """Put names below a folder; an absolute name stands for itself."""
    return posixpath.join(folder, *names)


def normalize(path: str) -> str:
    """Take `.` and `..` out of a path.

    >>> normalize("gs://cells/a/../b"), normalize("./a/b")
    ('gs://cells/b', 'a/b')
    """
    scheme, mark, rest = path.rpartition("://")
    return scheme + mark + posixpath.normpath(rest)


def exists(path: str) -> bool:
    """Tell whether there is a file or folder."""
    # TensorFlow reads local names as UTF-8, which they need not be.
    if not is_remote(path):
        return os.path.exists(path)
    with store_errors(path):
        return bool(tf.io.gfile.exists(path))


def is_folder(path: str) -> bool:
    """Tell whether there is a folder."""
    if not is_remote(path):
        return os.path.isdir(path)
    # TensorFlow takes a store that does not answer for one without the folder; `exists` does not.
    return exists(path) and bool(tf.io.gfile.isdir(path))


def glob(patterns: str | Iterable[str]) -> list[str]:
    """List the files that paths or patterns stand for, sorted, each once.

    A pattern that is itself the name of a file stands for that file: brackets are legal in names.
    A path or pattern that leads to nothing gives nothing.
    """
    patterns = [patterns] if isinstance(patterns, str) else patterns
    found: set[str] = set()
    for pattern in map(expand, patterns):
        if exists(pattern):
            found.add(pattern)
        elif any(character in pattern for character in PATTERN_CHARACTERS):
            search = tf.io.gfile.glob if is_remote(pattern) else local_glob.glob
            with store_errors(pattern):
                matches = search(pattern)
            found.update(path for path in matches if not _is_hidden(path, pattern))
    return sorted(found)


def list_folder(folder: str) -> list[str]:
    """List the names in a folder, sorted, without hidden ones; folders without their slash."""
    try:
        if is_remote(folder):
            exists(folder)  # raises where the store does not answer, unlike listdir
        names = tf.io.gfile.listdir(folder) if is_remote(folder) else os.listdir(folder)
    except (OSError, tf.errors.OpError) as error:
        raise _unreadable_folder(folder, error) from None
    return sorted(name.rstrip("/") for name in names if not name.startswith("."))


def walk(folder: str) -> Iterator[str]:
    """Yield the files below a folder as paths relative to it, sorted, without hidden ones.

    Links are followed, but not back into a folder that they lead out of. A folder that cannot be
    read is an error.
    """
    if not is_remote(folder):
        yield from _walk_local(folder, "", ())
        return
    prefix = folder.rstrip("/") + "/"
    exists(folder)  # as in `list_folder`
    for place, folders, names in tf.io.gfile.walk(folder):
        # tf.io.gfile.walk looks at this list again: what is taken out is not entered.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        relative = (place.rstrip("/") + "/").removeprefix(prefix)
        yield from (relative + name for name in sorted(names) if not name.startswith("."))


def read_bytes(path: str, count: int = -1) -> bytes:
    """Read a file, or its first `count` bytes."""
    try:
        with tf.io.gfile.GFile(path, "rb") if is_remote(path) else open(path, "rb") as stream:
            return bytes(stream.read(count))
    except (OSError, tf.errors.OpError) as error:
        if problem := tensorflow_error(error, path) if is_remote(path) else None:
            raise problem from None
        reason = "it does not exist" if not exists(path) else _reason(error)
        raise HoldfastError(f"{path} cannot be read: {reason}.") from None


def stamp(path: str) -> Stamp | None:
    """Give the size and time of change of a file; None when there is no such file."""
    try:
        if not is_remote(path):  # TensorFlow rounds the time to seconds
            local = os.stat(path)
            return Stamp(local.st_size, local.st_mtime_ns)
        remote = tf.io.gfile.stat(path)
        return Stamp(int(remote.length), int(remote.mtime_nsec))
    except (OSError, tf.errors.OpError) as error:
        if problem := tensorflow_error(error, path) if is_remote(path) else None:
            raise problem from None
        return None


def write_bytes(path: str, content: bytes) -> None:
    """Replace a file's content; a reader sees the old content or the new, never half."""
    refuse_not_utf8(path)
    if is_remote(path):  # an object appears whole or not at all
        with store_errors(path), tf.io.gfile.GFile(path, "wb") as stream:
            stream.write(content)
        return
    temporary = temporary_name(path)
    try:
        tf.io.gfile.makedirs(posixpath.dirname(path) or ".")
        with tf.io.gfile.GFile(temporary, "wb") as stream:
            stream.write(content)
        tf.io.gfile.rename(temporary, path, overwrite=True)
    except (OSError, tf.errors.OpError) as error:
        raise HoldfastError(f"{path} cannot be written: {_reason(error)}.") from None
    finally:
        remove(temporary)


def refuse_not_utf8(path: str) -> None:
    """Refuse a name that TensorFlow, which reads and writes records, cannot open."""
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = path.encode(errors="surrogateescape").decode(errors="replace")
        raise HoldfastError(
            f"{shown}: the name is not UTF-8, and TensorFlow cannot open it.",
            fix="Rename the file or its folder.",
        ) from None


def temporary_name(path: str) -> str:
    """Name a file beside `path`, hidden, that no other process of any machine writes."""
    writer = f"{platform.node()}.{os.getpid()}"  # containers have equal numbers of processes
    return join(posixpath.dirname(path), f".{posixpath.basename(path)}.{writer}")


def remove_temporaries(folder: str, names: Iterable[str]) -> None:
    """Delete what writers of files in a folder left behind when they were killed."""
    if not is_folder(folder or "."):
        return
    starts = {f".{name}." for name in names}
    hidden = [one for one in tf.io.gfile.listdir(folder or ".") if one.startswith(".")]
    for one in hidden:
        if any(one.startswith(start) for start in starts):
            tf.io.gfile.remove(join(folder, one))


def remove(path: str) -> None:
    """Delete a file if it is there."""
    if exists(path):
        tf.io.gfile.remove(path)


def remove_folder(path: str) -> None:
    """Delete a folder and all in it, if it is there."""
    if is_folder(path):
        tf.io.gfile.rmtree(path)


def _walk_local(folder: str, relative: str, above: tuple[tuple[int, int], ...]) -> Iterator[str]:
    """Walk a folder; above: the identities of the folders on the way to it."""
    try:
        status = os.stat(folder)
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise _unreadable_folder(folder, error) from None
    identity = (status.st_dev, status.st_ino)
    if identity in above:
        return
    shown = [each for each in entries if not each.name.startswith(".")]
    # A link that leads to itself is not a folder for os.path, and an error for entry.is_dir.
    folders = {each.name for each in shown if os.path.isdir(each.path)}
    yield from (
        relative + each.name
        for each in shown
        if each.name not in folders and not _is_no_file(each.path)
    )
    for each in shown:
        if each.name in folders - set(_OF_THE_SYSTEM):
            yield from _walk_local(each.path, f"{relative}{each.name}/", (*above, identity))


def _is_no_file(path: str) -> bool:
    """Tell pipes, sockets and devices, which may be waited for without end."""
    return os.path.exists(path) and not os.path.isfile(path)


def _unreadable_folder(folder: str, error: Exception) -> HoldfastError:
    return HoldfastError(
        f"{folder} cannot be read: {_reason(error)}.",
        fix="Change its permissions, or name a folder that does not contain it.",
    )


def _is_hidden(path: str, pattern: str) -> bool:
    """Tell whether a wildcard found a hidden file or folder; shells leave those out, we too."""
    pairs = zip(path.split("/"), pattern.split("/"), strict=False)
    return any(name.startswith(".") and not asked.startswith(".") for name, asked in pairs)


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", "") or getattr(error, "message", "") or error
    return str(text).split("\n")[0].rstrip(".")
