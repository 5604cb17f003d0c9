"""What slim (TF1) and Keras 2 (TF2) call the variables of the backbones."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import keras

from holdfast.checkpoints.legacy_mapping.leaf import leaves
from holdfast.checkpoints.legacy_mapping.sought import Names, Sought
from holdfast.models.backbones.keras_order import keras_order


class SlimNetwork(NamedTuple):
    """How slim names a network, and the OD API what it puts behind it."""

    scope: str
    last_endpoint: str = ""  # from which SSD's extra layers take their names
    coarse_scope: str = ""  # of the layers behind a feature pyramid
    first_coarse: int = 0
    units: tuple[tuple[str, str], ...] = ()  # pattern in our paths -> slim's scope


def backbone_tf1(backbone: Any, network: SlimNetwork) -> Names:
    """Name the variables below the network's scope: expanded_conv_3/depthwise/depthwise_weights."""
    for leaf in leaves(backbone):
        unit = leaf.unit
        for pattern, scope in network.units:
            unit = re.sub(pattern, scope, unit)
        yield Sought(leaf.variable, (f"{unit}/{leaf.slim}",))


def backbone_tf2(backbone: Any) -> Names:
    """Name the variables by the number of their layer: layer_with_weights-3/depthwise_kernel."""
    for number, layer in enumerate(keras_order(backbone)):
        for variable in layer.weights:
            is_depthwise = isinstance(layer, keras.layers.DepthwiseConv2D)
            name = (
                "depthwise_kernel" if is_depthwise and variable.name == "kernel" else variable.name
            )
            yield Sought(variable, (f"layer_with_weights-{number}/{name}",))


def _resnet(depth: int) -> SlimNetwork:
    return SlimNetwork(
        f"resnet_v1_{depth}",
        coarse_scope="block",
        first_coarse=5,
        units=((r"^(block\d+)_(unit_\d+)/", r"\1/\2/bottleneck_v1/"),),
    )


SLIM_NETWORKS = {
    "mobilenet_v1": SlimNetwork(
        *("MobilenetV1", "Conv2d_13_pointwise", "Conv2d_", 14),
        units=((r"^(Conv2d_\d+)/(depthwise|pointwise)$", r"\1_\2"),),
    ),
    "mobilenet_v2": SlimNetwork("MobilenetV2", "layer_19", "Conv2d_", 20),
    "mobilenet_v3_large": SlimNetwork("MobilenetV3", "layer_17"),
    "mobilenet_v3_small": SlimNetwork("MobilenetV3", "layer_13"),
    "inception_v2": SlimNetwork("InceptionV2", "Mixed_5c"),
    "resnet50_v1": _resnet(50),
    "resnet101_v1": _resnet(101),
    "resnet152_v1": _resnet(152),
}
