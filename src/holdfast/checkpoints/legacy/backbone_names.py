"""What slim (TF1) and Keras 2 (TF2) call the variables of the backbones."""

from __future__ import annotations

import re
from typing import Any

import keras

from holdfast.checkpoints.legacy.leaf_names import leaves_and_ranges
from holdfast.checkpoints.legacy.sought_names import Names, Sought
from holdfast.models.backbones.backbone_spec import SlimNames
from holdfast.models.backbones.keras_order import keras_order


def backbone_tf1(backbone: Any, network: SlimNames) -> Names:
    """Name the variables below the network's scope: expanded_conv_3/depthwise/depthwise_weights."""
    for leaf in leaves_and_ranges(backbone):
        unit = leaf.unit
        for pattern, scope in network.units:
            unit = re.sub(pattern, scope, unit)
        yield Sought(leaf.variable, (f"{unit}/{leaf.slim}",))


def backbone_tf2(backbone: Any, first: int = 0) -> Names:
    """Name the variables by the number of their layer: layer_with_weights-3/depthwise_kernel.

    first: the number of the first layer.
    """
    for number, layer in enumerate(keras_order(backbone), start=first):
        for variable in layer.weights:
            is_depthwise = isinstance(layer, keras.layers.DepthwiseConv2D)
            name = (
                "depthwise_kernel" if is_depthwise and variable.name == "kernel" else variable.name
            )
            yield Sought(variable, (f"layer_with_weights-{number}/{name}",))
