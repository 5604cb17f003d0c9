"""What the OD API calls the variables of a neck: by path of the variable, below the neck."""

from __future__ import annotations

import re

from holdfast.models.necks.bifpn import BiFpn
from holdfast.models.necks.fpn import Fpn
from holdfast.models.necks.ssd_layers import SsdLayers


def tf1_leaf(path: str) -> str:
    for ours, theirs in (
        (r"/depthwise/convolution/kernel$", "/depthwise_weights"),
        (r"_depthwise/convolution/kernel$", "_depthwise/depthwise_weights"),
        (r"/pointwise/convolution/kernel$", "/pointwise_weights"),
        (r"/convolution/kernel$", "/weights"),
        (r"(/pointwise)?/convolution/bias$", "/biases"),
        (r"(/pointwise)?/batch_norm/", "/BatchNorm/"),
    ):
        path = re.sub(ours, theirs, path)
    return path


def tf2_leaf(path: str, index: int) -> str:
    """Name the variables of a convolution at a place of a list of Keras layers."""
    for ours, theirs in (
        (r".*(^|[/_])depthwise/convolution/kernel$", f"{index}/depthwise_kernel"),
        (r".*pointwise/convolution/kernel$", f"{index}/pointwise_kernel"),
        (r".*convolution/(kernel|bias)$", rf"{index}/\1"),
        (r".*batch_norm/(\w+)$", rf"{index + 1}/\1"),
    ):
        if re.match(ours, path):
            return re.sub(ours, theirs, path)
    raise AssertionError(path)


def tf1_ssd_name(neck: SsdLayers, path: str, endpoint: str) -> str:
    level, part, leaf = path.split("/", 2)
    index = int(level.removeprefix("level_"))
    if part == "reduce":
        block = neck.blocks[index - len(neck.features) + len(neck.blocks)]
        layer = f"{endpoint}_1_Conv2d_{index}_1x1_{block.reduce.convolution.filters}"
    else:
        layer = f"{endpoint}_2_Conv2d_{index}_3x3_s2_{neck.features[index].channels}"
        layer += part.removeprefix("shrink")
    return tf1_leaf(f"{layer}/{leaf}")


def tf2_ssd_name(neck: SsdLayers, path: str, has_padding_layer: bool = False) -> str:
    level, part, leaf = path.split("/", 2)
    places = {"reduce": 0, "shrink": 3 + has_padding_layer}
    if neck.blocks[0].shrink_depthwise is not None:
        places |= {"shrink_depthwise": places["shrink"], "shrink": places["shrink"] + 3}
    leaf = tf2_leaf(f"{part}/{leaf}", places[part])
    return f"convolutions/{level.removeprefix('level_')}/{leaf}"


def tf1_fpn_name(neck: Fpn, path: str, coarse: str, num_before: int) -> str:
    layer, leaf = path.split("/", 1)
    kind, number = layer.split("_")
    names = {"lateral": "projection_", "smoothing": "smoothing_", "coarse": coarse}
    number = int(number) + (num_before if kind == "coarse" else 0)
    return tf1_leaf(f"{names[kind]}{number}/{leaf}")


def tf2_fpn_name(neck: Fpn, path: str, has_padding_layer: bool = False) -> str:
    layer, leaf = path.split("/", 1)
    kind, number = layer.split("_")
    generator = "_fpn_features_generator"
    step = len(neck.laterals) - 1 - int(number)  # from the top
    match kind:
        case "lateral" if step < 0:
            return f"{generator}/top_layers/{tf2_leaf(leaf, 0)}"
        case "lateral":
            return f"{generator}/residual_blocks/{step}/{tf2_leaf(leaf, 0)}"
        case "smoothing":
            return f"{generator}/conv_layers/{step}/{tf2_leaf(leaf, int(has_padding_layer))}"
        case _:
            leaf = tf2_leaf(leaf, int(has_padding_layer))
            return f"_coarse_feature_layers/{int(number) - 1}/{leaf}"


def tf2_bifpn_name(neck: BiFpn, path: str) -> str:
    name, part, leaf = path.split("/", 2)
    node = [node.name for node in neck.nodes].index(name)
    if part == "fusion":
        return f"node_combine_op/{node}/bifpn_combine_weights"
    if part == "convolution":
        return f"node_post_combine_block/{node}/{tf2_leaf(leaf, 1)}"
    source = part.removeprefix("projection_")
    return f"node_input_blocks/{node}/{source}/1/{tf2_leaf(leaf, 0)}"
