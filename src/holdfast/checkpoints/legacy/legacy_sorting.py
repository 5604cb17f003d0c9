"""Tells a model's variables in an OD API checkpoint from those of its training."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Generation = Literal["tf1", "tf2"]  # variable names, or paths of objects

# What follows the path of objects in the keys of an object-based checkpoint.
VALUE_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"


@dataclass(frozen=True, kw_only=True)
class SortedNames:
    """The names of a checkpoint by what they are for, each sorted."""

    model: tuple[str, ...]
    averages: Mapping[str, str]  # a model's variable -> its moving average, which is in `other`
    other: tuple[str, ...]  # optimizer, moving averages, quantizer, steps, what is never used
    ranges: tuple[str, ...] = ()  # among other: what a quantized detector would take


def sort_names(names: Iterable[str]) -> SortedNames:
    """Sort the names of a checkpoint into the model's and others.

    >>> sort_names(["Conv/weights", "Conv/weights/Momentum", "global_step"]).model
    ('Conv/weights',)
    """
    known = set(names)
    if generation_of(known) == "tf2":
        other = {name for name in known if _is_other_tf2(name)}
    else:
        other = {name for name in known if _is_other_tf1(name, known)}
    model = known - other
    averages = {base: name for name in sorted(other) if (base := _averaged(name)) in model}
    return SortedNames(
        model=tuple(sorted(model)),
        averages=averages,
        other=tuple(sorted(other)),
        ranges=tuple(sorted(filter(_TF1_RANGE.search, other))),
    )


def generation_of(names: Iterable[str]) -> Generation:
    """Tell object-based keys from variable names."""
    return "tf2" if any(name.endswith(VALUE_SUFFIX) for name in names) else "tf1"


def scopes_of(name: str) -> Iterator[str]:
    """List what a name is below.

    >>> list(scopes_of("model/layer/kernel"))
    ['model/layer', 'model']
    """
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _is_other_tf1(name: str, known: set[str]) -> bool:
    parts = name.split("/")
    return (
        parts[-1] in _TF1_STEPS
        or any(part.endswith("_quant") for part in parts)  # act_quant/min, weights_quant/max
        or any(scope in known for scope in scopes_of(name))  # weights/Momentum, weights/Adam_1
        or name.endswith(_TF1_AVERAGE)
        or _TF1_IDLE.match(name) is not None
    )


def _is_other_tf2(name: str) -> bool:
    return (
        not name.endswith(VALUE_SUFFIX)  # the graph of objects
        or name.partition("/")[0] in _TF2_OUTSIDE_MODEL
        or "/.OPTIMIZER_SLOT/" in name
    )


def _averaged(name: str) -> str | None:
    """Name the variable that this one is a moving average of; None if it is something else."""
    if name.endswith(_TF1_AVERAGE):
        return name.removesuffix(_TF1_AVERAGE)
    match = re.fullmatch(r"(.*)/\.OPTIMIZER_SLOT/[^/]*/average(/\.ATTRIBUTES/.*)", name)
    return match[1] + match[2] if match else None


_TF1_AVERAGE = "/ExponentialMovingAverage"
# TF1 made all of a ResNet in the first stage of two, which uses its first three blocks.
_TF1_IDLE = re.compile(r"FirstStageFeatureExtractor/resnet_v1_\d+/block4/")
_TF1_RANGE = re.compile(r"_quant/(min|max)$|^fake_quantization_step$")
_TF1_STEPS = {"global_step", "fake_quantization_step", "beta1_power", "beta2_power"}
_TF2_OUTSIDE_MODEL = {"optimizer", "save_counter", "step", "global_step"}
