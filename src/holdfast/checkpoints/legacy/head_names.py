"""What the OD API calls the variables of its box predictors."""

from __future__ import annotations

import re
from typing import Any

from holdfast.checkpoints.legacy.leaf_names import Leaf, joined_halves, leaves, leaves_and_ranges
from holdfast.checkpoints.legacy.sought_names import Names, Sought


def convolutional_tf1(head: Any) -> Names:
    """Name predictors that no two levels share: BoxPredictor_0/BoxEncodingPredictor/weights."""
    known = list(leaves_and_ranges(head))
    depths = {leaf.unit: int(leaf.variable.shape[-1]) for leaf in known if leaf.name == "kernel"}
    for leaf in known:
        level, unit = _level_and_unit(leaf)
        # A scope for the levels is only opened when there are several.
        scope = f"BoxPredictor_{level}/" if len(head.levels) > 1 else ""
        name = _CONVOLUTIONAL_TF1.get(unit)
        if name is None:  # shared_0
            name = f"Conv2d_{unit.removeprefix('shared_')}_1x1_{depths[leaf.unit]}"
        yield Sought(leaf.variable, (f"{scope}{name}/{leaf.slim}",))


def convolutional_tf2(head: Any) -> Names:
    """Name the same in TF2: _prediction_heads/box_encodings/0/_box_encoder_layers/0/kernel.

    What the head of the first stage shares among its levels has names elsewhere.
    """
    for leaf in leaves(head):
        if leaf.unit == "shared":
            continue
        level, unit = _level_and_unit(leaf)
        if unit.startswith("shared_"):
            first = 3 * int(unit.removeprefix("shared_"))
            yield Sought(leaf.variable, (f"_shared_nets/{level}/{leaf.in_list(first)}",))
            continue
        kind, _, depthwise = unit.partition("_")
        # A depthwise convolution, its normalization and activation come first, if there are any.
        has_depthwise = len(getattr(head.levels[level], kind)) > 1
        first = 3 if has_depthwise and not depthwise else 0
        yield Sought(
            leaf.variable,
            tuple(
                f"_prediction_heads/{_OUTPUT[kind]}/{level}/{_LAYERS[kind]}/{leaf.in_list(index)}"
                for index in (first, first + 1)  # dropout, if any, is the first in the list
            ),
        )


def weight_shared_tf1(head: Any) -> Names:
    """Name what all levels share: WeightSharedConvolutionalBoxPredictor/BoxPredictor/weights."""
    for leaf in map(joined_halves, leaves(head)):
        unit = leaf.unit.removesuffix("/shared")
        for pattern, scope in _WEIGHT_SHARED_TF1.items():
            unit = re.sub(pattern, scope, unit)
        yield Sought(leaf.variable, (f"WeightSharedConvolutionalBoxPredictor/{unit}/{leaf.slim}",))


def weight_shared_tf2(head: Any) -> Names:
    """Name the same in TF2, where convolutions and normalizations are in different lists."""
    for leaf in map(joined_halves, leaves(head)):
        first, _, rest = leaf.unit.partition("/")
        names: tuple[str, ...]
        match first.split("_"):
            case ["projection", level]:
                names = (f"_additional_projection_layers/{level}/{leaf.in_list(0)}",)
            case ["boxes"]:
                names = (f"_box_prediction_head/_box_encoder_layers/{leaf.in_list(0)}",)
            case ["classes"]:
                names = tuple(
                    f"_prediction_heads/{_OUTPUT[first]}/{_LAYERS[first]}/{leaf.in_list(index)}"
                    for index in (0, 1)  # dropout, if any, is the first in the list
                )
            case _:
                names = (_of_tower(leaf, first, int(re.findall(r"\d+", rest)[0])),)
        yield Sought(leaf.variable, names)


def _of_tower(leaf: Leaf, tower: str, layer: int) -> str:
    if leaf.is_batch_norm:
        output = _OUTPUT["classes" if tower == "class_tower" else "boxes"]
        # Each layer is three: the convolution, which all levels share, norm and activation.
        return f"_base_tower_layers_for_heads/{output}/{leaf.level}/{leaf.in_list(3 * layer)}"
    return f"_head_scope_conv_layers/{_TOWERS[tower]}/{layer}/{leaf.name}"


def _level_and_unit(leaf: Leaf) -> tuple[int, str]:
    level, _, unit = leaf.unit.partition("/")
    return int(level.removeprefix("level_")), unit


_OUTPUT = {"boxes": "box_encodings", "classes": "class_predictions_with_background"}
_LAYERS = {"boxes": "_box_encoder_layers", "classes": "_class_predictor_layers"}
_TOWERS = {
    "tower": "PredictionTower",
    "box_tower": "BoxPredictionTower",
    "class_tower": "ClassPredictionTower",
}
_CONVOLUTIONAL_TF1 = {
    "boxes": "BoxEncodingPredictor",
    "boxes_depthwise": "BoxEncodingPredictor_depthwise",
    "classes": "ClassPredictor",
    "classes_depthwise": "ClassPredictor_depthwise",
}
_WEIGHT_SHARED_TF1 = {
    r"^boxes$": "BoxPredictor",
    r"^classes$": "ClassPredictor",
    r"^projection_": "ProjectionLayer/conv2d_",
    r"^tower/": "PredictionTower/",
    r"^box_tower/": "BoxPredictionTower/",
    r"^class_tower/": "ClassPredictionTower/",
    r"/layer_": "/conv2d_",
}
