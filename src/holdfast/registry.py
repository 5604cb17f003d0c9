"""Open tables, name -> part: Holdfast's own parts, and those that users add from outside."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from holdfast.errors import HoldfastError, nearest

T = TypeVar("T")

ENTRY_POINTS = "holdfast.parts"  # the group in which an installed package names its parts
# Modules that were loaded, for the processes that this one starts: they know them by name alone.
VARIABLE = "HOLDFAST_PARTS"
NOT_FOUND_FIX = "A part of your own needs --import MODULE, the module that registers it"


class Registry(Generic[T]):
    """A table that code adds to with a decorator and reads by name.

    A name that is not there is looked for once more after all parts from outside are loaded.

    >>> greetings: Registry = Registry("greeting")
    >>> @greetings.register("hello")
    ... def hello(): return "Hello"
    >>> greetings["hello"]()
    'Hello'
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}
        self._makers: dict[str, object] = {}
        _TABLES[kind] = self

    def register(self, name: str, maker: object = None) -> Callable[[T], T]:
        """Add the decorated thing under a name; each name is taken once.

        maker: what the entry is made from, if it is not a function or class itself. The same thing
        defined again, as by a notebook's cell that is run twice, takes its own place.
        """

        def add(entry: T) -> T:
            made_by = _identity(entry if maker is None else maker)
            if name in self._entries and self._makers[name] != made_by:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._entries[name], self._makers[name] = entry, made_by
            return entry

        return add

    def find(self, name: str) -> T | None:
        """Give the part of a name; None if there is none, here or outside."""
        if name not in self._entries:
            load_from_outside()
        return self._entries.get(name)

    def __getitem__(self, name: str) -> T:
        found = self.find(name)
        if found is None:
            similar = nearest(name, self._entries, 3)
            known = f"Known: {', '.join(self)}" if self._entries else "None is registered"
            fix = f"Did you mean {' or '.join(similar)}?" if similar else f"{known}."
            raise HoldfastError(f"There is no {self.kind} {name!r}.", fix=f"{fix} {NOT_FOUND_FIX}.")
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


_TABLES: dict[str, Registry[Any]] = {}  # by kind


def registered(kind: str, name: str) -> Any:
    """Give the part of a kind and name; None if there is none.

    Parts that only a user's module can have registered are found so without loading the room that
    keeps their table.
    """
    if kind not in _TABLES:
        load_from_outside()
    return _TABLES[kind].find(name) if kind in _TABLES else None


def load_parts(*modules: str) -> None:
    """Import modules that register parts of one's own, such as "my_parts" or "lab/my_parts.py".

    A name is looked up as Python does, and then in the working directory. Processes that this one
    starts will load the same modules. HoldfastError says what is wrong with a module.
    """
    for module in modules:
        name = _import(module)
        known = _remembered()
        if name not in known:
            os.environ[VARIABLE] = os.pathsep.join([*known, name])


_has_looked_outside = False


def load_from_outside() -> None:
    """Load the modules that a parent process loaded, and parts of installed packages, once."""
    global _has_looked_outside
    if _has_looked_outside:
        return
    _has_looked_outside = True  # first: what is loaded may look up names itself
    for module in _remembered():
        _import(module)
    for point in entry_points(group=ENTRY_POINTS):
        try:
            point.load()
        except Exception as error:
            raise _broken(f"the entry point {point.name} = {point.value}", error) from error


def _remembered() -> list[str]:
    return [name for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]


def _import(module: str) -> str:
    """Import a module, or a file; give the name by which another process finds it."""
    path = Path(module)
    is_file = path.suffix == ".py"
    if is_file and not path.is_file():
        raise HoldfastError(f"There is no file {module}.", fix="Check the path after --import.")
    folder = str(path.resolve().parent) if is_file else os.getcwd()
    if folder not in sys.path:
        sys.path.append(folder)
    name = path.stem if is_file else module
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _broken(module, error) from error
        raise HoldfastError(
            f"There is no module {module!r}.",
            fix="Run the command in the folder of the module, give the path of its file, or "
            "install its package.",
        ) from error
    except Exception as error:
        raise _broken(module, error) from error
    return str(path.resolve()) if is_file else name


def _broken(module: str, error: Exception) -> HoldfastError:
    return HoldfastError(
        f"The parts of {module} cannot be loaded: {type(error).__name__}: {error}",
        fix="Correct it; --debug shows where it happened.",
    )


def _identity(maker: object) -> object:
    """Tell who made an entry: where it is defined, or the object itself."""
    maker = getattr(maker, "func", maker)  # of a partial
    name = getattr(maker, "__qualname__", None)
    return maker if name is None else (getattr(maker, "__module__", None), name)
