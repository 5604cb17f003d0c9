"""What the OD API calls the variables between backbone and box predictor."""

from __future__ import annotations

from typing import Any

from holdfast.checkpoints.legacy.leaf_names import Leaf, joined_halves, leaves, leaves_and_ranges
from holdfast.checkpoints.legacy.sought_names import Names, Sought


def ssd_layers_tf1(neck: Any, last_endpoint: str) -> Names:
    """Name SSD's extra layers: layer_19_1_Conv2d_2_1x1_256/weights.

    Depths are part of the names; that of a depthwise convolution is of the one that follows it.
    """
    known = list(leaves_and_ranges(neck))
    depths = {leaf.unit: int(leaf.variable.shape[-1]) for leaf in known if leaf.name == "kernel"}
    for leaf in known:
        level, _, unit = leaf.unit.partition("/")
        number = level.removeprefix("level_")
        depth = depths[leaf.unit.removesuffix("_depthwise")]
        if unit == "reduce":
            scope = f"{last_endpoint}_1_Conv2d_{number}_1x1_{depth}"
        else:
            suffix = "_depthwise" if unit == "shrink_depthwise" else ""
            scope = f"{last_endpoint}_2_Conv2d_{number}_3x3_s2_{depth}{suffix}"
        yield Sought(leaf.variable, (f"{scope}/{leaf.slim}",))


def ssd_layers_tf2(neck: Any) -> Names:
    """Name the same in TF2: feature_map_generator/convolutions/2/0/kernel."""
    known = list(leaves(neck))
    units = {leaf.unit for leaf in known}
    for leaf in known:
        level, _, unit = leaf.unit.partition("/")
        number = level.removeprefix("level_")
        follows_depthwise = unit == "shrink" and f"{level}/shrink_depthwise" in units
        first = 0 if unit == "reduce" else 6 if follows_depthwise else 3
        # Explicit padding is a layer of its own before what shrinks.
        shifts = (0,) if unit == "reduce" else (0, 1)
        names = tuple(
            f"{generator}/convolutions/{number}/{leaf.in_list(first + shift)}"
            for generator in ("feature_map_generator", "_feature_map_generator")
            for shift in shifts
        )
        yield Sought(leaf.variable, names)


def fpn_tf1(neck: Any, coarse_scope: str, first_coarse: int) -> Names:
    """Name a feature pyramid: fpn/projection_1/weights, fpn/bottom_up_block5/weights."""
    for leaf in map(joined_halves, leaves(neck)):
        kind, number = leaf.unit.rsplit("_", 1)
        match kind:
            case "lateral":
                scope = f"projection_{number}"
            case "smoothing":
                scope = f"smoothing_{number}"
            case _:
                scope = f"bottom_up_{coarse_scope}{first_coarse + int(number) - 1}"
        yield Sought(leaf.variable, (f"fpn/{scope}/{leaf.slim}",))


def fpn_tf2(neck: Any) -> Names:
    """Name the same in TF2, where lists run from the coarsest map to the finest."""
    num_levels = len(neck.laterals)
    for leaf in map(joined_halves, leaves(neck)):
        kind, number = leaf.unit.rsplit("_", 1)
        index = num_levels - 1 - int(number)  # among the finer ones
        # Clipping and explicit padding are layers of their own before a convolution.
        names: tuple[str, ...]
        match kind:
            case "lateral" if index < 0:
                names = (f"_fpn_features_generator/top_layers/{leaf.in_list(0)}",)
            case "lateral":
                names = (f"_fpn_features_generator/residual_blocks/{index}/{leaf.in_list(0)}",)
            case "smoothing":
                names = _shifted(f"_fpn_features_generator/conv_layers/{index}", leaf)
            case _:
                names = _shifted(f"_coarse_feature_layers/{int(number) - 1}", leaf)
        yield Sought(leaf.variable, names)


def bifpn_tf2(neck: Any) -> Names:
    """Name a BiFPN, whose nodes are numbered in the order in which they are computed."""
    numbers = {node.name: number for number, node in enumerate(neck.nodes)}
    for leaf in map(joined_halves, leaves(neck)):
        node, _, unit = leaf.unit.partition("/")
        number = numbers[node]
        match unit.split("_"):
            case ["projection", source]:
                name = f"node_input_blocks/{number}/{source}/1/{leaf.in_list(0)}"
            case ["fusion"]:
                name = f"node_combine_op/{number}/bifpn_combine_weights"
            case _:
                # The activation comes first.
                name = f"node_post_combine_block/{number}/{leaf.in_list(1)}"
        yield Sought(leaf.variable, (f"_bifpn_stage/{name}",))


def _shifted(scope: str, leaf: Leaf) -> tuple[str, ...]:
    return tuple(f"{scope}/{leaf.in_list(shift)}" for shift in (0, 1, 2))
