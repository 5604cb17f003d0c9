"""A variable of a network, by the unit it belongs to, and what slim and Keras 2 call it there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import keras


class Leaf(NamedTuple):
    """A variable of a part of a detector."""

    variable: keras.Variable
    unit: str  # path of the convolution with its normalization, below the part: "level_2/shrink"
    name: str  # kernel, depthwise_kernel, pointwise_kernel, bias; gamma, moving_mean, min, max, …
    level: int | None = None  # of a unit that is normalized by itself at each level
    quantizer: str = ""  # act_quant, sum_quant: what the range belongs to, where it is one

    @property
    def is_batch_norm(self) -> bool:
        """Whether it belongs to the normalization, else to the convolution."""
        return self.name in _BATCH_NORM

    @property
    def slim(self) -> str:
        """What slim calls it below the unit's scope."""
        if self.quantizer:
            return f"{_SLIM.get(self.quantizer, self.quantizer)}/{self.name}"
        scope = "BatchNorm/" if self.is_batch_norm else ""
        level = "" if self.level is None else f"feature_{self.level}/"
        return f"{scope}{level}{_SLIM.get(self.name, self.name)}"

    def in_list(self, first: int) -> str:
        """Name it in a list of layers where the unit's convolution is at this index.

        The normalization follows the convolution.
        """
        return f"{first + self.is_batch_norm}/{self.name}"


def leaves(part: Any) -> Iterator[Leaf]:
    """List the variables of a built part, in the order of its layers, without ranges."""
    return (leaf for leaf in leaves_and_ranges(part) if not leaf.quantizer)


def leaves_and_ranges(part: Any) -> Iterator[Leaf]:
    """List the variables of a built part, also the ranges of activations that it observes."""
    for variable in part.weights:
        yield _leaf(variable, path_below(part, variable).split("/"))


def path_below(part: Any, variable: keras.Variable) -> str:
    """Give the path of a part's variable without the part's own name and what precedes it.

    >>> layer = keras.layers.Dense(1, name="dense")
    >>> layer.build((None, 1))
    >>> path_below(layer, layer.kernel)
    'kernel'
    """
    _, _, below = f"/{variable.path}".partition(f"/{part.name}/")
    return below


def _leaf(variable: keras.Variable, parts: list[str]) -> Leaf:
    *unit, name = parts
    level, quantizer = None, ""
    if is_range(variable):
        first = next(index for index, each in enumerate(unit) if "_quant" in each)
        quantizer, unit = "/".join(unit[first:]), unit[:first]
    if unit and unit[-1].startswith("batch_norm"):
        number = unit.pop().removeprefix("batch_norm").removeprefix("_")
        level = int(number) if number else None
    elif unit and unit[-1] in ("convolution", "dense"):
        unit.pop()
    is_depthwise = bool(unit) and unit[-1].endswith("depthwise")
    if name == "kernel" and is_depthwise:
        name = "depthwise_kernel"
    return Leaf(variable, "/".join(unit), name, level, quantizer)


def is_range(variable: keras.Variable) -> bool:
    """Tell whether a variable is an end of a range of activations, which a quantizer observes."""
    return variable.name in ("min", "max")


def joined_halves(leaf: Leaf) -> Leaf:
    """See the halves of a separable convolution, `x/depthwise` and `x/pointwise`, as one unit."""
    unit, _, half = leaf.unit.rpartition("/")
    if half not in ("depthwise", "pointwise"):
        return leaf
    name = "pointwise_kernel" if (half, leaf.name) == ("pointwise", "kernel") else leaf.name
    return leaf._replace(unit=unit, name=name)


_BATCH_NORM = {"gamma", "beta", "moving_mean", "moving_variance"}
_SLIM = {
    "kernel": "weights",
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
    "bias": "biases",
    "sum_quant": "post_activation_bypass_quant",
}
