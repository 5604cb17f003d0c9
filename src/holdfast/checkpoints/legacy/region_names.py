"""What the OD API calls the variables of detectors of two stages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from holdfast.checkpoints.legacy.backbone_names import backbone_tf1, backbone_tf2
from holdfast.checkpoints.legacy.head_names import convolutional_tf2
from holdfast.checkpoints.legacy.leaf_names import Leaf, leaves
from holdfast.checkpoints.legacy.neck_names import fpn_tf2
from holdfast.checkpoints.legacy.sought_names import Implied, Names, Sought
from holdfast.models.backbones.backbone_spec import SlimNames
from holdfast.models.backbones.keras_order import keras_order
from holdfast.models.layers.batch_norm import batch_norms

UNNORMALIZED = "it has biases in place of some batch norms, which are made to change nothing else"


def two_stages_tf1(
    parts: Mapping[str, Any], network: SlimNames, is_classifier: bool
) -> dict[str, Names]:
    """Name all parts: both halves of the network are under a scope of their stage.

    is_classifier: names of a checkpoint of the network alone, which knows no stages, come first.
    """

    def half(part: Any, stage: str, staged: SlimNames) -> Names:
        normalized = _or_biases(part, backbone_tf1(part, staged))
        own = _under(f"{stage}FeatureExtractor/{network.scope}/", normalized)
        alone = _under(f"{network.scope}/", backbone_tf1(part, network))
        return map(_either, *([alone, own] if is_classifier else [own, alone]))

    of_regions = replace(network, units=network.region_units or network.units)
    naming: dict[str, Callable[[Any], Names]] = {
        "backbone": lambda part: half(part, "FirstStage", network),
        "region_extractor": lambda part: half(part, "SecondStage", of_regions),
        "proposal_head": lambda part: map(_proposal_tf1, leaves(part)),
        "box_head": lambda part: map(_box_tf1, leaves(part)),
        "mask_head": _mask_tf1,
    }
    return {name: naming[name](part) for name, part in parts.items()}


def two_stages_tf2(parts: Mapping[str, Any], root: str, is_classifier: bool) -> dict[str, Names]:
    """Name all parts: what sees images and what sees regions are models whose layers are numbered.

    is_classifier: names of a checkpoint of the network alone, whose layers are numbered through,
    come first.
    """
    predictor = f"{root}_mask_rcnn_box_predictor/"
    has_pyramid = hasattr(parts["backbone"], "neck")
    naming: dict[str, Callable[[Any], Names]] = {
        "proposal_head": lambda part: _under(root, _proposal_tf2(part)),
        "box_head": lambda part: _under(predictor, map(_box_tf2, leaves(part))),
        "mask_head": lambda part: _under(predictor, _mask_tf2(part)),
    }
    return {
        **(_of_pyramid_tf2 if has_pyramid else _of_halves_tf2)(parts, root, is_classifier),
        **{name: naming[name](part) for name, part in parts.items() if name in naming},
    }


def _of_halves_tf2(parts: Mapping[str, Any], root: str, is_classifier: bool) -> dict[str, Names]:
    """Name the halves of a network; alone, its layers are numbered through."""

    def half(part: str, scope: str, first: int) -> Names:
        own = _under(f"{root}{scope}", backbone_tf2(parts[part]))
        alone = _under(_CLASSIFIER_TF2, backbone_tf2(parts[part], first))
        return map(_either, *([alone, own] if is_classifier else [own, alone]))

    named = {"backbone": half("backbone", _IMAGES_TF2, 0)}
    if "region_extractor" in parts:
        first = len(keras_order(parts["backbone"]))
        named["region_extractor"] = half("region_extractor", _REGIONS_TF2, first)
    return named


def _of_pyramid_tf2(parts: Mapping[str, Any], root: str, is_classifier: bool) -> dict[str, Names]:
    """Name a network with a pyramid; a classifier has neither that nor layers for regions."""
    backbone, regions = parts["backbone"], parts.get("region_extractor")
    own, alone = f"{root}{_IMAGES_TF2}classification_backbone/", _CLASSIFIER_TF2
    scopes = (alone, own) if is_classifier else (own, alone)
    network = (each.under(*scopes) for each in backbone_tf2(backbone))
    if is_classifier:
        return {"backbone": network}
    pyramid = _under(f"{root}{_IMAGES_TF2}", _pyramid_tf2(backbone.neck))
    named: dict[str, Names] = {"backbone": chain(network, pyramid)}
    if regions is not None:
        named["region_extractor"] = _under(f"{root}{_REGIONS_TF2}", backbone_tf2(regions))
    return named


def _either(first: Sought, second: Sought) -> Sought:
    return Sought(first.variable, first.names + second.names, first.implied or second.implied)


def _or_biases(part: Any, sought: Names) -> Names:
    """Let biases stand for batch norm: beta is the bias, and the rest changes nothing.

    No config asks for this. The OD API gives batch norm to the first stage's layers by slim's
    arg_scope, which does not reach them where they come from another copy of slim than it does
    (tf_slim and tf.contrib.slim): they are then convolutions with biases.
    """
    epsilons = {id(norm.moving_variance): norm.settings.epsilon for norm in batch_norms(part)}
    for each in sought:
        scope, _, name = each.names[0].rpartition("BatchNorm/")
        bias = f"{scope}biases"
        if name == "beta":
            yield Sought(each.variable, (*each.names, bias))
        elif name in _UNCHANGING:
            # Batch norm divides by the root of variance + epsilon, which is to be 1.
            value = _UNCHANGING[name] - epsilons.get(id(each.variable), 0.0)
            yield Sought(each.variable, each.names, Implied((bias,), value, UNNORMALIZED))
        else:
            yield each


def _under(scope: str, sought: Names) -> Names:
    return (each.under(scope) for each in sought)


def _pyramid_tf2(neck: Any) -> Names:
    """Name a pyramid as in a single stage, but for the underscore of its attributes."""
    for each in fpn_tf2(neck):
        yield Sought(each.variable, tuple(name.removeprefix("_") for name in each.names))


def _proposal_tf1(leaf: Leaf) -> Sought:
    """Name the first stage's head: Conv/weights, FirstStageBoxPredictor/ClassPredictor/weights."""
    if leaf.unit == "shared":
        return Sought(leaf.variable, (f"Conv/{leaf.slim}",))
    unit = _PREDICTORS_TF1[leaf.unit.partition("/")[2]]  # level_0/boxes
    return Sought(leaf.variable, (f"FirstStageBoxPredictor/{unit}/{leaf.slim}",))


def _proposal_tf2(head: Any) -> Names:
    for leaf in leaves(head):
        if leaf.unit == "shared":
            name = f"layer_with_weights-{leaf.in_list(0)}"
            yield Sought(leaf.variable, (f"_first_stage_box_predictor_first_conv/{name}",))
    levels = convolutional_tf2(head)
    yield from _under("_first_stage_box_predictor/", levels)


def _box_tf1(leaf: Leaf) -> Sought:
    name = f"SecondStageBoxPredictor/{_PREDICTORS_TF1[leaf.unit]}/{leaf.slim}"
    return Sought(leaf.variable, (name,))


def _box_tf2(leaf: Leaf) -> Sought:
    # The region is flattened first; dropout, if any, is the next in the list.
    scope = _PREDICTORS_TF2[leaf.unit]
    return Sought(leaf.variable, tuple(f"{scope}/{leaf.in_list(index)}" for index in (1, 2)))


def _mask_tf1(head: Any) -> Names:
    """Name the convolutions by their order: SecondStageBoxPredictor/Conv, then Conv_1."""
    for leaf in leaves(head):
        number = _mask_layer(head, leaf)
        scope = f"Conv_{number}" if number else "Conv"
        yield Sought(leaf.variable, (f"SecondStageBoxPredictor/{scope}/{leaf.slim}",))


def _mask_tf2(head: Any) -> Names:
    """Name them by their place in a list; a convolution, its norm and activation are three."""
    for leaf in leaves(head):
        number = _mask_layer(head, leaf)
        # Upsampling is a layer of its own.
        first = 3 * number + (number >= len(head.convolutions) and head.convolve_then_upsample)
        name = f"_third_stage_heads/mask_predictions/_mask_predictor_layers/{leaf.in_list(first)}"
        yield Sought(leaf.variable, (name,))


def _mask_layer(head: Any, leaf: Leaf) -> int:
    if found := re.fullmatch(r"convolution_(\d+)", leaf.unit):
        return int(found[1])
    return len(head.convolutions) + (leaf.unit == "masks" and head.convolve_then_upsample)


_UNCHANGING = {"gamma": 1.0, "moving_mean": 0.0, "moving_variance": 1.0}
_IMAGES_TF2 = "_feature_extractor_for_proposal_features/"
_REGIONS_TF2 = "_feature_extractor_for_box_classifier_features/"
_CLASSIFIER_TF2 = "feature_extractor/"
_PREDICTORS_TF1 = {"boxes": "BoxEncodingPredictor", "classes": "ClassPredictor"}
_PREDICTORS_TF2 = {
    "boxes": "_box_prediction_head/_box_encoder_layers",
    "classes": "_class_prediction_head/_class_predictor_layers",
}
