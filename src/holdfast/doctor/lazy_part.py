"""Attributes that are made when first asked for, once; or are missing, for a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from holdfast.errors import HoldfastError

T = TypeVar("T")


class MissingError(HoldfastError):
    """Something that a check wants to look at is not there; the message is the reason."""


class LazyPart(Generic[T]):
    """A method turned into an attribute: its value, or its MissingError, is made once.

    What cannot be read is missing, too: a diagnosis goes on without it.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__
        self._name = make.__name__

    def __get__(self, owner: Any, _: type | None = None) -> T:
        kept = owner.__dict__
        if self._name not in kept:
            kept[self._name] = self._made(owner)
        found = kept[self._name]
        if isinstance(found, MissingError):
            raise found
        return found  # type: ignore[no-any-return]

    def __set__(self, owner: Any, value: T) -> None:
        """Put a value in its place that was made elsewhere."""
        owner.__dict__[self._name] = value

    def _made(self, owner: Any) -> T | MissingError:
        try:
            return self._make(owner)
        except MissingError as missing:
            return missing
        except HoldfastError as error:
            return MissingError(error.message)
        except OSError as error:
            return MissingError(f"{error.filename or 'a file'}: {error.strerror or error}")
        except Exception as error:  # as of libraries, for damaged data: once, not for each check
            return MissingError(f"{type(error).__name__}: {error}")
