"""Where a checkpoint of the OD API keeps each variable of a single-stage detector."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from holdfast.checkpoints.legacy_mapping import heads, necks
from holdfast.checkpoints.legacy_mapping.backbones import (
    SLIM_NETWORKS,
    SlimNetwork,
    backbone_tf1,
    backbone_tf2,
)
from holdfast.checkpoints.legacy_mapping.sought import Names, Sought
from holdfast.checkpoints.legacy_sorting import VALUE_SUFFIX, Generation
from holdfast.errors import HoldfastError

Kind = Literal["full", "detection", "fine_tune", "classification"]

# Which parts of a detector a kind of loading fills, as in the OD API. `fine_tune` is the name that
# `detection` had for CenterNet.
PARTS: dict[Kind, tuple[str, ...]] = {
    "full": ("backbone", "neck", "head"),
    "detection": ("backbone", "neck"),
    "fine_tune": ("backbone", "neck"),
    "classification": ("backbone",),
}


def names_of(
    detector: Any, generation: Generation, kind: Kind, names: Iterable[str]
) -> list[Sought]:
    """List the variables that a kind of loading fills, with the names they may have.

    detector: has `backbone`, `neck`, `head` and `legacy` (LegacyNames). names: those in the
    checkpoint; the objects above the detector in a TF2 checkpoint are found from them.
    """
    if generation == "tf1":
        named = _parts_tf1(detector, kind)
    else:
        named = _parts_tf2(detector, kind, _root(names))
    return [sought for part in PARTS[kind] for sought in named[part]]


def _parts_tf1(detector: Any, kind: Kind) -> dict[str, Names]:
    legacy = detector.legacy
    if legacy.backbone not in SLIM_NETWORKS:
        raise HoldfastError(
            f"The checkpoint is name-based (TF1), but {legacy.backbone} was only in TF2.",
            fix="Give a checkpoint of the detector's own network.",
        )
    network = SLIM_NETWORKS[legacy.backbone]
    scope = f"{network.scope}/"
    extractor = f"FeatureExtractor/{scope}"
    # A classifier's checkpoint has no scope around the network's.
    scopes = (scope, extractor) if kind == "classification" else (extractor, scope)
    return {
        "backbone": _under(backbone_tf1(detector.backbone, network), *scopes),
        "neck": _under(_NECKS_TF1[legacy.neck](detector.neck, network), extractor),
        "head": _HEADS_TF1[legacy.head](detector.head),
    }


def _parts_tf2(detector: Any, kind: Kind, root: str) -> dict[str, Names]:
    legacy = detector.legacy
    extractor = f"{root}_feature_extractor/"
    named = {
        "backbone": _backbone_tf2(detector.backbone, extractor, kind),
        "neck": _under(_NECKS_TF2[legacy.neck](detector.neck), extractor),
        "head": _under(_HEADS_TF2[legacy.head](detector.head), f"{root}_box_predictor/"),
    }
    return {part: _with_suffix(sought) for part, sought in named.items()}


def _backbone_tf2(backbone: Any, extractor: str, kind: Kind) -> Names:
    networks = [f"{extractor}classification_backbone/", "feature_extractor/"]
    if kind == "classification":
        networks.reverse()  # a classifier's checkpoint has the latter
    # EfficientDet saves the part of its classifier that makes features under a name of its own.
    idle = {
        id(weight) for block in getattr(backbone, "idle_blocks", ()) for weight in block.weights
    }
    of_features = [f"{extractor}_efficientnet/"] if idle else []
    for sought in backbone_tf2(backbone):
        own = [] if id(sought.variable) in idle else of_features
        yield sought.under(*own, *networks)


_NECKS_TF1: dict[str, Callable[[Any, SlimNetwork], Names]] = {
    "ssd_layers": lambda neck, network: necks.ssd_layers_tf1(neck, network.last_endpoint),
    "fpn": lambda neck, network: necks.fpn_tf1(neck, network.coarse_scope, network.first_coarse),
}
_NECKS_TF2 = {
    "ssd_layers": necks.ssd_layers_tf2,
    "fpn": necks.fpn_tf2,
    "bifpn": necks.bifpn_tf2,
}
_HEADS_TF1 = {
    "convolutional": heads.convolutional_tf1,
    "weight_shared": heads.weight_shared_tf1,
}
_HEADS_TF2 = {
    "convolutional": heads.convolutional_tf2,
    "weight_shared": heads.weight_shared_tf2,
}


def _root(names: Iterable[str]) -> str:
    """Find what precedes the detector in the keys: `model/`, unless someone saved it otherwise."""
    for name in names:
        for attribute in ("_feature_extractor/", "_box_predictor/"):
            root, found, _ = name.partition(attribute)
            if found and (not root or root.endswith("/")):
                return root
    return "model/"


def _under(sought: Names, *scopes: str) -> Names:
    return (each.under(*scopes) for each in sought)


def _with_suffix(sought: Names) -> Names:
    return (
        Sought(each.variable, tuple(name + VALUE_SUFFIX for name in each.names)) for each in sought
    )
