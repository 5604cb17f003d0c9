"""Where a checkpoint of the OD API keeps each variable of a CenterNet; all of them are TF2's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import keras

from holdfast.checkpoints.legacy.backbone_names import backbone_tf2
from holdfast.checkpoints.legacy.leaf_names import joined_halves, leaves, path_below
from holdfast.checkpoints.legacy.sought_names import Names, Sought
from holdfast.errors import HoldfastError
from holdfast.models.detectors.interface import Detector

_CLASSIFIER = "feature_extractor/"  # where the checkpoint of a classifier has its network


def center_net_tf2(detector: Detector, root: str, *, from_classifier: bool) -> dict[str, Names]:
    """Name the variables of each part; root: what precedes the detector in the keys."""
    parts = detector.parts()
    extractor = f"{root}_feature_extractor/"
    named = {"head": _heads(parts["head"], f"{root}_prediction_head_dict/")}
    if "neck" not in parts:
        named["backbone"] = _hourglass(parts["backbone"], f"{extractor}_network/", from_classifier)
        return named
    whole, base = _models(detector, extractor)
    networks = [base]
    if from_classifier:
        networks = [_CLASSIFIER, *networks]
    named["backbone"] = (each.under(*networks) for each in backbone_tf2(parts["backbone"]))
    # The first layer of the whole network is the backbone.
    steps = getattr(parts["neck"], "keras_order", None) or parts["neck"].steps
    named["neck"] = _numbered(steps, f"{whole}layer_with_weights-", first=1)
    return named


def _models(detector: Detector, extractor: str) -> tuple[str, str]:
    """Name the models that are the whole network, and its backbone."""
    if (detector.legacy.backbone, detector.legacy.neck) == ("mobilenet_v2", "upsampling"):
        return f"{extractor}_network/", f"{extractor}_network/layer_with_weights-0/"
    return f"{extractor}_feature_extractor_model/", f"{extractor}_base_model/"


def _hourglass(backbone: Any, network: str, from_classifier: bool) -> Names:
    """Name a network whose units are called as in the OD API, with dots for slashes."""
    if from_classifier:
        raise HoldfastError(
            "There is no classifier of an hourglass network.",
            fix='Set fine_tune_checkpoint_type: "detection", for a checkpoint of CenterNet.',
        )
    for variable in backbone.weights:
        path = path_below(backbone, variable).replace(".", "/").replace("/second/", "/")
        path = path.replace("/convolution/", "/conv/").replace("/batch_norm/", "/norm/")
        yield Sought(variable, (network + path,))


def _heads(head: Any, scope: str) -> Names:
    for index, net in enumerate(head.nets):
        # TensorFlow's own way to write a slash inside a name.
        quantity = net.quantity.replace(".", "..").replace("/", ".S")
        prefix = f"{scope}{quantity}/{index % head.num_maps}/layer_with_weights-"
        yield from _numbered([*net.hidden, net.last], prefix, first=0)


def _numbered(units: Sequence[keras.layers.Layer], prefix: str, *, first: int) -> Names:
    """Name the layers of units one after the other: a convolution, then its normalization."""
    number = first
    for unit in units:
        known = [joined_halves(leaf) for leaf in leaves(unit)]
        for leaf in known:
            yield Sought(leaf.variable, (f"{prefix}{leaf.in_list(number)}",))
        number += 1 + _is_normalized(leaf.is_batch_norm for leaf in known)


def _is_normalized(of_batch_norm: Iterable[bool]) -> int:
    return int(any(of_batch_norm))
