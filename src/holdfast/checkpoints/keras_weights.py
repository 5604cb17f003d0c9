"""Fills a backbone from a file of Keras weights, such as those of keras.applications."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import h5py  # type: ignore[import-untyped]
import keras
import numpy as np

from holdfast.checkpoints.report import Report
from holdfast.config.paths import is_remote
from holdfast.errors import HoldfastError
from holdfast.models.backbones.keras_order import keras_order

TURNED_TO_RGB = "the first kernel's channels are reversed, as Keras trained this network on BGR"


def is_keras_weights(path: str | Path) -> bool:
    """Tell by the name: x.weights.h5, or x.h5 as older Keras wrote it."""
    return str(path).endswith((".h5", ".hdf5"))


def load_keras_weights(backbone: Any, path: str | Path, *behind: Any) -> Report:
    """Fill a built backbone from the same network's weights, saved with or without its top.

    behind: what of the network follows the backbone, where a detector has cut it in two.

    Names in such files need not mean anything: the n-th convolution of the file is the n-th of the
    network, and so are the n-th depthwise convolution and the n-th batch norm. All shapes must fit,
    else HoldfastError and nothing is changed. What the file has in excess is reported as unused.
    Keras trained its ResNets on BGR images: their first kernel is turned to RGB.
    """
    in_file = _by_kind(_file_layers(str(path)))
    in_network = _by_kind(_network_layers((backbone, *behind)))
    pairs = [
        (stored, own)
        for kind, layers in in_network.items()
        for stored, own in zip(in_file.get(kind, ()), layers, strict=False)
    ]
    arrays, variables = _matched(pairs, str(path))
    changes: tuple[str, ...] = ()
    if backbone.keras_is_bgr:
        first = next(iter(pairs[0][0].arrays))  # a kernel (height, width, channels in, out)
        arrays[first] = arrays[first][:, :, ::-1]
        changes = (TURNED_TO_RGB,)
    for name, variable in variables.items():
        variable.assign(arrays[name])
    return Report(
        loaded=tuple(variables),
        mismatched=(),
        unused=_rest(in_file, set(variables)),
        other=(),
        missing=_rest(in_network, {path for _, own in pairs for path in own.arrays}),
        variables=variables,
        changes=changes,
    )


class _Layer(NamedTuple):
    """A layer with weights, of a file or of a network."""

    kind: str  # convolution, depthwise, batch_norm, dense
    arrays: Mapping[str, Any]  # name -> array or variable, in the order of Keras


def _matched(
    pairs: Sequence[tuple[_Layer, _Layer]], path: str
) -> tuple[dict[str, np.ndarray], dict[str, keras.Variable]]:
    arrays, variables = {}, {}
    for stored, own in pairs:
        if own.kind == "batch_norm" and len(stored.arrays) != len(own.arrays):
            raise HoldfastError(
                f"{path} is of another network: a batch norm has {len(stored.arrays)} arrays "
                f"there and {len(own.arrays)} here ({next(iter(own.arrays))}).",
                fix="Set scale and center of batch_norm as the network was trained.",
            )
        # A file may have biases that the network lacks; then they stay unused.
        for (name, array), variable in zip(
            stored.arrays.items(), own.arrays.values(), strict=False
        ):
            if array.shape != tuple(variable.shape):
                raise HoldfastError(
                    f"{path} is of another network: {name} has the shape {array.shape}, and "
                    f"{variable.path}, which is at its place, {tuple(variable.shape)}.",
                    fix="Give the weights of the same network with the same width and depth.",
                )
            arrays[name], variables[name] = array, variable
    if not variables:
        raise HoldfastError(
            f"{path} holds no weights that could be the backbone's.",
            fix="Give a file that Keras' save_weights wrote for the same network.",
        )
    return arrays, variables


def _rest(layers: Mapping[str, Sequence[_Layer]], used: set[str]) -> tuple[str, ...]:
    names = (name for group in layers.values() for layer in group for name in layer.arrays)
    return tuple(name for name in names if name not in used)


def _by_kind(layers: Iterator[_Layer]) -> dict[str, list[_Layer]]:
    groups = defaultdict(list)
    for layer in layers:
        groups[layer.kind].append(layer)
    return dict(groups)


def _network_layers(parts: Sequence[Any]) -> Iterator[_Layer]:
    for layer in chain.from_iterable(map(keras_order, parts)):
        kind = "batch_norm"
        if isinstance(layer, keras.layers.DepthwiseConv2D):
            kind = "depthwise"
        elif isinstance(layer, keras.layers.Conv2D):
            kind = "convolution"
        elif isinstance(layer, keras.layers.Dense):
            kind = "dense"
        yield _Layer(kind, {variable.path: variable for variable in layer.weights})


# --- files -------------------------------------------------------------------------------------


def _file_layers(path: str) -> Iterator[_Layer]:
    if is_remote(path):
        raise HoldfastError(
            f"{path} is remote, and Keras weights are read from this machine only.",
            fix="Copy the file here, and name the copy.",
        )
    if not Path(path).is_file():
        raise HoldfastError(f"There is no file {path}.", fix="Check the path.")
    try:
        file = h5py.File(path)
    except OSError as error:
        raise HoldfastError(
            f"{path} cannot be read as a file of Keras weights: {error}.",
            fix="Copy or download it again.",
        ) from error
    with file:
        yield from _layers_of_old_file(file) if "layer_names" in file.attrs else _layers_of(file)


def _layers_of(file: h5py.File) -> Iterator[_Layer]:
    """Read Keras 3's format: layers/conv2d_3/vars/0, numbered per class in the network's order."""
    groups = file.get("layers", {})
    for name in sorted(groups, key=_class_and_number):
        kind = _KINDS.get(_class_and_number(name)[0])
        values = groups[name].get("vars", {})
        if kind is not None and len(values):
            yield _Layer(
                kind,
                {f"{name}/{index}": values[index][()] for index in sorted(values, key=int)},
            )


def _class_and_number(name: str) -> tuple[str, int]:
    match = re.fullmatch(r"(.*?)(?:_(\d+))?", name)
    assert match is not None  # it matches every text
    return match[1], int(match[2] or 0)


_KINDS = {
    "conv2d": "convolution",
    "depthwise_conv2d": "depthwise",
    "batch_normalization": "batch_norm",
    "dense": "dense",
}


def _layers_of_old_file(file: h5py.File) -> Iterator[_Layer]:
    """Read Keras 2's format: groups in the network's order, arrays named by what they are."""
    for layer_name in _texts(file.attrs["layer_names"]):
        group = file[layer_name]
        arrays = {name: group[name][()] for name in _texts(group.attrs["weight_names"])}
        kind = _kind_of_old(arrays)
        if kind is not None:
            yield _Layer(kind, arrays)


def _kind_of_old(arrays: Mapping[str, np.ndarray]) -> str | None:
    for name, array in arrays.items():
        if "depthwise_kernel" in name:
            return "depthwise"
        if "kernel" in name:
            return "convolution" if array.ndim == 4 else "dense"
        if "moving_mean" in name:
            return "batch_norm"
    return None


def _texts(values: Any) -> list[str]:
    return [value.decode() if isinstance(value, bytes) else str(value) for value in values]
