"""What the OD API calls the variables of a head: by path of the variable, below the head."""

from __future__ import annotations

import re

from holdfast.models.heads.convolutional import ConvolutionalHead
from holdfast.models.heads.weight_shared import WeightSharedHead

from ..necks.legacy_names import tf1_leaf, tf2_leaf

PREDICTORS = {"boxes": "BoxEncodingPredictor", "classes": "ClassPredictor"}
HEADS = {"box": "box_encodings", "class": "class_predictions_with_background"}
TOWERS = {
    "tower": "PredictionTower",
    "box_tower": "BoxPredictionTower",
    "class_tower": "ClassPredictionTower",
}


def tf1_convolutional_name(head: ConvolutionalHead, path: str) -> str:
    level, part, leaf = path.split("/", 2)
    index = int(level.removeprefix("level_"))
    kind, _, rest = part.partition("_")
    if kind == "shared":
        depth = head.levels[index].shared[int(rest)].convolution.filters
        layer = f"Conv2d_{rest}_1x1_{depth}"
    else:
        layer = PREDICTORS[kind] + (f"_{rest}" if rest else "")
    return tf1_leaf(f"BoxPredictor_{index}/{layer}/{leaf}")


def tf2_convolutional_name(head: ConvolutionalHead, path: str) -> str:
    level, part, leaf = path.split("/", 2)
    index = int(level.removeprefix("level_"))
    kind, _, rest = part.partition("_")
    if kind == "shared":
        return f"_shared_nets/{index}/{tf2_leaf(leaf, 3 * int(rest))}"
    predictor = head.levels[index]
    place = 3 if len(predictor.boxes) > 1 and not rest else 0
    leaf = tf2_leaf(f"{part}/{leaf}", place + (kind == "classes" and predictor.dropout is not None))
    if kind == "boxes":
        return f"_prediction_heads/{HEADS['box']}/{index}/_box_encoder_layers/{leaf}"
    return f"_prediction_heads/{HEADS['class']}/{index}/_class_predictor_layers/{leaf}"


def tf1_weight_shared_name(head: WeightSharedHead, path: str) -> str:
    part, leaf = path.split("/", 1)
    if part.startswith("projection"):
        return tf1_leaf(f"ProjectionLayer/conv2d_{part.removeprefix('projection_')}/{leaf}")
    if part in TOWERS:
        layer, leaf = leaf.split("/", 1)
        leaf = re.sub(r"^batch_norm_(\d+)", r"BatchNorm/feature_\1", leaf.removeprefix("shared/"))
        return tf1_leaf(f"{TOWERS[part]}/conv2d_{layer.removeprefix('layer_')}/{leaf}")
    return tf1_leaf(f"{'BoxPredictor' if part == 'boxes' else 'ClassPredictor'}/{leaf}")


def tf2_weight_shared_name(head: WeightSharedHead, path: str) -> str:
    part, leaf = path.split("/", 1)
    if part.startswith("projection"):
        level = part.removeprefix("projection_")
        return f"_additional_projection_layers/{level}/{tf2_leaf(leaf, 0)}"
    if part in TOWERS:
        return _tf2_tower_name(head, part, leaf)
    if part == "boxes":
        return f"_box_prediction_head/_box_encoder_layers/{tf2_leaf(leaf, 0)}"
    leaf = tf2_leaf(leaf, int(head.dropout is not None))
    return f"_prediction_heads/{HEADS['class']}/_class_predictor_layers/{leaf}"


def _tf2_tower_name(head: WeightSharedHead, tower: str, path: str) -> str:
    layer, leaf = path.split("/", 1)
    index = int(layer.removeprefix("layer_"))
    if leaf.startswith("shared"):
        return f"_head_scope_conv_layers/{TOWERS[tower]}/{tf2_leaf(leaf, index)}"
    level, leaf = leaf.removeprefix("batch_norm_").split("/")
    kind = HEADS["class" if tower == "class_tower" else "box"]
    return f"_base_tower_layers_for_heads/{kind}/{level}/{3 * index + 1}/{leaf}"
