"""Name -> factory, for sets that users' configs choose from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from holdfast.errors import HoldfastError, nearest

T = TypeVar("T")


class Registry(Generic[T]):
    """A table that code adds to with a decorator and reads by name.

    >>> greetings: Registry = Registry("greeting")
    >>> @greetings.register("hello")
    ... def hello(): return "Hello"
    >>> greetings["hello"]()
    'Hello'
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Add the decorated thing under a name; each name is taken once."""

        def add(entry: T) -> T:
            if name in self._entries:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._entries[name] = entry
            return entry

        return add

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            similar = nearest(name, self._entries, 3)
            fix = (
                f"Did you mean {' or '.join(similar)}?" if similar else f"Known: {', '.join(self)}"
            )
            raise HoldfastError(f"There is no {self.kind} {name!r}.", fix=fix)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
