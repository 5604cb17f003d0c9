"""What is looked for in a checkpoint: a variable, and the names it may have there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import keras


class Implied(NamedTuple):
    """What a checkpoint says of a variable by holding another one."""

    by: tuple[str, ...]  # names of the other; one of them has to be there
    value: float  # of all its entries
    change: str  # what that means, in words for the report


class Sought(NamedTuple):
    """A variable of the detector and the names under which a checkpoint may hold it."""

    variable: keras.Variable
    names: tuple[str, ...]  # best first; the first is the one to name when none is there
    implied: Implied | None = None  # its value where none is there
    is_optional: bool = False  # nothing is missing where none is there: it keeps its value

    def under(self, *scopes: str) -> Sought:
        """Look for the same names under each of these scopes, e.g. `model/_box_predictor/`."""

        def below(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(scope + name for scope in scopes for name in names)

        implied = self.implied and self.implied._replace(by=below(self.implied.by))
        return self._replace(names=below(self.names), implied=implied)


Names = Iterator[Sought]
