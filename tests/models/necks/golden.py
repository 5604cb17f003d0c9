"""One folder of the goldens: names and shapes of variables, their values, what was predicted."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"


class Stored(NamedTuple):
    """Every stride-th value of an array."""

    values: np.ndarray
    shape: tuple[int, ...]
    stride: int

    def whole(self) -> np.ndarray:
        assert self.stride == 1
        return self.values.reshape(self.shape)

    def places(self) -> tuple[np.ndarray, ...]:
        return np.unravel_index(np.arange(0, np.prod(self.shape), self.stride), self.shape)


class Golden:
    def __init__(self, shared: Path, name: str) -> None:
        self.folder = shared / "goldens" / name
        self.is_tf2 = name.endswith("tpu-8")
        self.shapes = {key: tuple(shape) for key, shape, _ in self._json("variables.json")}
        self.value_of = _weight_rule(shared)

    def variables_below(self, prefixes: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
        """Names without TF2's ending, and shapes."""
        return {
            key.removesuffix(SUFFIX): shape
            for key, shape in self.shapes.items()
            if key.startswith(prefixes)
        }

    def load(self, names: dict[str, keras.Variable]) -> None:
        """Give variables their golden values, by name."""
        gains = self._json("rule.json")["gains"]
        for name, variable in names.items():
            key = name + SUFFIX if self.is_tf2 else name
            variable.assign(self.value_of(key, list(variable.shape), gains))

    def prediction(self, name: str) -> Stored:
        meta = self._json("outputs.meta.json")[f"pred/{name}"]
        values = np.load(self.folder / "outputs.npz")[f"pred/{name}"].reshape(-1)
        return Stored(values, tuple(meta["shape"]), meta["flat_stride"])

    def _json(self, name: str) -> dict:
        return json.loads((self.folder / name).read_text())


def names_of(
    part: keras.layers.Layer, prefix: str, name_of: Callable[[str], str]
) -> dict[str, keras.Variable]:
    """Name a built part's variables as the OD API does."""
    names = {prefix + name_of(v.path.split("/", 1)[1]): v for v in part.variables}
    assert len(names) == len(part.variables)
    return names


def shapes_of(names: dict[str, keras.Variable]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(variable.shape) for name, variable in names.items()}


def _weight_rule(shared: Path) -> Callable[[str, list[int], list[dict]], np.ndarray]:
    source = shared / "tools" / "golden_checkpoint.py"
    spec = importlib.util.spec_from_file_location("golden_checkpoint", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.value_of
