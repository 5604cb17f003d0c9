"""Files of Keras weights as keras.applications publishes them."""

from __future__ import annotations

import h5py
import keras
import numpy as np


def write_old_format(path, model):
    """Write what the files of keras.applications hold: names of layers and of their arrays."""
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = [layer.name.encode() for layer in model.layers]
        for layer in model.layers:
            group = file.create_group(layer.name)
            names = [f"{layer.name}/{_old_name(layer, each.name)}:0" for each in layer.weights]
            group.attrs["weight_names"] = [name.encode() for name in names]
            for name, weight in zip(names, layer.weights, strict=True):
                group[name] = np.asarray(weight)
    return path


def _old_name(layer, name):
    is_depthwise = isinstance(layer, keras.layers.DepthwiseConv2D)
    return f"depthwise_{name}" if is_depthwise and name == "kernel" else name
