"""What is looked for in a checkpoint: a variable, and the names it may have there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import keras


class Sought(NamedTuple):
    """A variable of the detector and the names under which a checkpoint may hold it."""

    variable: keras.Variable
    names: tuple[str, ...]  # best first; the first is the one to name when none is there

    def under(self, *scopes: str) -> Sought:
        """Look for the same names under each of these scopes, e.g. `model/_box_predictor/`."""
        return Sought(self.variable, tuple(scope + name for scope in scopes for name in self.names))


Names = Iterator[Sought]
